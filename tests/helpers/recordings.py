"""Small recordings to try things on, shared by the tests of recordings."""

import numpy as np

import linkwork as lw
from linkwork.record import Recorder


def simulation(model):
    return lw.QuasiStatics(model, model.neutral(), tolerance=1e-2)


def record(path, model, frames=5, **options):
    rng = np.random.default_rng(0)
    with Recorder(path, **options) as recorder:
        recorder.begin(model)
        for k in range(frames):
            recorder.append(0.1 * k, k, lw.State(rng.normal(size=8), np.zeros(8)), {"energy": float(k)})
        recorder.checkpoint({"x": np.arange(3)})
    return path


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
