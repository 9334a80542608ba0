"""Paths and files that lead nowhere: an error at once, of Linkwork's own kind."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.program import main
from linkwork.cli.screen import console, table
from linkwork.importers.mocap.bvh import load_bvh
from linkwork.importers.urdf.reader import load_urdf

BVH = """HIERARCHY
ROOT Hips
{{
  OFFSET 0 0 0
  CHANNELS {channels}
  End Site
  {{
    OFFSET 0 {height} 0
  }}
}}
MOTION
Frames: {frames}
Frame Time: {time}
{rows}
"""
SIX = "6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
SOUND = {"channels": SIX, "height": 170, "frames": 1, "time": 0.01, "rows": "0 0 0 0 0 0"}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
@pytest.mark.parametrize("read", [load_bvh, load_urdf])
def test_a_device_is_not_a_file(read):
    with pytest.raises(lw.FormatError, match="not a regular file"):
        read("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".bvh", ".asf"])
def test_a_pipe_is_not_a_file(suffix, tmp_path):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(lw.FormatError, match="not a regular file"):
        lw.load(tmp_path / f"pipe{suffix}")


SHAPED = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="{file}"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
@pytest.mark.parametrize("file", ["/dev/zero", "pipe.stl", "pipe.obj", "pipe.dae"])
def test_a_mesh_is_a_file(file, tmp_path):
    """Also one that a URDF or MJCF file names."""
    file = str(tmp_path / file)
    if not Path(file).exists():
        os.mkfifo(file)
    linkage = lw.Linkage("one")
    linkage.add_body("b", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 1.0), shapes=[lw.Mesh(file)])
    with pytest.raises(lw.FormatError, match="not a regular file"):
        lw.Collisions(linkage.compile())
    (tmp_path / "r.urdf").write_text(SHAPED.format(file=file))
    with pytest.warns(lw.LinkworkWarning, match="absent"):
        lw.Collisions(lw.load(tmp_path / "r.urdf").compile())
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra `mjcf`)")
    for asset in ("mesh", 'texture type="2d"', 'hfield size="1 1 1 1"', "skin"):
        (tmp_path / "m.xml").write_text(f'<mujoco><asset><{asset} name="m" file="{file}"/></asset></mujoco>')
        with pytest.raises(lw.FormatError, match="not a regular file"):
            lw.load(tmp_path / "m.xml")
    (tmp_path / "m.xml").write_text(f'<mujoco><include file="{file}"/></mujoco>')
    with pytest.raises(lw.FormatError, match="not a regular file"):
        lw.load(tmp_path / "m.xml")


@pytest.mark.parametrize("times", [1, 3, 1000])
def test_includes_that_never_end(times, tmp_path):
    """Of the file itself, and of two files in turn."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra `mjcf`)")
    for name, other in (("a", "a"), ("b", "c"), ("c", "b")):
        (tmp_path / f"{name}.xml").write_text("<mujoco>" + f'<include file="{other}.xml"/>' * times + "</mujoco>")
    for name in "ab":
        with pytest.raises(lw.FormatError, match="again"):
            lw.load(tmp_path / f"{name}.xml")


