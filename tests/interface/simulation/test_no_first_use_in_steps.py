"""Kernels that a run needs are there after its first step: none is compiled, or read from disk, in the middle of a run."""

from __future__ import annotations

import json
import subprocess
import sys

# A process of its own: in this one other tests have loaded kernels already. 1,500 steps are enough for floors to be
# measured anew, and for all joints to be taken and left again.
PROGRAM = """
import json
import numpy as np
import linkwork as lw
from linkwork.core.jit import kernels

def loaded():
    return {f"{k.py_func.__module__}.{k.py_func.__name__}": len(k.signatures) for k in kernels}

found = {}
model = lw.library.molecule(300).compile()
for name, make, options in (
    ("quasi-statics", lw.QuasiStatics, {"tolerance": 2.0**-11}),
    ("dynamics, number", lw.AdaptiveDynamics, {"max_active_joints": 20}),
    ("dynamics, tolerance", lw.AdaptiveDynamics, {"tolerance": 2.0**-6}),
):
    rng, sim = np.random.default_rng(2), make(model, model.neutral(), **options)
    load = sim.apply_wrench(150, force=(0.1, 0.0, 0.05), frame="world")
    sim.set_wrenches(load, np.ones((1, 6)))
    sim.step(1e-4)
    before, most, least = loaded(), 0, 300
    for k in range(1500):
        if k % 50 == 0:
            sim.clear(load)
            load = sim.apply_wrench(int(rng.integers(300)), force=rng.normal(size=3), frame="world")
        elif k < 500:
            sim.set_wrenches(load, rng.normal(size=(1, 6)))
        computed = sim.step(1e-4).n_computed
        most, least = max(most, computed), min(least, computed)
    found[name] = [sorted(k for k, n in loaded().items() if n > before.get(k, 0)), least, most]
print(json.dumps(found))
"""


def test_steps_after_the_first_use_the_kernels_that_it_used():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert {name: new for name, (new, _, _) in found.items() if new} == {}
    _, least, most = found["quasi-statics"]
    assert least < 300 == most, "solves by `aba` and by the tree were to be among them"
