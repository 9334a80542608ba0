"""Which kernels make the steps of a linkage: one file per integrator, for trees, and for loops and forces from Python."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from linkwork.simulation import moving as mv

FILES = {
    mv.SEMI_IMPLICIT_EULER: "euler",
    mv.RUNGE_KUTTA: "runge_kutta",
    mv.DORMAND_PRINCE: "dormand_prince",
    mv.IMPLICIT_MIDPOINT: "implicit_midpoint",
    mv.KICK_DRIFT_KICK: "kick_drift_kick",
    mv.VARIATIONAL: "variational",
}


def _kernels(folder: str, method: int) -> ModuleType:
    """Imported when it is used: a run needs one integrator."""
    return import_module(f"linkwork.simulation.stepping.{folder}.{FILES[method]}")


def advance_of(method: int, has_loops: bool) -> Any:
    """advance(table, h, n), which makes n steps by the integrator of a number (`moving`): `driver.make_advance`."""
    return _kernels("loops", method).advance_closed if has_loops else _kernels("trees", method).advance_tree


def advance_stage_of(method: int) -> Any:
    """advance_stage(table, h, status, bad, is_given), which makes steps in parts: `driver.make_advance_stage`."""
    return _kernels("loops", method).advance_stage
