"""Makes the wheel `linkwork-kernels`: compiled kernels of Linkwork for levels of processors, found by it where they fit.

    python tools/make_kernel_wheel.py dist                              # what a first adaptive step calls, and more
    python tools/make_kernel_wheel.py dist --set queries --level x86-64-v2

A set is one of `linkwork warm --list`. Kernels are compiled anew, in empty folders, by the Numba and Python that run this;
the wheel is for these, for this version of Linkwork and for this system.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from linkwork import __version__
from linkwork.cli.commands.warm import PROGRAMS
from linkwork.core.kernel_cache import kernel_digest
from linkwork.core.shipped_kernels import LEVELS, MANIFEST, PACKAGE, SWITCH, made_of

SETS = ("adaptive dynamics", "adaptive quasi-statics", "queries")
PACK = """
from pathlib import Path
from linkwork.core.jit import kernels
from linkwork.core.shipped_kernels import pack
print(pack(kernels, Path({folder!r})))
"""


def compile_for(level: str, programs: list[str], folder: Path) -> int:
    """Runs programs with an empty cache and packs what they compiled; how many kernels there are then."""
    with tempfile.TemporaryDirectory() as cache:
        settings = {
            **os.environ,
            "NUMBA_CACHE_DIR": cache,
            "NUMBA_CPU_NAME": level,
            "NUMBA_CPU_FEATURES": "",
            SWITCH: "0",
        }
        for program in programs:
            code = f"{program}\n{PACK.format(folder=str(folder))}"
            subprocess.run([sys.executable, "-c", code], env=settings, check=True, stdout=subprocess.DEVNULL)
    return sum(1 for _ in folder.iterdir())


def make_package(folder: Path, levels: list[str], programs: list[str]) -> dict[str, int]:
    """The package of kernels in a folder; kernels of each level."""
    package = folder / PACKAGE
    package.mkdir(parents=True)
    text = '"""Compiled kernels of Linkwork, which finds them by itself where they fit."""\n'
    (package / "__init__.py").write_text(text, encoding="utf-8")
    counts = {level: compile_for(level, programs, package / level) for level in levels}
    manifest = {**made_of(kernel_digest()), "levels": levels}
    (package / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return counts


def write_wheel(folder: Path, out: Path) -> Path:
    """The wheel of a folder that holds the package."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    system = made_of("")["system"].replace("-", "_").replace(".", "_")
    tag = f"{python}-{python}-{system}"
    info = f"{PACKAGE}-{__version__}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: linkwork-kernels\nVersion: {__version__}\n"
        f"Summary: compiled kernels of Linkwork {__version__}\nRequires-Dist: linkwork=={__version__}\n"
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: linkwork\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = {str(path.relative_to(folder).as_posix()): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
    files |= {f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{PACKAGE}-{__version__}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder for the wheel")
    parser.add_argument("--set", action="append", choices=PROGRAMS, help=f"of kernels (default: {', '.join(SETS)})")
    parser.add_argument(
        "--level", action="append", choices=LEVELS, help=f"of processors (default: {', '.join(LEVELS)})"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = [PROGRAMS[name] for name in options.set or SETS]
        counts = make_package(Path(folder), options.level or list(LEVELS), programs)
        path = write_wheel(Path(folder), options.out)
    for level, count in counts.items():
        print(f"{level}: {count} kernels")
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
