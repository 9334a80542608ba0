"""`import linkwork` defines names and does nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

STRANGERS = (
    "jax",
    "mujoco",
    "pinocchio",
    "matplotlib",
    "scipy",
    "rich",
    "linkwork.importers",
    "linkwork.cli",
    "linkwork.viewer",
)


# Names are loaded when they are first asked for; what an import promises holds for these, too.
LOADED = (
    "import linkwork; linkwork.AdaptiveDynamics, linkwork.QuasiStatics, linkwork.settle, linkwork.vjp, linkwork.gpu"
)


def python(code: str) -> str:
    code = code.replace("LOADED", LOADED)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_brings_no_strangers():
    """Beyond what Numba brings by itself: it looks for SciPy at its own import."""
    modules = "import sys, json; {}; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(python(modules.format("LOADED"))))
    brought_by_numba = set(json.loads(python(modules.format("import numba"))))
    assert "linkwork.dynamics.api" in loaded
    assert not [name for name in STRANGERS if name in loaded - brought_by_numba]
    assert not [name for name in loaded if name.startswith("scipy.") and name not in brought_by_numba]


def test_import_alone_loads_neither_numba_nor_numpy():
    """Without a clock: the half second that they and the kernels take is waited for by whoever asks for a name."""
    code = "import sys, linkwork; print([m for m in sys.modules if m.split('.')[0] in ('numba', 'numpy', 'scipy')])"
    assert python(code).strip() == "[]"


def test_import_says_nothing():
    result = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:linkwork", "-c", LOADED],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_import_flips_no_setting():
    """NumPy and Numba are imported first, so that only what linkwork changes is seen."""
    code = """
import json, locale, os, random, signal, sys, threading, warnings
import numba, numpy as np
from numba.core import config

def settings():
    return json.dumps({
        "print": {k: str(x) for k, x in np.get_printoptions().items()},
        "errors": np.geterr(),
        "numba": {k: str(x) for k, x in vars(config).items() if k.isupper()},
        "environment": dict(os.environ),
        "random": str(np.random.get_state()[1][:8]) + str(random.getstate()[1][:8]),
        "filters": len(warnings.filters),
        "recursion": sys.getrecursionlimit(),
        "locale": locale.setlocale(locale.LC_ALL),
        "interrupt": str(signal.getsignal(signal.SIGINT)),
        "threads": [threading.active_count(), numba.get_num_threads()],
        "hooks": [repr(sys.excepthook), len(sys.meta_path), len(sys.path)],
    }, sort_keys=True)

before = settings()
LOADED
print(before == settings() or [before, settings()])
"""
    assert python(code).strip() == "True"


def test_import_compiles_nothing_and_touches_no_cache(tmp_path):
    """What makes an import slow, without a clock: no kernel is compiled or loaded, no folder made, no trial of Numba."""
    code = f"""
import os, sys
os.environ["NUMBA_CACHE_DIR"] = {str(tmp_path / "cache")!r}
LOADED
from linkwork.core import jit, numba_patches
print(len(jit.kernels) > 50, [k.signatures for k in jit.kernels if k.signatures])
print(numba_patches.patches_work.cache_info().currsize, os.path.exists(os.environ["NUMBA_CACHE_DIR"]))
print([name for name in sys.modules if name.startswith("linkwork.core.numba_patches.")])
"""
    assert python(code).splitlines() == ["True []", "0 False", "[]"]


def test_import_registers_nothing_with_numba_but_its_own_types():
    """No listener; operators gain candidates (vectors, values), which say nothing to types of others."""
    code = """
import json, operator
import numba
from numba.core import event, types
from numba.core.registry import cpu_target

def listeners():
    return sum(map(len, event._registered.values()))

def foreign_candidates():
    target = cpu_target.typing_context
    target.refresh()
    return {op.__name__: [t.__module__ for t in target.resolve_value_type(op).templates]
            for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.getitem)}

before = listeners(), foreign_candidates()
LOADED
after = listeners(), foreign_candidates()
print(after[0] - before[0], [op for op in before[1] if before[1][op] != after[1][op][:len(before[1][op])]])
print({op: len(after[1][op]) - len(before[1][op]) for op in before[1]})

# What the candidate says to types that are not ours: nothing, and to ours: a vector.
from linkwork.spatial.simd import v8
found = cpu_target.typing_context.resolve_value_type(operator.mul).templates
ours = [t for t in found if t.__name__ == "mul_CallableTemplate"][-1]
values = [t for t in found if t.__mro__[1].__name__ == "mul"][-1]
context = cpu_target.typing_context
def answer(a, b, ours=ours):
    return ours(context).apply((a, b), {})
array, pair = types.Array(types.float64, 1, "C"), types.UniTuple(types.float64, 2)
others = [types.float64, types.int64, types.complex128, types.boolean, types.unicode_type, array, pair]
print([str((a, b)) for a in others for b in others if answer(a, b) or answer(a, b, values)],
      answer(types.float64, v8).return_type)
"""
    first, second, third = python(code).splitlines()
    assert first == "0 []"
    assert json.loads(second.replace("'", '"')) == {"add": 2, "sub": 2, "mul": 2, "truediv": 1, "getitem": 1}
    assert third == "[] V8"


def test_functions_of_users_compile_as_without_linkwork():
    """Sums and products of everything Numba can add, before and after the import; what was refused stays refused."""
    code = """
import json, numba, numpy as np

def results():
    @numba.njit
    def plus(a, b):
        return a + b

    @numba.njit
    def times(a, b):
        return a * b

    found = []
    for a, b in [(1, 2), (1, 2.5), (1j, 2), (np.float32(2), 3.0), (np.ones(2), 2.0), ("a", "b"), ((1,), (2,)), ("a", 1.0)]:
        for function in (plus, times):
            try:
                found.append(str(function(a, b)) + str(function.nopython_signatures[-1].return_type))
            except numba.TypingError:
                found.append("refused")
    return found

before = results()
LOADED
after = results()
print(before == after, before.count("refused"), len(before))
"""
    same, refused, count = python(code).split()
    assert same == "True"
    assert 0 < int(refused) < int(count)


def test_every_public_name_is_there():
    missing = python("import linkwork as lw; print([name for name in lw.__all__ if not hasattr(lw, name)])")
    assert missing.strip() == "[]"


def test_importers_load_when_they_are_used():
    code = """
import sys, linkwork as lw
try:
    lw.load("no/such/file.urdf")
except (lw.LinkworkError, OSError):
    pass
print("linkwork.importers" in sys.modules)
"""
    assert python(code).strip() == "True"
