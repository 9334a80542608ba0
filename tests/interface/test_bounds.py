"""Compiled code that cannot be seen: it stays within its arrays, its cache is never stale, and it says when it compiles."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

# One body of every joint kind in two trees, all options, welds kept; then everything that is a kernel.
EVERYTHING = """
import json, sys
import numpy as np
import linkwork as lw
from linkwork.dynamics.front import ALGORITHMS
from linkwork.reference import joint_calculus as calculus


def model():
    joints = [
        lw.Revolute((1, 2, 3), point=(0.1, 0, 0), damping=0.1, stiffness=2.0, rest=0.3, armature=0.1),
        lw.Prismatic((0, 1, 1), stiffness=1.0),
        lw.Fixed(),
        lw.Universal(damping=(0.1, 0.2)),
        lw.Spherical((0.1, 0.2, 0.3), stiffness=1.0),
        lw.Free(stiffness=1.0),
        lw.Screw((1, 0, 1), pitch=0.2),
        lw.Planar(),
        lw.Cylindrical(),
        lw.Compound([lw.Revolute((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Revolute((0, 0, 1))]),
    ]
    linkage = lw.Linkage("mixed")
    part = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.1, 0.2, 0.0)))
    for i, joint in enumerate(joints):
        parent = "world" if i in (0, 5) else f"b{i - 1 if i % 3 else i - 2}"
        linkage.add_body(f"b{i}", parent, joint, lw.Pose((0.2, 0.1, 0.3), rpy=(0.1 * i, 0.2, 0.3)), part)
    return linkage.compile(merge_fixed=False)


def results():
    m = model()
    rng = np.random.default_rng(0)
    state, other = m.random_state(rng), m.random_state(rng)
    effort, wrenches = rng.normal(size=m.nv), rng.normal(size=(m.n_bodies, 6))
    out = {f"forward by {name}": lw.forward_dynamics(m, state, effort, wrenches, algorithm=name) for name in ALGORITHMS}
    out |= {f"unloaded by {name}": lw.forward_dynamics(m, state, algorithm=name) for name in ALGORITHMS}
    out["inverse"] = lw.inverse_dynamics(m, state, effort, wrenches)
    out["mass matrix"] = lw.mass_matrix(m, state)
    out["poses"] = lw.body_poses(m, state)
    out["twists"] = lw.body_twists(m, state, frame="world")
    out["jacobian"] = lw.body_jacobian(m, state, m.n_bodies - 1, frame="world", at=(0.1, 0.2, 0.3))
    out["energy"] = lw.energy(m, state)
    out["momentum"] = np.concatenate(lw.momentum(m, state))
    out["centre"] = lw.center_of_mass(m, state)
    out["integrate"] = m.integrate(state.q, state.v, 0.1)
    out["difference"] = m.difference(state.q, other.q)
    out["state"] = m.state(2.0 * state.q).q
    for joint in m.joints:
        q, v = joint.random(rng), rng.normal(size=joint.nv)
        out[f"pose of {joint!r}"] = calculus.joint_pose(joint, q).matrix
        out[f"subspace of {joint!r}"] = calculus.joint_subspace(joint, q)
        out[f"bias of {joint!r}"] = calculus.joint_bias(joint, q, v)
    return {name: np.asarray(value).tolist() for name, value in out.items()}
"""


def package() -> Path:
    return Path(lw.__file__).parent


def environment(cache: Path, root: Path | None = None, **more: str) -> dict[str, str]:
    """This environment, with a cache of its own and the package from `root`."""
    root = root or package().parent
    return {**os.environ, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(cache), **more}


def test_kernels_stay_within_their_arrays(tmp_path):
    """Everything runs once with bounds checking compiled in, and gives what the unchecked code gives."""
    code = (
        EVERYTHING + "\nfrom numba.core import config\nassert config.BOUNDSCHECK == 1\nprint(json.dumps(results()))\n"
    )
    checked = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(tmp_path, NUMBA_BOUNDSCHECK="1"),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
    theirs = json.loads(checked.stdout)
    here: dict = {}
    exec(compile(EVERYTHING, "everything", "exec"), here)
    ours = here["results"]()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        expected = np.array(theirs[name])
        # Checks keep the compiler from reordering and fusing: a few ulp, times the condition number of M (some 1e3).
        assert np.array(value) == pytest.approx(expected, abs=1e-11 * max(1.0, np.abs(expected).max(initial=0.0))), name


def test_bounds_checking_finds_a_kernel_that_strays(tmp_path):
    """The leg above is worth something: the same flags catch a read past the end."""
    script = tmp_path / "stray.py"
    script.write_text(
        "import numpy as np\n"
        "from linkwork.core.jit import inlined, kernel\n"
        "@inlined\n"
        "def second(a):\n    return a[1]\n"
        "@kernel\n"
        "def stray(a):\n    return second(a)\n"
        "try:\n    stray(np.zeros(1))\nexcept IndexError:\n    print('caught')\n"
    )
    result = subprocess.run(
        [sys.executable, str(script)],
        env=environment(tmp_path / "cache", NUMBA_BOUNDSCHECK="1"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.stdout.strip() == "caught", result.stderr


# ------------------------------------------------------------------------------------------------------------------- cache

COMPILE_ONE = """
import linkwork as lw
from linkwork.model.order import depth_first_order
linkage = lw.Linkage("one")
linkage.add_body("rock", joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1))
linkage.compile()
stats = depth_first_order.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def hits_and_misses(env) -> tuple[int, int]:
    result = subprocess.run(
        [sys.executable, "-c", COMPILE_ONE], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # not a terminal: compiling stays silent
    hits, misses = map(int, result.stdout.split())
    return hits, misses


def test_cache_is_kept_until_any_source_file_changes(tmp_path):
    copy = tmp_path / "source" / "linkwork"
    shutil.copytree(package(), copy, ignore=shutil.ignore_patterns("__pycache__"))
    env = environment(tmp_path / "cache", copy.parent)
    assert hits_and_misses(env) == (0, 1)
    assert hits_and_misses(env) == (1, 0)
    # A file that the kernel neither lives in nor imports: kernels inline functions of any file, so any change counts.
    with (copy / "spatial" / "vectors.py").open("a") as file:
        file.write("\n# a thought\n")
    assert hits_and_misses(env) == (0, 1)
    assert hits_and_misses(env) == (1, 0)
    (copy / "spatial" / "newcomer.py").write_text("")
    assert hits_and_misses(env) == (0, 1)


# ------------------------------------------------------------------------------------------------------------ announcement


def on_a_terminal(env) -> str:
    """What a user sees on standard error when it is a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", COMPILE_ONE], env=env, stdout=subprocess.PIPE, stderr=follower)
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(leader)
    process.communicate(timeout=120)
    assert process.returncode == 0, seen
    return seen.decode()


def test_first_compilation_is_announced_on_a_terminal(tmp_path):
    env = environment(tmp_path)
    first = on_a_terminal(env)
    assert "linkwork: compiling depth_first_order" in first
    assert "kept for later runs" in first
    assert on_a_terminal(env) == ""  # from the cache: nothing to say


def test_compilation_is_silent_elsewhere(tmp_path):
    assert hits_and_misses(environment(tmp_path)) == (0, 1)  # which also checks that nothing was written
