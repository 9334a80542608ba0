"""How kernels are compiled: their subroutines, the stamp of their cache, and what happens without Numba's private parts."""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba.core import codegen, config
from numba.core.compiler import CompileResult
from tests.helpers.compiled_elsewhere import assert_same_results, environment, run_every_kernel

import linkwork
from linkwork.core import jit, kernel_cache, numba_patches
from linkwork.core.content import content_of
from linkwork.core.numba_patches import pipelines
from linkwork.errors import LinkworkWarning

PACKAGE = Path(linkwork.__file__).parent
DECORATORS = ("@kernel", "@routine", "@inlined")


# ------------------------------------------------------------------------------------------------------------------- cache


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Where kernels are kept in this test, instead of the folder of the user."""
    monkeypatch.setattr(kernel_cache, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(kernel_cache, "load_shipped", lambda *given: None)
    return tmp_path


def compiled_anew(function) -> bool:
    """Whether a new kernel of this function compiles when it is called, with what is kept on disk."""
    made = jit.kernel(function)
    try:
        function_of_python = function(2.0)
        assert made(2.0) == function_of_python
        return bool(made.stats.cache_misses)
    finally:
        jit.kernels.remove(made)


@pytest.mark.parametrize("rest", [b"", b"damaged", b"cbuiltins\nNotThere\n."])
def test_a_file_that_cannot_be_read_is_as_none(rest, folder):
    """Damaged, or of types that have other names since: the kernel is compiled anew and kept again."""
    assert compiled_anew(_doubled)
    (file,) = folder.glob("*.nbc")
    file.write_bytes(rest)
    assert compiled_anew(_doubled)
    assert not compiled_anew(_doubled)


def _doubled(x):
    return 2.0 * x


def function_from(text: str, **names):
    """The function `f` of some lines, as a module of tests would have it."""
    space = {"__name__": __name__, **names}
    exec(text, space)
    return space["f"]


def content_from(text: str, **names) -> str:
    return content_of(function_from(text, **names))


PLAIN = "def f(x):\n    return g(x) + K"
SAME = [
    "# a comment\n\n\n" + PLAIN,
    'def f(x):\n    """A docstring."""\n    return g(x) + K  # and why',
    "UNUSED = 7\n" + PLAIN,
]
OTHER = ["def f(x):\n    return g(x) - K", "def f(x, y=1):\n    return g(x) + K", "def f(x):\n    return g(x) + 2.0"]


def test_the_content_of_a_kernel_is_its_code_and_all_that_the_code_draws_on():
    first, second = (jit.routine(function_from(f"def f(x):\n    return {k} * x")) for k in (2.0, 3.0))
    before = content_from(PLAIN, g=first, K=1.0)
    assert {content_from(text, g=first, K=1.0) for text in SAME} == {before}
    assert before not in {content_from(text, g=first, K=1.0) for text in OTHER}
    assert content_from(PLAIN, g=second, K=1.0) != before  # another subroutine
    assert content_from(PLAIN, g=first, K=1) != before  # a number of another type
    assert content_from(PLAIN, g=first, K=np.array([1.0])) != content_from(PLAIN, g=first, K=np.array([2.0]))
    deep = [jit.routine(function_from("def f(x):\n    return h(x)", h=g)) for g in (first, second)]
    assert content_from(PLAIN, g=deep[0], K=1.0) != content_from(PLAIN, g=deep[1], K=1.0)


def test_two_functions_of_one_factory_count_by_what_they_close_over_and_where_they_stand():
    def made(factor):
        def times(x):
            return factor * x

        return jit.routine(times)

    text, two, three = "def f(x):\n    return g(x) - h(x)", made(2.0), made(3.0)
    assert content_from(text, g=two, h=three) != content_from(text, g=three, h=two)
    assert content_from(text, g=two, h=three) == content_from(text, g=made(2.0), h=made(3.0))
    assert content_from(text, g=two, h=two) != content_from(text, g=two, h=three)


def test_functions_that_call_each_other_have_a_content():
    space = {"__name__": __name__}
    exec("def f(x):\n    return g(x - 1) if x > 0 else x\ndef g(x):\n    return f(x)", space)
    assert len(content_of(space["f"])) == 64


CONTENTS = """
import importlib, json, random, sys
modules = {modules!r}
random.Random(sys.argv[1]).shuffle(modules)
for name in modules:
    importlib.import_module(name)
