"""Runs the tests of gradients in PyTorch and on a GPU, also where nothing can be installed.

    python3 tools/gpu_tests.py                  # with what is installed
    python3 tools/gpu_tests.py --pack wheels    # where there is a network: downloads what else is needed, some 50 MB
    python3 tools/gpu_tests.py --wheels wheels  # where there is none: unpacks it beside the wheels and uses it

Packed are Numba, llvmlite, Rich, pytest and what those need; NumPy, PyTorch and CuPy are the machine's own. Exit status:
that of pytest; 2 where something is missing, which is named, all at once.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("tests/laws/test_torch.py", "tests/laws/test_gpu.py", "tests/laws/test_gpu_gradients.py")
PACKED = (
    *("numba", "llvmlite", "rich", "markdown-it-py", "mdurl", "pygments"),
    *("pytest", "iniconfig", "packaging", "pluggy"),
)
NEEDED = (
    *("numpy", "numba", "llvmlite", "rich", "markdown_it", "mdurl", "pygments"),
    *("pytest", "iniconfig", "packaging", "pluggy"),
)


def pack(folder: Path, version: str) -> int:
    """Wheels for a version of Python on Linux."""
    platforms = [word for name in ("manylinux_2_28_x86_64", "manylinux2014_x86_64") for word in ("--platform", name)]
    options = ["--dest", str(folder), "--no-deps", "--only-binary", ":all:", "--python-version", version, *platforms]
    return subprocess.run([sys.executable, "-m", "pip", "download", *options, *PACKED], check=False).returncode


def unpack(folder: Path) -> Path:
    """The wheels of a folder, unpacked in it."""
    inside = folder / "unpacked"
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as file:
            if not (inside / next(name for name in file.namelist() if name.endswith("/METADATA"))).exists():
                file.extractall(inside)
    return inside


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="download what else is needed into this folder")
    parser.add_argument("--version", default="3.12", help="of Python there, with --pack (3.12)")
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="use what was packed into this folder")
    options = parser.parse_args()
    if options.pack:
        return pack(options.pack, options.version)
    sys.path[:0] = [str(ROOT / "src"), *([str(unpack(options.wheels.resolve()))] if options.wheels else [])]
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"missing: {', '.join(missing)}; see --pack and --wheels.")
        return 2
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])  # of programs that tests start
    import pytest

    print(f"Python {sys.version.split()[0]}; {device()}", flush=True)
    plain = ["-p", "no:cacheprovider", "-rs"]
    return int(pytest.main([*plain, "--rootdir", str(ROOT), *(str(ROOT / test) for test in TESTS)]))


def device() -> str:
    """The GPU, and the packages that reach it."""
    try:
        import cupy
        import torch
    except ImportError as error:
        return f"no GPU: {error}"
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"torch {torch.__version__}, cupy {cupy.__version__}, {name}"


if __name__ == "__main__":
    sys.exit(main())
