"""Uses one extra of Linkwork as its pages do, in seconds: `python tools/smoke_extras.py mjcf`; `--list` names them.

`tools/version_matrix.py` runs it with the oldest and the newest packages of each extra. Exit status 1 where one fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import linkwork as lw

ROOT = Path(__file__).parents[1]
# A body whose mesh is not there, but whose inertia is
ABSENT_MESH = """<mujoco><asset><mesh name="m" file="absent.stl"/></asset><worldbody><body name="arm">
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint axis="0 1 0"/><geom type="mesh" mesh="m"/>
</body></worldbody></mujoco>
"""
# Four triangles in centimetres, as COLLADA
MESH = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 100 0 0 0 100 0 0 0 100</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def mjcf(folder: Path) -> None:
    """A chain to a file of MuJoCo and back: the same accelerations."""
    chain = lw.library.chain(3)
    chain.to_mjcf(folder / "chain.xml")
    model, back = chain.compile(), lw.load(folder / "chain.xml").compile()
    state = model.random_state(1)
    ours = lw.forward_dynamics(model, state)
    assert np.allclose(lw.forward_dynamics(back, lw.State(state.q, state.v)), ours, atol=1e-8 * np.abs(ours).max())
    (folder / "absent.xml").write_text(ABSENT_MESH, encoding="utf-8")
    assert lw.load(folder / "absent.xml").compile().nv == 1


def gpu(folder: Path) -> None:
    """CuPy imports; without a GPU Linkwork says that there is none."""
    import cupy

    try:
        present = cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        present = False
    try:
        lw.gpu.DeviceModel(lw.library.chain(3).compile())
    except lw.LinkworkError:
        assert not present
    else:
        assert present


def torch(folder: Path) -> None:
    """Gradients by PyTorch against those of Linkwork."""
    import torch

    import linkwork.torch

    model = lw.library.chain(3).compile()
    q, v, effort = (torch.full((3,), x, dtype=torch.float64, requires_grad=True) for x in (0.1, 0.2, 0.3))
    linkwork.torch.forward_dynamics(model, q, v, effort).sum().backward()
    assert np.allclose(effort.grad.numpy(), _inverse_of_mass(model).sum(axis=0), rtol=1e-9)


def jax(folder: Path) -> None:
    """Gradients by JAX against those of Linkwork."""
    import jax

    import linkwork.jax

    jax.config.update("jax_enable_x64", True)
    model = lw.library.chain(3).compile()
    q, v, effort = np.full(3, 0.1), np.full(3, 0.2), np.full(3, 0.3)
    found = jax.grad(lambda tau: linkwork.jax.forward_dynamics(model, q, v, tau).sum())(effort)
    assert np.allclose(found, _inverse_of_mass(model).sum(axis=0), rtol=1e-9)


def _inverse_of_mass(model: lw.Model) -> np.ndarray:
    """∂q̈/∂effort at the state of the two above, column by column."""
    state = lw.State(np.full(3, 0.1), np.full(3, 0.2))
    free = lw.forward_dynamics(model, state)
    return np.array([lw.forward_dynamics(model, state, unit) - free for unit in np.eye(3)]).T


def plots(folder: Path) -> None:
    """A picture of a linkage."""
    from linkwork.plotting import draw

    model = lw.library.chain(3).compile()
    draw(model, model.neutral()).figure.savefig(folder / "chain.png")
    assert (folder / "chain.png").stat().st_size > 1_000


def gym(folder: Path) -> None:
    """An environment alone and a vector of two: spaces, resets and steps."""
    import gymnasium

    import linkwork.envs  # noqa: F401  (registers them)

    env = gymnasium.make("Linkwork/CableReach-v0")
    seen, _ = env.reset(seed=1)
    seen, reward, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(seen)
    assert np.isfinite(reward)
    many = gymnasium.make_vec("Linkwork/CableReach-v0", num_envs=2)
    many.reset(seed=1)
    seen, rewards, *_ = many.step(many.action_space.sample())
    assert seen.shape[0] == len(rewards) == 2
    many.close()


def contact(folder: Path) -> None:
    """The hull of a moving mesh."""
    from linkwork.contact.geometry.mesh_files import hull_corners

    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
    faces = corners[[(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]]
    assert len(hull_corners(faces, "mesh")) == 4


def record(folder: Path) -> None:
    """A run, recorded and read back."""
    _recorded(folder / "run")
    recording = lw.Recording(folder / "run")
    assert len(recording.times) == 6
    assert np.isfinite(recording.state(-1).q).all()


def _recorded(folder: Path) -> None:
    model = lw.library.random_tree(20, seed=1).compile()
    lw.FullDynamics(model, model.random_state(1)).run(1e-3, 10, record=folder, every=2, progress=False)


def proteins(folder: Path) -> None:
    """A peptide is made, written as a PDB file without some of its atoms, read and mended; its energy is OpenMM's."""
    made = lw.molecules.peptide("GA", relax=True, seed=1)
    made.write(folder / "peptide.pdb", made.state)
    lines = (folder / "peptide.pdb").read_text(encoding="ascii").splitlines()
    kept = [line for line in lines if line[:4] != "ATOM" or line[76:78].strip() != "H"]
    (folder / "bare.pdb").write_text("\n".join(kept), encoding="ascii")
    mol = lw.molecules.load(folder / "bare.pdb", seed=1)
    assert len(mol.atoms) == len(made.atoms)
    assert np.isfinite(mol.field("amber14", engine="openmm").energy(mol.state))


def sweep(folder: Path) -> None:
    """Samples of a low-discrepancy sequence, run by a worker of Dask."""
    (folder / "study.py").write_text("def square(x):\n    return {'y': x * x}\n", encoding="utf-8")
    command = ["sweep", "study.py:square", "--vary", "x=0.0:1.0", "--samples", "4", "--workers", "1", "--out", "out"]
    subprocess.run([sys.executable, "-m", "linkwork", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    table = lw.SweepTable(folder / "out")
    assert np.allclose(table["y"], np.asarray(table["x"]) ** 2)


def viewer(folder: Path) -> None:
    """A page is served, a mesh in COLLADA is read, animations are drawn. Needs the extra `record` too."""
    from linkwork.contact.geometry.mesh_files import read_any_mesh
    from linkwork.viewer.animation import write_gif, write_mp4

    (folder / "mesh.dae").write_text(MESH, encoding="utf-8")
    points, faces = read_any_mesh(folder / "mesh.dae", "the smoke set")
    assert len(faces) == 4
    assert np.allclose(np.ptp(points, axis=0), 1.0)
    model = lw.library.random_tree(20, seed=1).compile()
    page = lw.view(lw.FullDynamics(model, model.random_state(1)), h=1e-3, port=0)
    page.step(10)
    page.close()
    _recorded(folder / "run")
    recording = lw.Recording(folder / "run")
    assert write_gif(recording, folder / "run.gif") > 0
    assert write_mp4(recording, folder / "run.mp4") > 0


def docs(folder: Path) -> None:
    """The site builds without a warning."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder / "site")]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (folder / "site" / "index.html").exists()


EXTRAS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (mjcf, gpu, torch, jax, plots, gym, contact, record, proteins, sweep, viewer, docs)
}


def main() -> int:
    names = sys.argv[1:]
    if names in ([], ["--list"]) or not set(names) <= set(EXTRAS):
        print("\n".join(f"{name:10} {each.__doc__}" for name, each in EXTRAS.items()))
        return int(names != ["--list"])
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            EXTRAS[name](Path(folder))
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}, numba {version('numba')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
