"""Other systems: what only POSIX has stands behind a guard, text files name their encoding, the package runs without both.

Windows and macOS themselves are not tried here; docs/versions.md says what was.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])
POSIX_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog"}
POSIX_ONLY = {
    "os": {
        "fork",
        "forkpty",
        "getuid",
        "geteuid",
        "getgid",
        "getloadavg",
        "killpg",
        "mkfifo",
        "nice",
        "sched_getaffinity",
        "sched_setaffinity",
        "sched_setscheduler",
        "sched_yield",
        "setsid",
        "sysconf",
        "uname",
        "wait3",
        "wait4",
        "getpgid",
        "setpgid",
        "statvfs",
        "chown",
        "sync",
        "fchmod",
        "getpriority",
        "openpty",
        "pread",
        "pwrite",
        "posix_fallocate",
        "setpriority",
        "waitid",
        "O_DIRECTORY",
        "O_NONBLOCK",
        "WNOHANG",
    },
    "mmap": {"MAP_SHARED", "MAP_PRIVATE", "MAP_ANONYMOUS", "PROT_READ", "PROT_WRITE", "PROT_EXEC", "PAGESIZE"},
    "multiprocessing": {"set_start_method"},
    "signal": {
        "SIGKILL",
        "SIGALRM",
        "SIGUSR1",
        "SIGUSR2",
        "SIGHUP",
        "SIGPIPE",
        "alarm",
        "setitimer",
        "pause",
        "sigwait",
        "pthread_kill",
    },
    "time": {"clock_gettime", "clock_gettime_ns", "CLOCK_MONOTONIC", "tzset"},
}
FORBIDDEN_IN_NAMES = set('<>:"|?*')  # in names of files on Windows


def guards(parents: list[ast.AST], name: str) -> bool:
    """Whether an `if`, a conditional expression or a `try` around a node asks for the system or for this name."""
    for node in parents:
        if isinstance(node, ast.If | ast.IfExp):
            asked = ast.unparse(node.test)
            if "platform" in asked or "os.name" in asked or f"'{name}'" in asked or asked.isupper() or "HAS_" in asked:
                return True
        if isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(each.type) for each in node.handlers if each.type is not None)
            if "AttributeError" in caught or "ImportError" in caught:
                return True
    return False


def unguarded(source: str) -> list[str]:
    """Names of POSIX that a file uses on every system: `line: name`."""
    found: list[str] = []

    def look(node: ast.AST, parents: list[ast.AST]) -> None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_posix = node.attr in POSIX_ONLY.get(node.value.id, ())
            found.extend(
                [f"{node.lineno}: {node.value.id}.{node.attr}"] * (is_posix and not guards(parents, node.attr))
            )
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found.extend(
                f"{node.lineno}: {name}" for name in names if name in POSIX_MODULES and not guards(parents, name)
            )
        for child in ast.iter_child_nodes(node):
            look(child, [*parents, node])

    look(ast.parse(source), [])
    return found


def translated(source: str) -> list[int]:
    """Lines that open a file by number in Windows' text mode, which writes another byte before each end of a line.

    Only in sources that write by number.
    """
    lines: list[int] = []
    if "os.write(" not in source:
        return lines
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.open":
            asked = " ".join(ast.unparse(each) for each in [*node.args, *node.keywords])
            if not any(word in asked for word in ("O_BINARY", "plain", "devnull")):
                lines.append(node.lineno)
    return lines


def without_encoding(source: str) -> list[int]:
    """Lines that open a text file in whatever encoding the system prefers."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = (
            node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
        )
        keys = {key.arg for key in node.keywords}
        is_method = isinstance(node.func, ast.Attribute)  # of a Path; functions of these names are our own
        if is_method and name in {"read_text", "write_text"} and "encoding" not in keys:
            lines.append(node.lineno)
        if name == "open" and owner in {"", "io", "gzip", "bz2"} and "encoding" not in keys:
            given = [*node.args[1:2], *(key.value for key in node.keywords if key.arg == "mode")]
            modes = [x.value for mode in given for x in ast.walk(mode) if isinstance(x, ast.Constant)]
            binary = owner in {"gzip", "bz2"} or any(isinstance(mode, str) and "b" in mode for mode in modes)
            if isinstance(node.func, ast.Name) and not binary:
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import os\nos.fork()", ["2: os.fork"]),
        ("import os\nn = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else 1", []),
        ("import sys\nif sys.platform != 'win32':\n    import fcntl", []),
        ("import fcntl", ["1: fcntl"]),
        ("import signal\ntry:\n    signal.SIGKILL\nexcept OSError:\n    pass", ["3: signal.SIGKILL"]),
    ],
)
def test_the_check_sees_what_it_looks_for(source, seen):
    assert unguarded(source) == seen


def test_names_of_posix_stand_behind_a_guard():
    faults = [
        f"{file.relative_to(ROOT)}:{each}" for file in FILES for each in unguarded(file.read_text(encoding="utf-8"))
    ]
    assert not faults, faults


def test_text_files_name_their_encoding():
    assert without_encoding("open('x')") == [1]
    faults = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in FILES
        for line in without_encoding(file.read_text(encoding="utf-8"))
    ]
    assert not faults, faults


def test_files_are_not_opened_in_windows_text_mode():
    """`plain` is what the sources call O_BINARY where there is one."""
    assert translated("os.write(os.open(path, os.O_RDWR), b'')") == [1]
    assert translated("os.write(os.open(path, os.O_RDWR | plain), b'')") == []
    faults = [
        f"{file.relative_to(ROOT)}:{line}" for file in FILES for line in translated(file.read_text(encoding="utf-8"))
    ]
    assert not faults, faults


def test_names_of_files_can_be_written_on_windows():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    names = listed if any(listed) else [str(path.relative_to(ROOT)) for path in FILES]
    assert not [name for name in names if FORBIDDEN_IN_NAMES & set(name) or name.endswith((" ", "."))]
    lowered = [name.lower() for name in names if name]
    assert len(set(lowered)) == len(lowered), "two files differ by capitals only"


PROGRAM = f"""
import os, signal, sys, tempfile, types
import numpy, numba, zarr, rich.progress, multiprocessing, tempfile, asyncio, shutil, ssl  # they know the true system
for name in {sorted(POSIX_ONLY["os"])!r}:
    if hasattr(os, name):
        delattr(os, name)
for name in {sorted(POSIX_ONLY["signal"])!r}:
    if hasattr(signal, name):
        delattr(signal, name)
os.O_BINARY = 0  # Windows has it
for name in {sorted(POSIX_MODULES)!r}:
    sys.modules[name] = None  # importing them fails
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda handle, mode, size: None)
sys.platform = "win32"

import linkwork as lw

model = lw.library.chain(10).compile()
state = model.random_state(1)
qdd = lw.forward_dynamics(model, state)
assert abs(qdd - lw.forward_dynamics(model, state, algorithm="dense")).max() < 1e-8 * abs(qdd).max()
with tempfile.TemporaryDirectory() as folder:
    out = os.path.join(folder, "run")
    sim = lw.FullDynamics(model, state)
    sim.run(1e-3, 20, record=out, progress=False)
    assert len(lw.Recording(out)) > 1
    method, run = {{"kind": "full"}}, {{"h": 1e-3, "duration": 0.01}}
    scene = lw.Scene({{"model": {{"library": "chain"}}, "method": method, "run": run}})
    scene.run(progress=False)
from linkwork.haptics.clock import now_ns
assert now_ns() > 0
print("ran", sys.platform)
"""


def test_the_package_runs_on_a_system_that_is_not_posix():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "ran win32" in done.stdout
