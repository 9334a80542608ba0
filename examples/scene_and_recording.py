"""A scene is run from Python, its recording read back, and a picture drawn of it. Needs the extras `record` and `plots`."""

import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.scene.plots import save_plot

# The same tables as in a scene file; lw.Scene.read("my_scene.toml") reads one.
scene = lw.Scene(
    {
        "title": "a chain of 30 links, pushed at its end",
        "model": {"library": "chain", "parameters": {"joints": 30, "axes": "same"}},
        "joint": [{"joint": "*", "damping": 1e-4}],
        "load": [{"body": "link_29", "frame": "world", "force": ["2 * pulse(t, 0.05, 0.1)", 0, 0]}],
        "method": {"kind": "full", "integrator": "rk4"},
        "run": {"h": 1e-3, "duration": 0.5},
        "record": {"every": 5e-3, "points": [{"body": "link_29"}], "joints": ["link_0", "link_29"]},
    },
    name="pushed_chain",
)
folder = Path(tempfile.mkdtemp(prefix="linkwork_"))
recording = lw.run_scene(scene, folder / "run")
print(recording)

way = recording.path_of("link_29")  # (frames, 3) [m]
kinetic = recording.scalars["kinetic_energy"]
for k in range(0, len(recording), 20):
    print(f"{recording.times[k]:5.2f} s: end at x = {way[k, 0]:+.3f} m, kinetic energy {kinetic[k]:.4f} J")
print(f"link_29 turns fastest at {np.abs(recording.joint_velocity('link_29')).max():.1f} rad/s")

titles = save_plot(recording, folder / "run.png")
print(f"drawn to '{folder / 'run.png'}': {', '.join(titles)}")

# Any state of a recording is a start for something else: half a second more, without the push.
later = lw.FullDynamics(recording.model, recording.state(-1), integrator="rk4")
later.step(1e-3, 500)
print(f"half a second later the end is at x = {lw.body_poses(later.model, later.state)[29, 0, 3]:+.3f} m")
