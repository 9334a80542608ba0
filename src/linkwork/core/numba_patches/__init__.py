"""Parts of Numba that are exchanged while a kernel compiles, each because it shortens the first call by 15 % or more.

    linking    subroutines are optimized once, inside the kernel that uses them (`libraries`)
    operators  types of `a + b` are looked up once per process (`operators`)

They use private parts of Numba, so nothing here is imported before the first kernel compiles, and a trial comes first:
three small functions, compared with Python's results (some 0.1 s). Where the trial fails, or nothing is asked for, kernels
are compiled by `numba.njit` and nothing else: the same results, more slowly compiled, once.

LINKWORK_NUMBA_PATCHES in the environment lists the parts to use, separated by commas; `none` asks for plain Numba.
`linkwork bench start --patches` measures what each brings. Proven on Numba 0.63 to 0.68; with 0.60 to 0.62 the trial
fails, and plain Numba compiles the same results (`tools/numba_versions.py`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba
import numpy as np

from linkwork.errors import LinkworkWarning

SWITCH = "LINKWORK_NUMBA_PATCHES"
PATCHES = ("linking", "operators")


def patches_wanted() -> tuple[str, ...]:
    """Names of the parts that are asked for; all by default."""
    text = os.environ.get(SWITCH)
    if text is None:
        return PATCHES
    names = {name.strip() for name in text.split(",")}
    return tuple(name for name in PATCHES if name in names)


def patched_pipelines() -> Any:
    """The module that compiles with these parts; None where they are not wanted or this Numba is another one."""
    if not patches_wanted() or not patches_work():
        return None
    from linkwork.core.numba_patches import pipelines

    return pipelines


@cache
def patches_work() -> bool:
    """Whether kernels compiled with the parts give what Python gives; tried once per process, when first needed."""
    reason = ""
    try:
        from linkwork.core.numba_patches import pipelines

        found = run_trial(
            partial(pipelines.trial_subroutine, forceinline=True), pipelines.trial_subroutine, pipelines.trial_kernel
        )
        expected = run_trial(as_written, as_written, as_written)
        if found != expected:
            reason = f"a trial gave {found} instead of {expected}"
    except Exception as error:  # whatever an unknown Numba may raise
        reason = f"{type(error).__name__}: {error}"
    if reason:
        warnings.warn(
            f"Numba {numba.__version__} is not as Linkwork's quick way of compiling knows it ({reason}). Kernels are "
            f"right, but compile more slowly, once. {SWITCH}=none in the environment silences this.",
            LinkworkWarning,
            stacklevel=2,
        )
    return not reason


def as_written(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def run_trial(inlined: Callable[..., Any], routine: Callable[..., Any], kernel: Callable[..., Any]) -> list[float]:
    """Two subroutines, one inside the other and one with two signatures, and a kernel; exact in binary arithmetic.

    Among them are operators of one operand and of two, on numbers and on arrays, and a call into a library.
    """

    def twice(x):
        return 2.0 * x

    def fill(a, x):
        for k in range(a.shape[0]):
            a[k] = -twice(-x) + k if k != 1 else np.sqrt(4.0)
        return twice(a.shape[0])

    def run(a, x):
        total = fill(a, x) - twice(x)
        a[-1] += total // 2.0
        return total

    twice, fill, run = inlined(twice), routine(fill), kernel(run)
    a = np.zeros(3)
    return [run(a, 1.5), *a.tolist(), float(twice(0.25))]
