"""Scene: a scene file, read and checked, ready to be built into a simulation. Every key is explained in docs/scenes.md."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from linkwork.errors import FormatError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scenarios.walker.gait import Walker
from linkwork.scene.actions import Action, find_actions
from linkwork.scene.faults import Faults
from linkwork.scene.lines import Lines, Path, key_lines
from linkwork.scene.method import make_simulation
from linkwork.scene.model import build_model
from linkwork.scene.plain import plain
from linkwork.scene.ready_scenes import find_scene
from linkwork.scene.schema import MOST_STEPS, check_scene
from linkwork.scene.settings import Settings, as_settings, override
from linkwork.scene.simulation import SceneSimulation
from linkwork.scene.state import build_state
from linkwork.scene.targets import find_bodies, find_joints
from linkwork.scene.weights import check_weights

if TYPE_CHECKING:
    from linkwork.record.recording import Recording
    from linkwork.scene.walker import WalkerSimulation

FRAMES = 200  # about, in a run that does not say how often it records


class Scene:
    """What a scene file says: a model, where it begins, what acts on it, how it is computed and what is kept.

    given: the contents of the file. source: what messages call it; folder: where its relative paths begin.
    model, state: those of an earlier run of the scene, in place of what [model] and [state] would give.
    Raises FormatError with all faults at once, each with its line.
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        source: str = "scene",
        folder: str | FilePath = ".",
        *,
        name: str = "scene",
        text: str | None = None,
        lines: Lines | None = None,
        told: Mapping[Path, str] | None = None,
        model: Model | None = None,
        state: State | None = None,
    ):
        faults = Faults(source, lines, told)
        self.given: dict[str, Any] = plain(given, (), faults) if isinstance(given, Mapping) else {}
        if not isinstance(given, Mapping):
            faults.add((), f"a scene is a table of tables, not {given!r}; Scene.read(path) reads a file.")
        self.source, self.name, self.text = source, name, text
        self.data = check_scene(self.given, faults)
        self.is_walker = self.data["method"].get("kind") == "walker"
        if self.is_walker:
            self._find_walker(faults)
        else:
            self._find_everything(FilePath(folder), model, state, faults)
        faults.raise_all()

    @classmethod
    def read(cls, path: str | FilePath, settings: Settings = ()) -> Scene:
        """Reads a scene file, or the ready scene of that name.

        settings: overrides, as {"method.tolerance": 1e-4} or as words "method.tolerance=1e-4", one or several.
        """
        file = find_scene(path)
        text = read_text(file, str(path))
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _no_toml(str(path), str(error), text) from None
        given, told = override(found, as_settings(settings))
        return cls(given, str(path), file.parent, name=file.stem, text=text, lines=key_lines(text), told=told)

    @classmethod
    def of_recording(cls, recording: Recording) -> Scene:
        """The scene that a recording was made from, with the recorded model and first state: no other file is needed."""
        about = recording.metadata.get("linkwork_scene")
        if not about:
            raise FormatError(f"recording '{recording.path}' was not made from a scene; resume it from Python.")
        model = recording.model
        given = json.loads(about["given"])
        state = recording.state(0) if len(recording) else None
        source = f"scene of '{recording.path}'"
        return cls(given, source, name=about["name"], text=recording.scene, model=model, state=state)

    def metadata(self) -> dict[str, Any]:
        """What a recording keeps beside the text, for `of_recording` and for plots."""
        about = {"name": self.name, "given": json.dumps(self.given), "points": self.points(), "joints": self.joints()}
        return {"title": self.title, "linkwork_scene": about}

    # ------------------------------------------------------------------------------------------------------------ contents

    @property
    def title(self) -> str:
        return str(self.data.get("title", self.name))

    @property
    def description(self) -> str:
        return str(self.data.get("description", ""))

    @property
    def h(self) -> float:
        """Time step [s]."""
        return float(self.data["run"]["h"])

    @property
    def steps(self) -> int:
        return scene_steps(self.data["run"])

    @property
    def every(self) -> int:
        """Steps between recorded frames."""
        record = self.data["record"]
        if "every" in record:
            return max(1, round(min(record["every"] / self.h, MOST_STEPS)))
        return int(record.get("every_steps", max(1, round(self.steps / FRAMES))))

    def points(self) -> list[dict[str, Any]]:
        """Points to follow: body and place on it [m]."""
        return [dict(point) for point in self._points]

    def joints(self) -> list[str]:
        """Joints that plots show unless told otherwise."""
        return list(self._joints)

    # ------------------------------------------------------------------------------------------------------------ building

    def build(self) -> SceneSimulation | WalkerSimulation:
        """A simulation at its start, with its loads; those that change with time follow it as it steps."""
        if self.is_walker:
            from linkwork.scene.walker import WalkerSimulation

            return WalkerSimulation(self.walker, self.data["method"]["disturbance"])
        return SceneSimulation(make_simulation(self.data, self.model, self.state), self._actions, self.h)

    def _find_everything(self, folder: FilePath, model: Model | None, state: State | None, faults: Faults) -> None:
        data = self.data
        self._actions: list[Action] = []
        self._points: list[dict[str, Any]] = []
        self._joints: list[str] = []
        found = build_model(data, folder, faults) if model is None else model
        if found is None:
            return
        begin = build_state(found, data["state"], folder, faults) if state is None else state
        kind = data["method"].get("kind")
        if kind == "quasi-statics" and begin is not None and begin.v.any():
            faults.add(("state",), "a quasi-static run begins at rest; leave velocities out, or choose another method.")
        if kind in ("quasi-statics", "adaptive") and found.loops:
            faults.add(("method", "kind"), f"'{kind}' computes no closed loops, and the model has some; choose 'full'.")
        check_weights(found, data["method"], faults)
        self._actions = find_actions(data, found, begin, faults)
        for k, table in enumerate(data["pin"]):
            find_joints(found, table.get("joint", ()), ("pin", k, "joint"), faults)
        self._find_shown(found, faults)
        if begin is not None:
            self.model, self.state = found, begin

    def _find_shown(self, model: Model, faults: Faults) -> None:
        record = self.data["record"]
        for k, point in enumerate(record["points"]):
            bodies = find_bodies(model, point, ("record", "points", k), faults)
            self._points += [{"body": body, "at": point["at"]} for body in bodies]
        if record["joints"]:
            self._joints = find_joints(model, record["joints"], ("record", "joints"), faults)

    def _find_walker(self, faults: Faults) -> None:
        """The walker that [model] and [method] describe."""
        from linkwork.scene.walker import recorded_model

        self._points, self._joints, self._actions = [], [], []
        model = self.data["model"]
        if model.get("library") != "compass_biped":
            faults.add(("model", "library"), "method.kind = 'walker' needs model.library = 'compass_biped'.")
            return
        built = build_model(self.data, FilePath("."), faults)
        if built is None or "slope" not in self.data["method"]:
            return
        self.walker = Walker(self.data["method"]["slope"], **model["parameters"])
        self.model = recorded_model(self.walker)
        self._find_shown(self.model, faults)

    def __repr__(self) -> str:
        return f"Scene('{self.name}', {self.model!r}, {self.steps} steps of {self.h:g} s)"


def read_text(file: FilePath, name: str = "") -> str:
    """The text of a scene file; some editors put a mark before it, which is no part of it. name: what messages call it."""
    name = name or str(file)
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormatError(f"{name}: cannot be read, {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: 1 fault", [f"{name}: byte {error.start} is no UTF-8; save it as UTF-8."]) from None


def scene_steps(run: Mapping[str, Any]) -> int:
    """How many steps a checked table [run] asks for; at least one."""
    return int(run["steps"]) if "steps" in run else max(1, round(run["duration"] / run["h"]))


def _no_toml(path: str, message: str, text: str) -> FormatError:
    """Python tells line and column at the end of its message."""
    where = re.search(r"\(at line (\d+), column \d+\)", message)
    line = int(where[1]) if where else max(1, text.count("\n"))
    said = re.sub(r" \(at .*\)$", "", message)
    if said == "Invalid value":
        said += "; text needs quotes, numbers a decimal point and no unit"
    return FormatError(f"{path}: 1 fault", [f"{path}:{line}: this is no TOML: {said}."])
