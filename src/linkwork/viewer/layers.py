"""What can be shown beside the mechanism: names, axes, loads, springs, contacts, the centre of mass, trails."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.quantities.motion import center_of_mass
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.load_columns import LOAD_STIFFNESS, LOAD_TARGET
from linkwork.simulation.loading.loads import Load
from linkwork.viewer.shapes.colors import as_light
from linkwork.viewer.shapes.molecules import atoms_of, residue_labels

MOST_NAMES = 150  # labels; more hide the mechanism
MOST_TRAILS = 8  # bodies at the tips of the tree
TRAIL_POINTS = 400
ARROW = 0.2  # of the mechanism's size: length of the largest force
AXIS = 0.06  # of the mechanism's size: half a joint axis
FORCE, SPRING, CENTER, TRAIL = (210, 40, 60), (120, 60, 200), (200, 30, 120), (40, 120, 200)
CONTACT = (20, 130, 60)
MOST_CONTACTS = 2000  # points and arrows, of the largest forces


class Layers:
    """Layers over one mechanism; those that are not shown cost nothing."""

    NAMES = {  # noqa: RUF012
        "names": "Names",
        "residues": "Residues",
        "world": "World axes",
        "joints": "Joint axes",
        "loads": "Loads and springs",
        "contacts": "Contacts",
        "center": "Centre of mass",
        "trails": "Trails",
    }

    def __init__(self, scene: Any, model: Model, size: float):
        self._scene, self._model, self._size = scene, model, size
        self.shown = {"loads", "contacts"}
        self.hidden: Load | None = None  # a load that is drawn elsewhere
        self.nodes: dict[str, Any] = {}
        tips = np.setdiff1d(np.arange(model.n_bodies), model.parent)
        self._tips = tips[np.linspace(0, len(tips) - 1, min(MOST_TRAILS, len(tips))).astype(int)] if len(tips) else tips
        self._trail: deque[FloatArray] = deque(maxlen=TRAIL_POINTS)
        self._residues: list[tuple[str, int, FloatArray]] = []  # text, body, place in its frame

    def show(self, name: str, is_shown: bool) -> None:
        (self.shown.add if is_shown else self.shown.discard)(name)
        if not is_shown:
            for node in {"loads": ("loads", "springs"), "contacts": ("contacts", "pushes")}.get(name, (name,)):
                self._drop(node)
        if name == "trails":
            self._trail.clear()

    def draw(self, state: State, T: FloatArray, sim: Any = None) -> None:
        """Brings every layer that is shown to a state. T: poses of bodies, shape (n, 4, 4)."""
        if "names" in self.shown:
            self._draw_names(T)
        if "residues" in self.shown:
            self._draw_residues(T)
        if "world" in self.shown and "world" not in self.nodes:
            self.nodes["world"] = self._scene.add_frame(
                "/layers/world", axes_length=0.2 * self._size, axes_radius=0.003 * self._size
            )
        if "joints" in self.shown:
            self._lines("joints", self._joint_axes(T), (60, 60, 200))
        if "loads" in self.shown:
            self._draw_loads(T, sim)
        if "contacts" in self.shown:
            self._draw_contacts(sim)
        if "center" in self.shown and self._model.mass.sum() > 0.0:
            self._draw_center(center_of_mass(self._model, state))
        if "trails" in self.shown and len(self._tips):
            self._trail.append(T[self._tips, :3, 3].copy())
            path = np.array(self._trail)
            self._lines("trails", np.stack([path[:-1], path[1:]], axis=2).reshape(-1, 2, 3), TRAIL)

    def mark(self, body: int, T: FloatArray) -> None:
        """The name of the chosen body beside it."""
        if body < 0:
            self._drop("chosen")
            return
        text, place = self._model.body_names[body], T[body, :3, 3]
        if "chosen" not in self.nodes:
            self.nodes["chosen"] = self._scene.add_label("/layers/chosen", text, position=place)
        self.nodes["chosen"].text, self.nodes["chosen"].position = text, place

    def remove(self) -> None:
        for name in list(self.nodes):
            self._drop(name)

    # ------------------------------------------------------------------------------------------------------------- inside

    def _drop(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        for one in node if isinstance(node, list) else [node] if node is not None else []:
            one.remove()

    def _draw_names(self, T: FloatArray) -> None:
        n = self._model.n_bodies
        bodies = range(n) if n <= MOST_NAMES else np.linspace(0, n - 1, MOST_NAMES).astype(int).tolist()
        if "names" not in self.nodes:
            self.nodes["names"] = [
                self._scene.add_label(f"/layers/name_{i}", self._model.body_names[i], font_screen_scale=0.8)
                for i in bodies
            ]
        for label, i in zip(self.nodes["names"], bodies, strict=True):
            label.position = T[i, :3, 3]

    def _draw_residues(self, T: FloatArray) -> None:
        """Names of residues at their Cα atoms; of large molecules some of them, evenly spaced."""
        if "residues" not in self.nodes:
            atoms = atoms_of(self._model)
            found = [] if atoms is None else residue_labels(atoms)
            some = np.linspace(0, len(found) - 1, min(MOST_NAMES, len(found))).astype(int).tolist() if found else []
            self._residues = [found[k] for k in some]
            self.nodes["residues"] = [
                self._scene.add_label(f"/layers/residue_{k}", text, font_screen_scale=0.8)
                for k, (text, _, _) in enumerate(self._residues)
            ]
        for label, (_, body, at) in zip(self.nodes["residues"], self._residues, strict=True):
            label.position = T[body, :3, :3] @ at + T[body, :3, 3]

    def _joint_axes(self, T: FloatArray) -> FloatArray:
        """Lines along the axes of hinges, sliders and screws, shape (k, 2, 3)."""
        arrays = self._model.arrays
        hinges = np.flatnonzero(arrays.tree[:, layout.KIND] == layout.HELICAL)
        axis = arrays.body[hinges, layout.AXIS : layout.AXIS + 3]
        slides = np.linalg.norm(axis, axis=1, keepdims=True) == 0.0
        axis = np.where(slides, arrays.body[hinges, layout.SLIDE : layout.SLIDE + 3], axis)
        center = arrays.body[hinges, layout.CENTER : layout.CENTER + 3]
        R, p = T[hinges, :3, :3], T[hinges, :3, 3]
        middle = np.einsum("nij,nj->ni", R, center) + p
        along = AXIS * self._size * np.einsum("nij,nj->ni", R, axis)
        return np.stack([middle - along, middle + along], axis=1)

    def _draw_loads(self, T: FloatArray, sim: Any) -> None:
        forces, springs = load_lines(sim, T, self.hidden)
        self._arrows("loads", self._scaled(forces), FORCE)
        self._lines("springs", springs, SPRING)

    def _draw_contacts(self, sim: Any) -> None:
        """Points where bodies touched in the last step, and the forces there."""
        points = contact_lines(sim)
        self._points("contacts", points[:, 0], CONTACT)
        self._arrows("pushes", self._scaled(points[np.linalg.norm(points[:, 1], axis=1) > 0.0]), CONTACT)

    def _scaled(self, forces: FloatArray) -> FloatArray:
        """Places and forces → both ends of arrows, the largest of a fifth of the mechanism's size; shape (k, 2, 3)."""
        if not len(forces):
            return forces
        length = np.linalg.norm(forces[:, 1], axis=1).max()
        ends = forces[:, 0] + forces[:, 1] * (ARROW * self._size / max(length, 1e-300))
        return np.stack([forces[:, 0], ends], axis=1)

    def _draw_center(self, place: FloatArray) -> None:
        if "center" not in self.nodes:
            self.nodes["center"] = self._scene.add_icosphere(
                "/layers/center", radius=0.015 * self._size, color=CENTER, cast_shadow=False
            )
        self.nodes["center"].position = place

    def _lines(self, name: str, points: FloatArray, color: tuple[int, int, int]) -> None:
        if not len(points):
            self._drop(name)
        elif name in self.nodes:
            self.nodes[name].points = points.astype(np.float32)
        else:
            self.nodes[name] = self._scene.add_line_segments(
                f"/layers/{name}", points.astype(np.float32), color, thickness=3.0, thickness_units="screen"
            )

    def _points(self, name: str, points: FloatArray, color: tuple[int, int, int]) -> None:
        self._drop(name)  # viser keeps as many points as there were first
        if len(points):
            self.nodes[name] = self._scene.add_point_cloud(
                f"/layers/{name}",
                points.astype(np.float32),
                color,
                point_size=0.012 * self._size,
                point_shape="circle",
                precision="float32",
            )

    def _arrows(self, name: str, points: FloatArray, color: tuple[int, int, int]) -> None:
        if not len(points):
            self._drop(name)
        elif name in self.nodes:
            self.nodes[name].points = points.astype(np.float32)
        else:
            s = self._size
            self.nodes[name] = self._scene.add_arrows(
                f"/layers/{name}",
                points.astype(np.float32),
                as_light(color),
                shaft_radius=0.006 * s,
                head_radius=0.014 * s,
                head_length=0.035 * s,
            )


