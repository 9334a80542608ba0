"""Building and compiling stay quick and lean at scale. Measured in a fresh process, as a user would meet it."""

import json
import os
import subprocess
import sys

import pytest

# Every object its own, as in a user's loop. Processor seconds: a busy test machine must not fail the test.
PROGRAM = """
import json, resource, sys, time
import linkwork as lw
n = int(sys.argv[1])
lw.library.chain(3).compile()  # the ordering kernel compiles once; its time is no part of the figure
start = time.process_time()
linkage, parent = lw.Linkage("long"), "world"
for i in range(n):
    name = f"body_{i}"
    linkage.add_body(name, parent, lw.Revolute((0, 1, 0)), lw.Pose(xyz=(0, 0, -0.1)),
                     lw.Inertia(1.0, (0, 0, -0.05), (1e-3, 1e-3, 1e-4)))
    parent = name
model = linkage.compile()
seconds = time.process_time() - start
start = time.process_time()
state, depth = model.random_state(0), model.depth
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "after": time.process_time() - start, "gigabytes": peak / 1e9,
                  "bodies": model.n_bodies, "depth": depth}))
"""


def measure(joints: int) -> dict[str, float]:
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(joints)], capture_output=True, text=True, check=True)
    figures = json.loads(run.stdout)
    assert figures["bodies"] == figures["depth"] == joints
    return figures


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is asked of the resource module, which Windows lacks")
@pytest.mark.parametrize(
    ("joints", "seconds", "gigabytes"),
    [
        (50_000, 3.0, 0.5),
        pytest.param(1_000_000, 60.0, 8.0, marks=pytest.mark.skipif(
            "LINKWORK_SLOW_TESTS" not in os.environ, reason="half a minute and 2 GB; set LINKWORK_SLOW_TESTS=1 to run it"
        )),
    ],
)  # fmt: skip
def test_building_and_compiling(joints, seconds, gigabytes):
    figures = measure(joints)
    assert figures["seconds"] < seconds
    assert figures["gigabytes"] < gigabytes
    assert figures["after"] < seconds / 10  # a random state and the depth are vectorised: next to nothing
