"""Robot files that others wrote: URDFs of the package `example-robot-data`, MuJoCo models that come with Gymnasium.

Both packages are part of the extra `dev`. Further files are read where they lie beside the checkout.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

BESIDE = Path(__file__).parents[2].parent / "shared" / "data" / "robots"
PACKAGED = {
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "tiago_dual": "tiago_description/robots/tiago_dual.urdf",
}
GYMNASIUM = ("ant", "half_cheetah", "humanoid", "reacher", "walker2d")
NEEDED = "pip install '.[dev]' brings the packages example-robot-data and gymnasium"


def packaged_robots() -> Path | None:
    """Where `example-robot-data` keeps its robots; None where it is not installed."""
    for place in sys.path:
        found = Path(place) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
        if found.is_dir():
            return found
    return None


def _urdfs() -> dict[str, Path]:
    found = {path.stem: path for path in sorted(BESIDE.glob("*.urdf"))} if BESIDE.is_dir() else {}
    place = packaged_robots()
    if place is not None:
        found |= {name: place / file for name, file in PACKAGED.items() if (place / file).is_file()}
    return dict(sorted(found.items()))


def _mjcfs() -> dict[str, Path]:
    found = {path.stem: path for path in sorted(BESIDE.glob("*.xml"))} if BESIDE.is_dir() else {}
    spec = find_spec("gymnasium")
    if spec is not None and spec.origin is not None:
        assets = Path(spec.origin).parent / "envs" / "mujoco" / "assets"
        found |= {
            f"gymnasium_{name}": assets / f"{name}.xml" for name in GYMNASIUM if (assets / f"{name}.xml").is_file()
        }
    return dict(sorted(found.items()))


URDFS, MJCFS = _urdfs(), _mjcfs()  # by name