from linkwork.core.content import content_of
from linkwork.core.jit import kernels
found = sorted((f"{{k.py_func.__module__}}.{{k.py_func.__qualname__}}", content_of(k.py_func)) for k in kernels)
print(json.dumps(found))
"""


def test_the_contents_of_all_kernels_are_the_same_in_every_process(tmp_path):
    """Whatever is imported first, however Python shuffles its sets, and whether it reads bytecode or makes it."""
    holders = [
        ".".join(("linkwork", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in PACKAGE.rglob("*.py")
        if any(line.startswith(DECORATORS) for line in path.read_text(encoding="utf-8").splitlines())
    ]
    assert len(holders) > 30
    said = []
    for seed in ("1", "2"):
        settings = {**environment(tmp_path), "PYTHONHASHSEED": seed, "PYTHONPYCACHEPREFIX": str(tmp_path / seed)}
        program = [sys.executable, "-c", CONTENTS.format(modules=holders), seed]
        settings |= {} if seed == "1" else {"PYTHONPYCACHEPREFIX": str(tmp_path / "1")}
        said.append(subprocess.run(program, env=settings, capture_output=True, text=True, check=True).stdout)
    assert len(json.loads(said[0])) > 100
    assert said[0] == said[1]


@pytest.mark.parametrize("setting", ["bounds", "linking"])
def test_the_settings_are_part_of_the_name(setting, monkeypatch):
    """Else unchecked code would run when bounds are to be checked."""
    monkeypatch.setattr(config, "BOUNDSCHECK", None)
    monkeypatch.delenv(numba_patches.SWITCH, raising=False)
    before = kernel_cache.KernelCache(_doubled).content
    if setting == "bounds":
        monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    else:
        monkeypatch.setenv(numba_patches.SWITCH, "none")
    assert kernel_cache.KernelCache(_doubled).content != before


def test_the_files_used_last_are_kept(folder, monkeypatch):
    monkeypatch.setattr(kernel_cache, "MOST_KEPT", 2)
    texts = [f"def f(x):\n    return {k}.0 * x" for k in range(3)]
    functions = [function_from(text) for text in texts]
    for function in functions:
        assert compiled_anew(function)
        time.sleep(0.02)
    assert len(list(folder.glob("*.nbc"))) == 2
    assert not compiled_anew(functions[2])
    assert compiled_anew(functions[0])


def plus_one(x):
    return x + 1.0


@pytest.mark.parametrize("change", ["results", "processors"])
def test_a_numba_that_keeps_code_otherwise_gets_no_cache(change, monkeypatch, folder):
    """Stale code would be worse than slow code."""

    def changed(*given, **named):
        raise AttributeError("another Numba")

    where = (CompileResult, "_reduce") if change == "results" else (codegen.JITCPUCodegen, "magic_tuple")
    monkeypatch.setattr(*where, changed)
    compiled = jit.kernel(plus_one)
    try:
        with pytest.warns(LinkworkWarning, match="keeps compiled code otherwise"):
            assert compiled(1.0) == 2.0
        assert not list(folder.iterdir())
    finally:
        jit.kernels.remove(compiled)


# ----------------------------------------------------------------------------------------------------------------- linking


@pytest.fixture
def fresh_trial():
    """The trial is made once per process; here it is made anew, and forgotten afterwards."""
    numba_patches.patches_work.cache_clear()
    yield
    numba_patches.patches_work.cache_clear()


EXPECTED = [3.0, 3.0, 4.0, 5.0, 5.0, 0.0, 1.0, 2.0]


def compiled_subroutines():
    """Results of two subroutines in a kernel and from Python, and whether they were compiled for linking only."""

    @jit.inlined
    def double(x):
        return 2.0 * x

    @jit.routine
    def fill(a, x):
        for k in range(a.shape[0]):
            a[k] = double(x) + k

    def run(a, x):
        fill(a, x)
        return double(x)

    compiled = jit.compiled(run, allocates=False)
    a = np.zeros(3)
    found = [compiled(a, 1.5), *a.tolist(), double(2.5)]
    fill(a, 0.0)
    entry_points = [result.entry_point for subroutine in (double, fill) for result in subroutine.overloads.values()]
    return [*found, *a.tolist()], [entry.__name__ == "clear" for entry in entry_points]


def test_subroutines_are_linked_into_kernels(fresh_trial):
    """With the Numba of this environment, and without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinkworkWarning)
        found, linked = compiled_subroutines()
    assert found == EXPECTED
    assert linked == [True, True]