def contact_lines(sim: Any) -> FloatArray:
    """Where bodies touched in the last step and with which force, largest first, shape (k, 2, 3) [m, N]."""
    found = getattr(sim, "contacts", ()) if sim is not None else ()
    points = np.array([(contact.point, contact.force) for contact in found if contact.state != "apart"])
    points = points.reshape(-1, 2, 3)
    order = np.argsort(-np.linalg.norm(points[:, 1], axis=1), kind="stable")
    return points[order[:MOST_CONTACTS]]


def load_lines(sim: Any, T: FloatArray, hidden: Load | None = None) -> tuple[FloatArray, FloatArray]:
    """Where forces act and how large they are, shape (k, 2, 3) [m, N]; both ends of springs, shape (j, 2, 3) [m].

    hidden: a load to leave out.
    """
    forces: list[FloatArray] = []
    springs: list[FloatArray] = []
    loads: tuple[Load, ...] = tuple(getattr(sim, "loads", ())) if sim is not None else ()
    for load in loads:
        if load is hidden:
            continue
        R, p = T[load.bodies, :3, :3], T[load.bodies, :3, 3]
        place = np.einsum("kij,kj->ki", R, load.at) + p
        if load.is_fixed:
            forces.append(np.stack([place, np.einsum("kij,kjl,kl->ki", R, load.axes, load.force)], axis=1))
            continue
        table = sim.view.loads.table[load.rows]
        is_spring = table[:, LOAD_STIFFNESS] > 0.0
        springs.append(np.stack([place, table[:, LOAD_TARGET : LOAD_TARGET + 3]], axis=1)[is_spring])
        forces.append(np.stack([place, load.force], axis=1)[~is_spring])
    whole = np.concatenate([np.zeros((0, 2, 3)), *forces])
    return whole[np.linalg.norm(whole[:, 1], axis=1) > 0.0], np.concatenate([np.zeros((0, 2, 3)), *springs])
