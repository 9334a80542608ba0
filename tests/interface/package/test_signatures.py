"""Signatures of the public functions and classes: what may be given by position."""

import inspect

import linkwork as lw

# What a function is asked about, and what acts there, may be given by position; how it goes about it is an option.
ASKED = {"effort", "wrenches", "loads", "efforts", "targets", "settings", "sensors", "state", "a", "b", "body", "at",
         "joint", "name", "about", "count"}  # fmt: skip


def test_options_are_given_by_name():
    """Behind (model, state) or (sim, ...) everything with a default is an option, or says what is asked about."""
    for name in sorted(lw.__all__):
        thing = getattr(lw, name)
        if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception)):
            parameters = list(inspect.signature(thing).parameters.values())
        else:
            continue
        if name != "GradientRun" and parameters and parameters[0].name in ("model", "sim"):  # it is not made by hand
            by_place = {x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD and x.default is not x.empty}
            assert by_place <= ASKED, f"lw.{name}: {sorted(by_place - ASKED)}"