def test_a_row_of_includes_has_an_end(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (extra `mjcf`)")
    for k in range(40):
        (tmp_path / f"{k}.xml").write_text(f'<mujoco><include file="{k + 1}.xml"/></mujoco>')
    with pytest.raises(lw.FormatError, match="21th"):
        lw.load(tmp_path / "0.xml")


def test_packed_files_that_are_large_inside(tmp_path):
    """A file of some hundred kilobytes that unpacks to more than the limit."""
    pytest.importorskip("gemmi", reason="gemmi is not installed (extra `molecules`)")
    with gzip.open(tmp_path / "x.pdb.gz", "wb", compresslevel=1) as packed:
        for _ in range(257):
            packed.write(bytes(2**20))
    with pytest.raises(lw.FormatError, match="when unpacked"):
        lw.molecules.load(tmp_path / "x.pdb.gz")
    with zipfile.ZipFile(tmp_path / "s.npz", "w", zipfile.ZIP_DEFLATED) as packed, packed.open("q.npy", "w") as part:
        for _ in range(257):
            part.write(bytes(2**20))
    scene = {"model": {"library": "chain"}, "state": {"kind": "file", "file": str(tmp_path / "s.npz")},
             "method": {"kind": "full"}, "run": {"h": 1e-3, "duration": 1e-2}}  # fmt: skip
    with pytest.raises(lw.FormatError, match="when unpacked"):
        lw.Scene(scene)


@pytest.mark.parametrize("path", ["x" * 5000 + ".urdf", "a\0b.urdf", 7, None, b"arm.urdf"], ids=repr)
def test_paths_that_cannot_be(path):
    with pytest.raises(lw.FormatError):
        lw.load(path)


def test_a_file_beyond_the_limit(tmp_path):
    with open(tmp_path / "large.bvh", "wb") as large:
        large.truncate(300 * 2**20)  # holds nothing
    with pytest.raises(lw.FormatError, match="reads at most"):
        lw.load(tmp_path / "large.bvh")


@pytest.mark.parametrize(
    "change",
    [
        {"channels": "9000000000 Xposition"},
        {"channels": "9e9"},
        {"channels": "²"},
        {"channels": "9" * 5000},
        {"channels": "0", "rows": ""},
        {"channels": "0", "rows": "\n\n"},
        {"frames": "nan"},
        {"frames": "inf"},
        {"frames": "9" * 5000},
        {"time": "9" * 5000},
        {"time": "nan"},
        {"height": "9" * 5000},
        {"height": "1e308"},
        {"rows": "0 0 0 0 0 " + "9" * 5000},
        {"rows": "1e308 1e308 0 0 0 0"},
    ],
    ids=lambda change: " ".join(f"{k}={v[:12]}" for k, v in change.items()),
)
def test_numbers_no_recording_has(change, tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_text(BVH.format(**{**SOUND, **change}), encoding="utf-8")
    with pytest.raises(lw.FormatError):
        lw.load(path)


def test_a_bone_called_root(tmp_path):
    path = tmp_path / "walk.asf"
    path.write_text(
        ":units\nlength 0.45\n:root\norder TX TY TZ RX RY RZ\n:bonedata\nbegin\nname root\ndirection 0 1 0\nlength 1\n"
        "axis 0 0 0 XYZ\nend\n:hierarchy\nbegin\nroot root\nend\n"
    )
    with pytest.raises(lw.FormatError, match="'root'"):
        lw.load(path)


def test_names_with_brackets_are_shown_as_they_are(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text('<robot name="[/red] [bold]arm"><link name="[/]"/></robot>')
    assert main(["info", str(path)]) == 0
    assert "[/red] [bold]arm" in capsys.readouterr().out
    with console().capture() as shown:
        console().print(table("[/x]", ("[y]",), [["[/z]"]]))
    assert shown is not None


# ------------------------------------------------------------------------------------------------------ copies of a model


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deep", "pickle"]
)
def test_copies_of_a_model_are_protected_too(copied):
    model = copied(lw.library.humanoid().compile())
    for array in (*model.arrays, model.lower, model.upper, model.effort_limit, model.velocity_limit):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert np.isfinite(lw.forward_dynamics(model, model.random_state(0))).all()


@pytest.fixture(scope="module")
def huge():
    return lw.library.chain(200_000).compile()


@pytest.mark.parametrize("ask", ["mass_matrix", "dense", "unit_vector"])
def test_matrices_beyond_memory_are_refused_with_their_size(ask, huge):
    calls = {
        "mass_matrix": lambda: lw.mass_matrix(huge, huge.neutral()),
        "dense": lambda: lw.forward_dynamics(huge, huge.neutral(), algorithm="dense"),
        "unit_vector": lambda: lw.forward_dynamics(huge, huge.neutral(), algorithm="unit_vector"),
    }
    with pytest.raises(lw.StateError, match=r"needs [\d,]{15,} bytes"):
        calls[ask]()
