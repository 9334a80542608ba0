"""Compiled kernels that were installed beside the package: used where they fit, else as if they were not there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from linkwork.core import shipped_kernels
from linkwork.core.shipped_kernels import LEVELS, MANIFEST, PACKAGE, level_here

ROOT = Path(__file__).parents[3]
# A small kernel, what it found, how often it was read and how often compiled, and what recordings say of the processor.
CALL = """
import json
import numpy as np
from linkwork.assembly.levels import node_heights
from linkwork.assembly.plan import assemble
from linkwork.core.kernel_cache import processor
found = node_heights(np.array(assemble(np.arange(7) - 1).nodes))
read, compiled = (sum(counts.values()) for counts in (node_heights.stats.cache_hits, node_heights.stats.cache_misses))
print(json.dumps([found.tolist(), read, compiled, processor()]))
"""


def run_with(folder: Path | None, cache: Path, **settings: str) -> list:
    path = [str(ROOT / "src")] + ([] if folder is None else [str(folder)])
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "LINKWORK"))}
    environment |= {"PYTHONPATH": os.pathsep.join(path), "NUMBA_CACHE_DIR": str(cache), **settings}
    done = subprocess.run([sys.executable, "-W", "error", "-c", CALL], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def tool_called(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tool():
    return tool_called("make_kernel_wheel")


@pytest.fixture(scope="module")
def level():
    found = level_here(LEVELS)
    if found is None:
        pytest.skip("kernels are shipped for x86-64 processors of level 2 and more")
    return found


@pytest.fixture(scope="module")
def package(tool, level, tmp_path_factory):
    """A package with what one call compiles, and its wheel."""
    folder = tmp_path_factory.mktemp("package")
    assert tool.make_package(folder, [level], [CALL]) == {level: len(list((folder / PACKAGE / level).iterdir()))}
    return folder, tool.write_wheel(folder, tmp_path_factory.mktemp("dist"))


def test_a_kernel_is_read_from_the_wheel(package, level, tmp_path):
    folder, wheel = package
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
        names = packed.namelist()
    assert wheel.name.startswith(f"{PACKAGE}-")
    assert any(name.endswith(".dist-info/RECORD") for name in names)
    found, read, compiled, processor = run_with(tmp_path / "installed", tmp_path / "cache")
    assert (read, compiled) == (1, 0)
    assert not list((tmp_path / "cache").rglob("*.nbc"))
    assert processor.endswith(f"installed kernels {level}")
    here, read, compiled, processor = run_with(folder, tmp_path / "cache", LINKWORK_SHIPPED="0")
    assert here == found
    assert (read, compiled) == (0, 1)
    assert "installed" not in processor
    # Those compiled here do not take the place of the installed ones: what runs does not depend on the past.
    assert run_with(folder, tmp_path / "cache")[1:3] == [1, 0]


def test_the_pair_of_wheels_installs_in_a_clean_environment(package, level, tmp_path):
    """pip installs both away from the sources; the kernel comes from the wheel, and nothing is compiled."""
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("linkwork-*.whl")
    printed = tool_called("try_wheel").try_pair(wheel, package[1], tmp_path, borrow=True, call=CALL)
    _, read, compiled, processor = json.loads(printed.splitlines()[-1])
    assert (read, compiled) == (1, 0)
    assert processor.endswith(f"installed kernels {level}")


@pytest.mark.parametrize("what", ["kernels", "levels"])
def test_what_does_not_fit_is_left(package, tmp_path, what):
    folder = tmp_path / "other"
    (folder / PACKAGE).mkdir(parents=True)
    for file in (package[0] / PACKAGE).rglob("*.*"):
        place = folder / file.relative_to(package[0])
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(file.read_bytes())
    manifest = json.loads((folder / PACKAGE / MANIFEST).read_text(encoding="utf-8"))
    manifest[what] = [] if what == "levels" else "another"
    (folder / PACKAGE / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    _, read, compiled, processor = run_with(folder, tmp_path / "cache")
    assert (read, compiled) == (0, 1)
    assert "installed" not in processor


def test_damaged_code_is_compiled_anew_with_a_warning(tmp_path):
    def function() -> None:
        pass

    (tmp_path / shipped_kernels.file_name(function, ())).write_bytes(b"not code")

    class Context:
        def refresh(self) -> None:
            pass

    with pytest.warns(UserWarning, match="reinstall linkwork-kernels"):
        assert shipped_kernels.load_shipped(tmp_path, function, (), Context()) is None
    assert shipped_kernels.load_shipped(tmp_path, function, (1,), Context()) is None
    assert shipped_kernels.load_shipped(None, function, (), Context()) is None
