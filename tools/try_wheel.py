"""Tries a wheel as a stranger would: installs it in an environment of its own, uses it, takes it away again.

    python tools/try_wheel.py dist                       # downloads numpy, numba and rich, and runs the demo
    python tools/try_wheel.py dist --borrow              # takes them from this environment instead: no network
    python tools/try_wheel.py dist --borrow --no-demo    # seconds instead of a minute

Where the folder has a wheel of compiled kernels too, both are installed together, and a first adaptive step is timed.
Prints a line per thing tried, and how long a warm import takes. Exit status 1 at the first that fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# What a run leaves in a fresh environment: one kernel compiled, and where kernels are kept.
FIRST_CALL = """
import linkwork as lw
model = lw.library.pendulum().compile()
assert lw.forward_dynamics(model, model.neutral()).shape == (model.nv,)
"""


# The first adaptive step of a new installation: processor time from the start of Python [s].
FIRST_STEP = """
import time
import linkwork as lw
model = lw.library.chain(20).compile()
lw.AdaptiveDynamics(model, model.state()).step(1e-3)
print(time.process_time())
"""

WARM_IMPORT = "import linkwork, time; print(time.process_time())"
LONGEST_IMPORT = 0.5  # [s]
DEPENDENCIES = ("numpy", "numba", "llvmlite", "rich")


class Trial:
    def __init__(self, folder: Path, borrow: bool):
        self.home = folder / "home"
        self.home.mkdir()
        venv.create(folder / "environment", with_pip=True)
        self.bin = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / ("python.exe" if os.name == "nt" else "python")
        self.packages = Path(self.out("-c", "import site; print(site.getsitepackages()[0])").strip())
        if borrow:  # at the end of the path: the wheel's own package comes first
            found = [importlib.util.find_spec(name) for name in DEPENDENCIES]
            borrowed = {str(Path(spec.origin).parents[1]) for spec in found if spec is not None and spec.origin}
            (self.packages / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n", encoding="utf-8")
        self.options = ["--no-deps", "--no-index"] if borrow else []

    def out(self, *arguments: str, program: Path | None = None) -> str:
        """Runs the environment's interpreter, or another program of it, away from the sources; returns what it printed."""
        settings = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA", "LINKWORK", "XDG"))}
        settings |= {"HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache"), "LOCALAPPDATA": str(self.home)}
        done = subprocess.run(
            [str(program or self.python), *arguments], cwd=self.home, env=settings, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"failed: {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def pip(self, command: str, *arguments: str) -> None:
        self.out("-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments)

    def left_over(self) -> list[Path]:
        """Files of Linkwork in the environment and in the user's folders."""
        places = (self.packages.rglob("*linkwork*"), self.home.rglob("*linkwork*"), self.bin.glob("linkwork*"))
        return [path for place in places for path in place]


def said(what: str, text: str) -> None:
    print(f"ok   {what}{': ' + text if text else ''}", flush=True)


def try_wheel(wheel: Path, folder: Path, borrow: bool, demo: bool) -> None:
    trial = Trial(folder, borrow)
    trial.pip("install", *trial.options, str(wheel))
    where = trial.out("-c", "import linkwork; print(linkwork.__file__)").strip()
    assert Path(where).is_relative_to(trial.packages), where
    said("installs", wheel.name)
    warm = min(float(trial.out("-c", WARM_IMPORT)) for _ in range(5))
    assert warm <= LONGEST_IMPORT, f"a warm import takes {warm:.2f} s of processor time, more than {LONGEST_IMPORT} s"
    said("imports", f"{warm:.2f} s of processor time, warm, with the interpreter's own start")
    command = trial.bin / "linkwork"
    assert "pendulum" in trial.out("-m", "linkwork", "info", "pendulum")
    assert "pendulum" in trial.out("info", "--list", program=command)
    said("python -m linkwork, linkwork", "")
    assert "dynamics" in trial.out("bench", "--list", program=command)
    said("benchmarks are found", "")
    assert "snake_robot" in trial.out("run", "--list", program=command)
    assert "by_hand" in trial.out("examples", program=command)
    trial.out("examples", "by_hand", "--copy", ".", program=command)
    said("built-in scenes and examples are found", "")
    trial.out("-c", FIRST_CALL)
    said("the first kernel compiles", "")
    if demo:
        text = trial.out("demo", "--quick", "--no-picture", program=command)
        said("linkwork demo", re.sub(r"\s+", " ", text.strip().splitlines()[-1]))
    assert any(path.suffix == ".nbc" for path in trial.home.rglob("*")), "kernels are not kept in the user's folder"
    trial.pip("uninstall", "--yes", "linkwork")  # without clearing: kernels stay in the user's folder and nowhere else
    left = [path for path in trial.left_over() if not path.is_relative_to(trial.home / "cache")]
    assert not left, f"left behind: {left[:5]}"
    found = trial.out("-c", "import importlib.util as i; print(i.find_spec('linkwork'))")
    assert str(trial.packages) not in found, found
    said("uninstalls", "no package is left to import")
    trial.pip("install", *trial.options, str(wheel))
    trial.out("warm", "--clear", program=command)
    trial.pip("uninstall", "--yes", "linkwork")
    left = trial.left_over()
    assert not left, f"left behind: {left[:5]}"
    said("leaves nothing behind", "after `linkwork warm --clear` and `pip uninstall linkwork`")


def try_pair(wheel: Path, kernels: Path, folder: Path, borrow: bool, call: str = FIRST_STEP) -> str:
    """Installs the package and its compiled kernels in an environment of their own; returns what a call there prints.

    The call must compile nothing.
    """
    trial = Trial(folder, borrow)
    trial.pip("install", *trial.options, str(wheel), str(kernels))
    listed = trial.out("warm", "--list", program=trial.bin / "linkwork")
    assert "are installed (linkwork-kernels), and used" in listed, listed
    printed = trial.out("-c", call)
    compiled = list(trial.home.rglob("*.nbc"))
    assert not compiled, f"compiled although kernels are installed: {compiled[:5]}"
    return printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path, help="folder with the wheel, or the wheel")
    parser.add_argument("--borrow", action="store_true", help="take dependencies from this environment")
    parser.add_argument("--no-demo", action="store_true", help="leave the demo out")
    options = parser.parse_args()
    wheels = [options.dist] if options.dist.is_file() else sorted(options.dist.glob("linkwork-*.whl"))
    if not wheels:
        sys.exit(f"{options.dist} has no wheel of linkwork; `python -m build` makes one.")
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheels[-1].resolve(), Path(folder), options.borrow, not options.no_demo)
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for kernels in wheels[-1].parent.glob(f"linkwork_kernels-*-{version}-*.whl"):
        with tempfile.TemporaryDirectory() as folder:
            printed = try_pair(wheels[-1].resolve(), kernels.resolve(), Path(folder), options.borrow)
        said(
            "first adaptive step with installed kernels", f"{float(printed):.1f} s of processor time, nothing compiled"
        )


if __name__ == "__main__":
    main()
