"""Scene: a scene file, read and checked, ready to be built into a simulation. Every key is explained in docs/scenes.md."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.core.checks import as_path, shown
from linkwork.core.files import checked_file
from linkwork.core.messages.describe import tabled
from linkwork.core.units import unit
from linkwork.dynamics.inputs import as_model, as_state
from linkwork.errors import FormatError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.actions import find_actions
from linkwork.scene.builtin_scenes import find_scene
from linkwork.scene.methods import METHODS, Found
from linkwork.scene.model import build_model
from linkwork.scene.reading.faults import Faults
from linkwork.scene.reading.lines import KeyPath, Lines, key_lines
from linkwork.scene.reading.plain import plain
from linkwork.scene.reading.schema import MOST_STEPS, check_scene, units_of_scene
from linkwork.scene.reading.settings import Settings, as_settings, override
from linkwork.scene.sensors import find_sensors
from linkwork.scene.state import build_state
from linkwork.scene.targets import find_bodies, find_joints
from linkwork.sensing.api import Sensors
from linkwork.simulation.protocol import Callback, RunReport, Simulation
from linkwork.simulation.run import run_simulation

if TYPE_CHECKING:
    from linkwork.record.recording import Recording

FRAMES = 200  # about, in a run that does not say how often it records


@tabled
class Scene:
    """The contents of a scene file: a model, its initial state, its loads, the method and what is recorded.

    given: the contents of the file. source: what messages call it; folder: where its relative paths begin.
    model, state: those of an earlier run of the scene, in place of what [model] and [state] would give.
    Raises FormatError with all faults at once, each with its line.
    """

    def __init__(
        self,
        given: Mapping[str, Any],
        source: str = "scene",
        folder: str | Path = ".",
        *,
        name: str = "scene",
        text: str | None = None,
        lines: Lines | None = None,
        overridden: Mapping[KeyPath, str] | None = None,
        model: Model | None = None,
        state: State | None = None,
    ):
        for table, what in ((lines, "lines"), (overridden, "overridden")):
            if table is not None and not isinstance(table, Mapping):
                raise StateError(f"{what} of a scene must be a table, not {shown(table)}.")
        if model is not None:
            as_model(model, "Scene")
            if state is not None:
                as_state(model, state)
        elif state is not None:
            raise StateError("a scene that is given a state needs its model too.")
        faults = Faults(source, lines, overridden)
        self.given: dict[str, Any] = plain(given, (), faults) if isinstance(given, Mapping) else {}
        if not isinstance(given, Mapping):
            faults.add((), f"a scene is a table of tables, not {given!r}; Scene.read(path) reads a file.")
        self.source, self.name, self.text = source, name, text
        self.data = check_scene(self.given, faults)
        self._points: list[dict[str, Any]] = []
        self._joints: list[str] = []
        found = self._find(as_path(folder, "folder of a scene"), model, state, faults)
        faults.raise_all()
        assert found is not None  # or there was a fault
        self._found = found

    @property
    def units(self) -> Mapping[str, str]:
        """What stands for each SI unit in scenes of molecules ({"m": "nm", ...}); empty where SI units hold."""
        return units_of_scene(self.data)

    @classmethod
    def read(cls, path: str | Path, settings: Settings = ()) -> Scene:
        """Reads a scene file, or the built-in scene of that name.

        settings: overrides, as {"method.tolerance": 1e-4} or as words "method.tolerance=1e-4", one or several.
        """
        file = find_scene(path)
        text = read_text(file, str(path))
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _not_toml(str(path), str(error), text) from None
        given, overridden = override(found, as_settings(settings))
        return cls(
            given, str(path), file.parent, name=file.stem, text=text, lines=key_lines(text), overridden=overridden
        )

    @classmethod
    def of_recording(cls, recording: Recording) -> Scene:
        """The scene that a recording was made from, with the recorded model and first state: no other file is needed."""
        from linkwork.record.recording import Recording

        if not isinstance(recording, Recording):
            raise StateError(f"a scene is read from a lw.Recording, not from {shown(recording)}.")
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
        """Joints that plots show unless others are asked for."""
        return list(self._joints)

    # ------------------------------------------------------------------------------------------------------------ building

    def build(self) -> Simulation:
        """A simulation at its start, with its loads; those that change with time follow it as it steps."""
        return METHODS[self.data["method"]["kind"]].build(self._found)

    def sensors(self, sim: Simulation) -> Sensors | None:
        """The sensors of the scene and of its model in a simulation that `build` made; None where there are none."""
        return Sensors(sim, self._sensors, seed=self.data["record"]["sensor_seed"]) if self._sensors else None

    def run(self, *, callback: Callback | None = None, progress: bool | None = None) -> RunReport:
        """The whole run, nothing recorded; `lw.run_scene(scene, out)` records it.

        callback(sim, report): as often as a frame would be recorded; a true result stops the run.
        """
        sim = self.build()
        return run_simulation(
            sim,
            self.h,
            self.steps,
            sensors=self.sensors(sim),
            every=self.every,
            callback=callback,
            progress=progress,
            label=self.name,
        )

    def _find(self, folder: Path, model: Model | None, state: State | None, faults: Faults) -> Found | None:
        """Everything the scene speaks of, looked up once; None after a fault."""
        data = self.data
        method = METHODS.get(data["method"].get("kind", ""))
        if model is None:
            model = (method.build_model if method else build_model)(data, folder, faults)
        if model is None:
            return None
        begin = build_state(model, data, folder, faults) if state is None else state
        options = method.check(data, model, begin, faults) if method else {}
        actions = find_actions(data, model, begin, faults)
        self._sensors = find_sensors(data, model, faults)
        self._find_shown(model, faults)
        if begin is None or "h" not in data["run"]:
            return None
        return Found(self.h, model, begin, options, actions)

    @property
    def model(self) -> Model:
        return self._found.model

    @property
    def state(self) -> State:
        """Where the run begins; a walker begins at its gait instead."""
        return self._found.state

    def _find_shown(self, model: Model, faults: Faults) -> None:
        record = self.data["record"]
        for k, point in enumerate(record["points"]):
            bodies = find_bodies(model, point, ("record", "points", k), faults)
            self._points += [{"body": body, "at": point["at"]} for body in bodies]
        if record["joints"]:
            self._joints = find_joints(model, record["joints"], ("record", "joints"), faults)

    def __repr__(self) -> str:
        return f"Scene('{self.name}', {self.model!r}, {self.steps} steps of {self.h:g} {unit('s', self.units)})"


def read_text(file: Path, name: str = "") -> str:
    """The text of a scene file; some editors put a mark before it, which is left out. name: what messages call it."""
    name = name or str(file)
    try:
        return checked_file(file).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormatError(f"{name}: cannot be read, {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: 1 fault", [f"{name}: byte {error.start} is not UTF-8; save it as UTF-8."]) from None


def scene_steps(run: Mapping[str, Any]) -> int:
    """How many steps a checked table [run] asks for; at least one."""
    return int(run["steps"]) if "steps" in run else max(1, round(run["duration"] / run["h"]))


def _not_toml(path: str, message: str, text: str) -> FormatError:
    """Python gives line and column at the end of its message."""
    where = re.search(r"\(at line (\d+), column \d+\)", message)
    line = int(where[1]) if where else max(1, text.count("\n"))
    said = re.sub(r" \(at .*\)$", "", message)
    if said == "Invalid value":
        said += "; text needs quotes, numbers a decimal point and no unit"
    return FormatError(f"{path}: 1 fault", [f"{path}:{line}: this is not TOML: {said}."])
