"""Signatures of all public functions, classes and methods are those that are written down.

A change of one is a change for users: it needs a line in the changelog and, where an old name goes, a release in which it
still works with a DeprecationWarning (CONTRIBUTING.md). `python tests/interface/package/test_signatures.py` writes them
down anew.
"""

import inspect
from pathlib import Path

import linkwork as lw

WRITTEN = Path(__file__).with_name("signatures.txt")
SPACES = ("gpu", "haptics", "molecules", "sensors")


def signature(what):
    try:
        return str(inspect.signature(what))
    except (TypeError, ValueError):
        return "()"


def lines_of(name, thing):
    if inspect.isclass(thing):
        yield f"{name}{signature(thing)}"
        for method in sorted(vars_of(thing)):
            found = inspect.getattr_static(thing, method)
            if isinstance(found, property):
                yield f"{name}.{method}: property"
            elif callable(getattr(thing, method)):
                yield f"{name}.{method}{signature(getattr(thing, method))}"
    elif callable(thing):
        yield f"{name}{signature(thing)}"
    else:
        yield name


def vars_of(kind):
    """Public methods and properties that Linkwork's own classes give."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("linkwork")]
    named = {name for base in ours for name in vars(base) if not name.startswith("_")}
    fields = getattr(kind, "__dataclass_fields__", {}) | dict.fromkeys(getattr(kind, "_fields", ()))
    return [name for name in named if name not in fields]


def all_lines():
    for name in sorted(lw.__all__):
        thing = getattr(lw, name)
        if not inspect.ismodule(thing):
            yield from lines_of(name, thing)
        elif name in SPACES:
            for inner in sorted(thing.__all__):
                yield from lines_of(f"{name}.{inner}", getattr(thing, inner))
        else:
            yield f"{name}: {', '.join(sorted(getattr(thing, '__all__', ())))}"


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


def test_signatures_are_those_that_are_written_down():
    written = WRITTEN.read_text(encoding="utf-8").splitlines()
    found = list(all_lines())
    gone, new = sorted(set(written) - set(found)), sorted(set(found) - set(written))
    assert not gone, f"public signatures that are no more, or others: {gone}; now: {new}"
    assert not new, f"public signatures that are not written down yet: {new}"


if __name__ == "__main__":
    WRITTEN.write_text("\n".join(all_lines()) + "\n", encoding="utf-8")