def test_linking_can_be_switched_off(monkeypatch):
    monkeypatch.setenv(numba_patches.SWITCH, "none")
    found, linked = compiled_subroutines()
    assert found == EXPECTED
    assert linked == [False, False]


def two_for_all(inlined, routine, kernel):
    return [1.0] if kernel is numba_patches.as_written else [2.0]


@pytest.mark.parametrize("change", ["a name is gone", "another finalization", "another class", "another result"])
def test_another_numba_compiles_subroutines_its_own_way(change, monkeypatch, fresh_trial):
    """Whatever of the private parts changes: one warning, and the same results."""
    if change == "a name is gone":
        monkeypatch.delattr(codegen.CPUCodeLibrary, "_optimize_final_module")
    elif change == "another finalization":
        # A private name of Numba's, which the exchanged parts work with: what if it does something else?
        monkeypatch.setattr(pipelines.SubroutineLibrary, "finalize", lambda library: library._raise_if_finalized(1))
    elif change == "another class":
        monkeypatch.setattr(pipelines._TrialSubroutine, "define_pipelines", lambda self: [])
    else:
        monkeypatch.setattr(numba_patches, "run_trial", two_for_all)
    with pytest.warns(LinkworkWarning, match="is not as Linkwork's quick way of compiling knows it"):
        assert not numba_patches.patches_work()
    monkeypatch.undo()  # the answer stays for the rest of the process, and nothing is said again
    found, linked = compiled_subroutines()
    assert found == EXPECTED
    assert linked == [False, False]


def test_kernels_count_no_references():
    """Numba's private option for it does what it is used for."""

    def total(a):
        jit.keep_out_of_line()
        return a.sum()

    def tail(a, n):
        return total_of(a[n:])

    for allocates in (False, True):
        total_of = jit.routine(total, allocates=allocates)
        compiled = jit.compiled(tail, allocates=allocates)
        assert compiled(np.ones(3), 1) == 2.0
        body = compiled.inspect_llvm(compiled.signatures[0]).split("define ")[
            1
        ]  # the function, not its entry from Python
        assert ("NRT_" in body) is allocates


def test_a_subroutine_that_fails_is_heard_through_subroutines_that_call_it():
    """An error raised in a subroutine that is called by a subroutine reaches Python."""

    @jit.inlined
    def third(a, k):
        if k > 2:
            raise ValueError("only three")
        return a[k]

    @jit.routine
    def twice(a, k):
        jit.keep_out_of_line()
        return 2.0 * third(a, k)

    @jit.inlined
    def safe(a):
        return (a[0], a[1] + 1.0)

    def run(a, k):
        x, y = safe(a)
        return x + y + twice(a, k)

    compiled = jit.kernel(run)
    try:
        a = np.array([1.0, 2.0, 3.0])
        assert compiled(a, 2) == 10.0
        with pytest.raises(ValueError, match="only three"):
            compiled(a, 3)
    finally:
        jit.kernels.remove(compiled)


