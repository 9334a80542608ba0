"""Folders of sweeps, meshes and shapes, and objects that threads share: made hostile from a seed, as the other borders."""

from __future__ import annotations

import json
import random
import shutil
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.ensemble.journal import JOURNAL
from linkwork.ensemble.plan import PLAN, POINTS
from linkwork.record.checksums import document_sum

from .values import changed_bytes, changed_text, odd_value

MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
SHAPES = {
    "Box": {"size": (1.0, 1.0, 1.0)},
    "Sphere": {"radius": 1.0},
    "Capsule": {"radius": 1.0, "length": 1.0},
    "Cylinder": {"radius": 1.0, "length": 1.0},
    "HeightField": {"heights": ((0.0, 0.0), (0.0, 0.0)), "size": (1.0, 1.0)},
    "Plane": {},
}
SURFACE = ("placement", "friction", "restitution", "group", "mask", "visual_only", "owner")
THREADS = 3


def twice(x: float) -> float:
    return 2.0 * x


@cache
def swept(folder: Path) -> Path:
    out = folder / "sweep"
    lw.Sweep(twice, {"x": [0.5, 1.5, 2.5]}).run(out, workers=0, progress=False)
    return out


def table_of(folder: Path) -> str:
    table = lw.SweepTable(folder)
    return repr([len(lw.Sweep.of(folder)), table.columns, *table.rows(), table.timings()])


def sweep_folder(rng: random.Random, folder: Path) -> bool:
    """One file changed, exchanged, lost, or rewritten with a right checksum; whether the sweep still says the same."""
    path = folder / "damaged_sweep"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(swept(folder), path)
    name, kind = rng.choice((PLAN, POINTS, JOURNAL)), rng.randrange(6)
    file = path / name
    if kind == 0:
        file.unlink()
    elif kind == 1:
        file.write_bytes((path / rng.choice((PLAN, POINTS, JOURNAL))).read_bytes())
    elif kind == 2 and name != POINTS:
        first, *others = [file.read_text()] if name == PLAN else file.read_text().splitlines()
        document = {key: value for key, value in json.loads(first).items() if key != "sum"}
        document[rng.choice(sorted(document))] = rng.choice([None, True, -1, 1.5, 10**400, "x", [], [[]], {}, ["run"]])
        file.write_text("\n".join([json.dumps({**document, "sum": document_sum(document)}), *others]) + "\n")
        table_of(path)
        return True  # whatever it says was written so
    else:
        file.write_bytes(changed_bytes(file.read_bytes(), rng))
    found = table_of(path)
    lost = name == JOURNAL and len(lw.SweepTable(path)) < 3  # runs that are not in it count as not done
    return lost or found == table_of(swept(folder))


def mesh_or_shape(rng: random.Random, folder: Path) -> Any:
    """A shape with an odd argument, or a mesh whose file was changed, on a body or in the world: its distance."""
    on_body = rng.random() < 0.5
    if rng.random() < 0.4:
        path = folder / "case.obj"
        text = changed_text(MESH, rng)
        if rng.random() < 0.5:  # near a plane or a line
            points = np.array([[rng.gauss(0, 1) * 10.0 ** rng.uniform(-18, 0) for _ in range(3)] for _ in range(8)])
            corners = [f"f {rng.randint(1, 8)} {rng.randint(1, 8)} {rng.randint(1, 8)}" for _ in range(12)]
            text = "\n".join([*(f"v {x} {y} {z}" for x, y, z in points.tolist()), *corners])
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        shape: Any = lw.Mesh(str(path))
    else:
        kind = rng.choice(sorted(SHAPES))
        arguments: dict[str, Any] = dict(SHAPES[kind])
        arguments[rng.choice((*arguments, *SURFACE))] = odd_value(rng)
        shape = getattr(lw, kind)(**arguments)
    linkage = lw.Linkage("case")
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    if on_body:
        linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[shape])
    else:
        linkage.add_obstacle("thing", shape)
    model = linkage.compile()
    found = lw.clearance(model, model.random_state(rng.randrange(100)))
    return None if found is None else found.distance


@cache
def shared_model() -> lw.Model:
    return lw.library.random_tree(20, seed=5).compile()


def shared_by_threads(rng: random.Random) -> bool:
    """Several threads step, load and ask one object; whether it ends as it must."""
    model = shared_model()
    response = lw.Response(model, model.random_state(1))
    sim = lw.FullDynamics(model, model.random_state(2, speed=0.1))
    alone = response.block(3, 17).tobytes()
    faults: list[object] = []
    choices = [[rng.randrange(5) for _ in range(6)] for _ in range(THREADS)]

    def work(k: int) -> None:
        try:
            for what in choices[k]:
                if what == 0:
                    sim.step(1e-4, 2)
                elif what == 1:
                    sim.clear(sim.apply_wrench(k, force=(0.0, 0.0, 1e-3)))
                elif what == 2:
                    sim.checkpoint()
                elif what == 3 and response.block(3, 17).tobytes() != alone:
                    faults.append("another block")
                elif what == 4 and not np.isfinite(sim.state.q).all():
                    faults.append("a state that is not finite")
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for fault in faults:
        if isinstance(fault, Exception):
            raise fault
    return not faults and not sim.loads
