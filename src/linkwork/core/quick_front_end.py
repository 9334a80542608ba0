"""Parts of Numba's front end that do more than kernels need, exchanged for shorter ones while a kernel compiles.

What they give is the same, so the code of kernels is the same to the bit (`tests/interface/test_jit.py`), in a tenth less
time. Numba is left as it was found: the exchange lasts as long as the compilation of one kernel, under Numba's own lock.
Private parts are exchanged: `linking` tries them before the first kernel is compiled, and those that another Numba does not
have are left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from types import BuiltinFunctionType, NoneType
from typing import Any

from numba.core import base, byteflow, config, errors, event, interpreter, ir, postproc, ssa
from numba.core.compiler_lock import global_compiler_lock
from numba.core.transforms import canonicalize_cfg


class QuickPostProcessor(postproc.PostProcessor):
    """Finds out how long variables live when that is asked for, not after each of four passes: kernels delete none."""

    def run(self, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code: Any = self.func_ir
        if emit_dels or code.is_generator:
            super().run(emit_dels, extend_lifetimes)
            return
        code.blocks = canonicalize_cfg(code.blocks)
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)  # computes nothing before it is read
        code.generator_info = None


class PlainMessages:
    """Numba's colours of messages, without any: it makes and catches thousands of errors that nobody sees."""

    def code(self, message: str) -> str:
        return message

    errmsg = filename = indicate = highlight = reset = code


class Silence:
    """A logger for messages that nobody listens to."""

    def debug(self, *args: Any) -> None:
        pass


def silent(logger: Any) -> Any:
    return logger if logger.isEnabledFor(logging.DEBUG) else Silence()


WITHOUT_VARIABLES = {
    ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg, BuiltinFunctionType, NoneType, str, int, float, bool,
}  # fmt: skip


def finding_variables(original: Callable[..., Any]) -> Callable[..., Any]:
    """Variables in a part of an instruction; most of what it consists of is known by its type."""

    def variables_in(self: Any, value: Any) -> Any:
        kind = type(value)
        if kind is dict:
            value = value.values()
        elif kind is not list and kind is not tuple:
            return original(self, value)
        found = []
        for part in value:
            kind = type(part)
            if kind is ir.Var:
                found.append(part)
            elif kind not in WITHOUT_VARIABLES:
                found += variables_in(self, part)
        return found

    return variables_in


def deleting_exits(original: Callable[..., Any]) -> Callable[..., Any]:
    """What a `with` leaves behind is looked for only where there is one."""

    def delete_exits(code: Any) -> Any:
        has_with = any(type(statement) is ir.EnterWith for block in code.blocks.values() for statement in block.body)
        return original(code) if has_with else code

    return delete_exits


def handling_exceptions(original: Callable[..., Any]) -> Callable[..., Any]:
    """Whether an instruction may be caught is asked only in functions that catch something."""

    def handle_exception(self: Any, runner: Any, state: Any) -> Any:
        if state._blockstack or state._blockstack_initial or self._bytecode.exception_entries:
            return original(self, runner, state)
        return state.advance_pc()

    return handle_exception


def without_timer(original: Callable[..., Any]) -> Callable[..., Any]:
    """Each piece of a kernel has two timers, of which all that run are told each time that a lock is taken."""
    return lambda kind, callback: nullcontext()


def unchanging(original: Callable[..., Any]) -> Callable[..., Any]:
    """The environment is read when a kernel begins to compile, not at each of its pieces."""
    return lambda: None


# Where a part of Numba is, its name, and what makes the one in its place of it.
PARTS: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (postproc, "PostProcessor", lambda original: QuickPostProcessor),
    (errors, "_termcolor_inst", lambda original: PlainMessages()),
    (ir.Inst, "_rec_list_vars", finding_variables),
    (interpreter, "peep_hole_delete_with_exit", deleting_exits),
    (byteflow.Flow, "_run_handle_exception", handling_exceptions),
    (base, "_has_loc", cache),
    (event, "install_timer", without_timer),
    (config, "reload_config", unchanging),
    (ssa, "_logger", silent),
    (byteflow, "_logger", silent),
)


@contextmanager
def quick_front_end() -> Iterator[None]:
    """Shorter parts of Numba in the place of its own, as long as this lasts; within itself it does nothing more."""
    with global_compiler_lock:
        if postproc.PostProcessor is QuickPostProcessor:  # a kernel that another kernel calls
            yield
            return
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in PARTS if hasattr(owner, name)]
        try:
            for owner, name, make in PARTS:
                if hasattr(owner, name):
                    setattr(owner, name, make(getattr(owner, name)))
            yield
        finally:
            for owner, name, part in before:
                setattr(owner, name, part)