@pytest.mark.parametrize("patches", ["none", "linking", "operators"])
def test_every_part_of_numba_can_be_left_as_it_is(patches, tmp_path):
    """The algorithms that all else rests on, and steps, with the parts of Numba that are named exchanged and no others."""
    parts = ("vector_algorithms",) if patches != "none" else ("vector_algorithms", "one_full_step")
    # How much LLVM optimizes is another question, and most of the time: plain Numba optimizes a subroutine in every caller.
    found = run_every_kernel(tmp_path, *parts, LINKWORK_NUMBA_PATCHES=patches, NUMBA_OPT="1")
    assert_same_results(found["results"], *parts)


def test_an_operator_keeps_its_code_where_options_differ():
    """Signatures of operators are remembered per options of the compilation; their code is that of these options."""

    def scaled(a, x):
        return (a * x)[0] + a[0] ** 2

    made = [jit.kernel(scaled, allocates=True), jit.kernel(lambda a, x: a[0] * x + a[0] ** 2)]
    try:
        a = np.array([3.0, 4.0])
        assert [kernel(a, 2.0) for kernel in (*made, made[0])] == [15.0, 15.0, 15.0]
        assert made[0](a, 2) == 15.0  # an integer factor is another operator of the same name
    finally:
        for kernel in made:
            jit.kernels.remove(kernel)


# -------------------------------------------------------------------------------------------------------------------- bits


def test_a_routine_kept_out_of_line_is_called():
    """In every kernel, so that nothing around it can change how its products and sums are fused."""

    @jit.routine
    def times_and_plus(a, x):
        jit.keep_out_of_line()
        a[0] = a[1] * x + a[2]

    @jit.routine
    def copied(a, x):
        a[0] = a[1] * x + a[2]

    def one(a, x):
        times_and_plus(a, x)
        copied(a, x)
        return a[0] * x + 1.0

    compiled = jit.compiled(one, allocates=False)
    assert compiled(np.array([0.0, 2.0, 3.0]), 2.0) == 15.0
    calls = [line for line in compiled.inspect_llvm(compiled.signatures[0]).splitlines() if "call " in line]
    assert any("times_and_plus" in line for line in calls)
    assert not any("copied" in line for line in calls)


def test_a_routine_stays_a_routine_where_an_inlined_subroutine_is_the_first_to_use_it():
    """Numba hands the wish to be inlined on to whatever is compiled within; a routine says that it has no such wish."""

    @jit.routine
    def fill(a):
        jit.keep_out_of_line()
        a[0] = 2.0

    @jit.inlined
    def through(a):
        fill(a)

    @jit.kernel
    def run(a):
        through(a)

    a = np.zeros(1)
    run(a)
    assert a[0] == 2.0


def test_kernels_run_without_compiling(tmp_path):
    """With Numba switched off, for coverage and debugging, decorators leave functions as they are."""
    code = "import linkwork as lw; print(lw.library.chain(3).compile().n_bodies)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(tmp_path, NUMBA_DISABLE_JIT="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr


ADDING = """
import sys
import numpy as np
from linkwork.core import jit

def adding(k):
    @jit.routine
    def add(a):
        jit.keep_out_of_line()
        a[0] += k

    @jit.kernel
    def run(a):
        add(a)

    return run

for k in map(float, sys.argv[1:]):
    a, run = np.zeros(1), adding(k)
    run(a)
    assert a[0] == k, (k, a[0])
    print(sum(run.stats.cache_hits.values()))
"""


def test_kernels_that_two_processes_compiled_call_their_own_subroutines(tmp_path):
    """Each process numbers the subroutines that it compiles from one on: two kernels may come with one name for two."""
    program = tmp_path / "adding.py"
    program.write_text(ADDING)

    def hits(*numbers):
        done = subprocess.run(
            [sys.executable, str(program), *numbers],
            env=environment(tmp_path / "cache", PYTHONHASHSEED="0"),  # part of the names
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert hits("1") == hits("2") == ["0"]
    assert hits("1", "2") == ["1", "1"]
