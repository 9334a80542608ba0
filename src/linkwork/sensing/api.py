"""Sensors of a simulation: read after steps, with noise that a seed fixes, and known after their latency."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, positive, shown
from linkwork.core.messages.describe import html_table
from linkwork.core.messages.names import did_you_mean
from linkwork.core.uncopied import Uncopied
from linkwork.errors import StateError
from linkwork.model.sensors import Encoder, Orientation, Sensor, quantity, refuse_faulty
from linkwork.model.state import State
from linkwork.sensing.moment import Moment
from linkwork.sensing.readings import reading_of, width_of
from linkwork.simulation.parts.part import Entry, Saved, check

BLOCK = 256  # readings whose noise is drawn together
SLACK = 1e-9  # part of a step by which times may differ from multiples of it


class Samples(NamedTuple):
    """Readings of one sensor over time."""

    name: str
    times: FloatArray  # (k,) when they were taken [s]
    values: FloatArray  # (k, width)
    channels: tuple[str, ...]  # of the columns
    units: tuple[str, ...]
    latency: float  # [s] from then until they are known


class Sensors(Uncopied):
    """The sensors of a simulation.

    sensors = lw.Sensors(sim, [lw.sensors.Imu("imu", "hand", noise=0.01, latency=2e-3)], seed=7)
    sensors.step(h, n)                  # moves the simulation on and reads after every step that is one of `every`
    sensors["imu"]                      # what is known now, shape (6,); NaN until the first reading has arrived
    sim.run(h, n, sensors=sensors, record="run")     # or in a run, which records them

    sim: FullDynamics, AdaptiveDynamics or QuasiStatics. sensors: those of its model, if none are given.
    seed: of the noise. The noise of reading k of a sensor depends on seed, k and the sensor's place alone.
    """

    _INSTEAD = "sensors belong to one simulation"

    def __init__(self, sim: Any, sensors: Iterable[Sensor] | None = None, *, seed: int = 0):
        model = getattr(sim, "model", None)
        if model is None or not hasattr(sim, "advance"):
            raise StateError(f"sensors read a simulation, not {shown(sim)}.")
        try:
            given = tuple(model.sensors if sensors is None else sensors)
        except TypeError:
            raise StateError(f"sensors must be a list of lw.sensors, not {shown(sensors)}.") from None
        if not given:
            raise StateError(f"there are no sensors: model '{model.name}' has none, and none are given.")
        known = {*model.body_names, *model.frames, *model.merged_into, "world"}
        refuse_faulty(given, known, {*model.joint_names, *model.joint_parts})
        self.sim, self.seed = sim, integer(seed, 0, "seed")
        self._lines = {sensor.name: _Line(k, sensor, sim, self.seed) for k, sensor in enumerate(given)}
        self._taken_at = -1  # steps done at the last reading

    # ------------------------------------------------------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, name: str) -> FloatArray:
        """What is known of a sensor now: its last reading that is at least `latency` old, shape (width,)."""
        return self._line(name).known(float(self.sim.time))

    def read(self) -> dict[str, FloatArray]:
        """What is known of all sensors now, by name."""
        return {name: self[name] for name in self}

    def history(self, name: str) -> Samples:
        """All readings of a sensor so far, with the times they were taken at."""
        return self._line(name).samples()

    @property
    def sensors(self) -> tuple[Sensor, ...]:
        """Their descriptions."""
        return tuple(line.sensor for line in self._lines.values())

    def channels(self, name: str) -> tuple[tuple[str, str], ...]:
        """Name and unit of each number that a sensor reads."""
        return self._line(name).channels

    def forget(self) -> None:
        """Forgets all readings, as before the first step; call it after `sim.reset()`."""
        for line in self._lines.values():
            line.reset()
        self._taken_at = -1

    def _line(self, name: str) -> _Line:
        if name not in self._lines:
            near = did_you_mean(name, self._lines) if isinstance(name, str) else ""
            raise StateError(f"there is no sensor {shown(name)}{near}.")
        return self._lines[name]

    # -------------------------------------------------------------------------------------------------------------- moving

    def step(self, h: float, n: int = 1) -> Any:
        """Moves the simulation on by n steps of h [s], reads sensors on the way; returns its last report."""
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        report = None
        while n > 0:
            most = min(n, self.steps_to_next())
            report = self.chunk(h, most)
            n -= most
        return report

    def steps_to_next(self) -> int:
        """Steps until the next reading of any sensor."""
        done = self.sim.steps_done
        return min(line.sensor.every - done % line.sensor.every for line in self._lines.values())

    def chunk(self, h: float, n: int) -> Any:
        """n steps, of which only the last can end at a reading; returns the simulation's report."""
        sim = self.sim
        if not self._due(n):
            return sim.step(h, n)
        if n > 1:
            sim.advance(h, n - 1)
        before = sim.state
        report = sim.step(h, 1)
        self._take(State(before.q, before.v), h)
        return report

    def _due(self, n: int) -> bool:
        done = self.sim.steps_done + n
        return any(done % line.sensor.every == 0 for line in self._lines.values())

    def _take(self, before: State, h: float) -> None:
        done = self.sim.steps_done
        if done == self._taken_at:
            return
        moment = Moment(self.sim, before, h)
        for line in self._lines.values():
            if done % line.sensor.every == 0:
                line.take(moment, done // line.sensor.every)
        self._taken_at = done

    # ----------------------------------------------------------------------------------------------------------- recordings

    def description(self) -> dict[str, Any]:
        """What a recording says of them: by name the kind, where it sits, channels, units and latency."""
        return {
            name: {
                "kind": line.sensor.KIND,
                "on": line.sensor.on,
                "channels": [channel for channel, _ in line.channels],
                "units": [unit for _, unit in line.channels],
                "latency": float(line.sensor.latency),
                "every": line.sensor.every,
                "seed": self.seed,
            }
            for name, line in self._lines.items()
        }

    def fresh(self) -> FloatArray:
        """Readings since the last call as one row of numbers: (place of the sensor, time, values) one after the other."""
        rows = [np.concatenate([(line.place, t), x]) for line in self._lines.values() for t, x in line.fresh()]
        return np.concatenate([np.zeros(0), *rows])

    def checkpoint(self) -> dict[str, FloatArray]:
        """What later readings depend on beside the simulation: those that are not known yet, and the last that is."""
        saved: dict[str, FloatArray] = {}
        for line in self._lines.values():
            saved |= line.saved()
        return saved

    def restore(self, saved: dict[str, Any]) -> None:
        """Goes on from a checkpoint; one that is refused changes nothing."""
        if not isinstance(saved, dict):
            raise StateError(f"a checkpoint of sensors is what sensors.checkpoint() gives, not {shown(saved)}.")
        lines = list(self._lines.values())
        for line in lines:
            missing = [entry.name for entry in line.schema() if entry.name not in saved]
            if missing:
                raise StateError(f"this checkpoint lacks {', '.join(missing)}; {line.fault}")
        check(saved, lines, {}, {})
        for line in lines:
            line.restore(saved)
        self._taken_at = self.sim.steps_done

    def __repr__(self) -> str:
        return f"Sensors({', '.join(f'{name}: {line.sensor.KIND}' for name, line in self._lines.items())})"

    def _repr_html_(self) -> str:
        rows = [(name, f"{line.sensor.KIND} on {line.sensor.on}") for name, line in self._lines.items()]
        return html_table("Sensors", rows)


class _Line:
    """One sensor and its readings so far: a part of what the sensors of a simulation save (`simulation.parts.part`)."""

    def __init__(self, place: int, sensor: Sensor, sim: Any, seed: int):
        self.place, self.sensor, self._sim, self._seed = place, sensor, sim, seed
        channels = sensor.channels(*width_of(sensor, sim.model))
        self._read_of = [k for k, (name, _) in enumerate(channels) if sensor.only in ("", quantity(name))]
        self.channels = tuple(channels[k] for k in self._read_of)
        self._read = reading_of(sensor, sim.model, sim)
        width = len(self.channels)
        levels = np.atleast_1d(np.asarray(sensor.noise, dtype=float))
        wanted = 3 if isinstance(sensor, Orientation) else width
        if levels.size not in (1, wanted):
            raise StateError(f"sensor '{sensor.name}': noise has {levels.size} numbers; give one, or {wanted}.")
        self._noise = np.broadcast_to(levels, (wanted,)) if levels.any() else None
        self._block, self._drawn = -1, np.zeros((0, wanted))
        self._rows, self._reported_rows = f"sensor.{place}", f"sensor.{place}.told"  # in checkpoints
        self.reset()

    def reset(self) -> None:
        """Nothing was read yet."""
        self._times: list[float] = []
        self._values: list[FloatArray] = []
        self._reported = 0  # how many of the readings `fresh` has given

    def take(self, moment: Moment, k: int) -> None:
        value = np.array(self._read(moment), dtype=float)[self._read_of]
        if self._noise is not None:
            value = self._noisy(value, self._noise * self._draw(k))
        self._times.append(moment.time)
        self._values.append(value)

    def _draw(self, k: int) -> FloatArray:
        """Normal numbers of reading k."""
        if k // BLOCK != self._block:
            self._block = k // BLOCK
            rng = np.random.default_rng([self._seed, self.place, self._block])
            self._drawn = rng.normal(size=(BLOCK, self._drawn.shape[1]))
        return np.asarray(self._drawn[k % BLOCK])

    def _noisy(self, value: FloatArray, noise: FloatArray) -> FloatArray:
        if not isinstance(self.sensor, Orientation):
            value = value + noise
            if isinstance(self.sensor, Encoder) and self.sensor.resolution > 0.0:
                positions = sum(name.startswith("position") for name, _ in self.channels)
                step = self.sensor.resolution
                value[:positions] = step * np.round(value[:positions] / step)
            return value
        angle = float(np.linalg.norm(noise))
        turn = np.array([np.cos(0.5 * angle), *(0.5 * np.sinc(0.5 * angle / np.pi) * noise)])
        (w, x), (a, b) = (value[0], value[1:]), (turn[0], turn[1:])
        turned = np.array([w * a - x @ b, *(w * b + a * x + np.cross(x, b))])
        turned /= np.linalg.norm(turned)
        return turned if turned[0] >= 0.0 else -turned

    def known(self, now: float) -> FloatArray:
        place = self._known_place(now)
        return np.full(len(self.channels), np.nan) if place < 0 else self._values[place].copy()

    def _known_place(self, now: float) -> int:
        """Place of the newest reading that is old enough; -1 where none is."""
        slack = SLACK * max(abs(now), self.sensor.latency)
        for place in range(len(self._times) - 1, -1, -1):
            if self._times[place] + self.sensor.latency <= now + slack:
                return place
        return -1

    def samples(self) -> Samples:
        names, units = zip(*self.channels, strict=True)
        values = np.array(self._values).reshape(len(self._values), len(names))
        return Samples(self.sensor.name, np.array(self._times), values, names, units, float(self.sensor.latency))

    def fresh(self) -> list[tuple[float, FloatArray]]:
        """Readings since the last call."""
        new = list(zip(self._times[self._reported :], self._values[self._reported :], strict=True))
        self._reported = len(self._times)
        return new

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    @property
    def fault(self) -> str:
        return (
            f"the checkpoint does not fit sensor '{self.sensor.name}': it is damaged, or was made with other sensors; "
            "give the same."
        )

    def schema(self) -> tuple[Entry, ...]:
        return (
            Entry(self._rows, ("readings", 1 + len(self.channels))),
            Entry(self._reported_rows, (1,), least=0.0, finite=True),
        )

    def saved(self) -> dict[str, FloatArray]:
        """Readings that are still needed, shape (k, 1 + width): time and values; and how many of them were reported."""
        first = self._first_needed()
        rows = [np.concatenate([(t,), x]) for t, x in zip(self._times[first:], self._values[first:], strict=True)]
        return {
            self._rows: np.array(rows).reshape(len(rows), 1 + len(self.channels)),
            self._reported_rows: np.array([float(self._reported - first)]),
        }

    def _first_needed(self) -> int:
        """Place of the first reading that is still needed: the last that is known, or the first that was not reported."""
        return min(max(self._known_place(float(self._sim.time)), 0), self._reported)

    def fits(self, saved: Saved) -> bool:
        """Whether all readings have a time, and no more were reported than there are."""
        times, reported = saved[self._rows][:, 0], float(saved[self._reported_rows][0])
        return bool(np.isfinite(times).all()) and reported.is_integer() and reported <= times.size

    def restore(self, saved: Saved) -> None:
        rows = saved[self._rows]
        self._times, self._values = [float(row[0]) for row in rows], [row[1:].copy() for row in rows]
        self._reported = int(saved[self._reported_rows][0])
