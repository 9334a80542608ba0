"""A recording as tables of pandas and xarray, with names and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.extras import needed
from linkwork.core.units import unit
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.record.layout import scalar_unit

if TYPE_CHECKING:
    from linkwork.record.recording import Recording


def coordinate_names(model: Model) -> tuple[list[str], list[str]]:
    """A name for every entry of q and of v: that of the joint, with a number where it has several."""
    q: list[str] = []
    v: list[str] = []
    for i, name in enumerate(model.joint_names):
        for names, part in ((q, model.q_slice(i)), (v, model.v_slice(i))):
            size = part.stop - part.start
            names += [name] if size == 1 else [f"{name}.{k}" for k in range(size)]
    return q, v


def coordinate_units(model: Model) -> tuple[list[str], list[str]]:
    """The unit of every entry of q and of v."""
    q: list[str] = []
    v: list[str] = []
    for joint in model.joints:
        if joint.kind in (layout.FREE, layout.SPHERICAL):  # a position, where it has one, and a quaternion
            q += ["m"] * (joint.nq - 4) + ["1"] * 4
            v += ["rad/s"] * 3 + ["m/s"] * (joint.nv - 3)
            continue
        turns = [any(screw.axis) for screw in joint.screws]
        q += ["rad" if turn else "m" for turn in turns]
        v += ["rad/s" if turn else "m/s" for turn in turns]
    return q, v


def states_of(recording: Recording) -> tuple[FloatArray, FloatArray]:
    """Coordinates (frames, nq) and velocities (frames, nv)."""
    model = recording.model
    both = recording.coordinates(range(model.nq + model.nv))
    return both[:, : model.nq], both[:, model.nq :]


def to_pandas(recording: Recording) -> Any:
    """One row per frame by time; columns ("q", joint), ("v", joint), ("scalar", name).

    Units stand in `frame.attrs["units"]`, by column, and by name for scalars and "time".
    """
    pandas = needed("pandas", "this table needs pandas: pip install pandas")
    q, v = states_of(recording)
    q_names, v_names = coordinate_names(recording.model)
    columns: dict[tuple[str, str], FloatArray] = {("q", name): q[:, k] for k, name in enumerate(q_names)}
    columns |= {("v", name): v[:, k] for k, name in enumerate(v_names)}
    columns |= {("scalar", name): values for name, values in recording.scalars.items()}
    index = pandas.Index(recording.times, name="time")
    named = pandas.MultiIndex.from_tuples(list(columns), names=["kind", "name"])
    table = pandas.DataFrame(np.column_stack(list(columns.values())), index=index, columns=named)
    of_scalars = {name: scalar_unit(name, recording.settings) for name in recording.scalars}
    own = [unit(si, recording.units) for some in coordinate_units(recording.model) for si in some]
    by_column = dict(zip(columns, [*own, *of_scalars.values()], strict=True))
    table.attrs["units"] = {"time": unit("s", recording.units)} | of_scalars | by_column
    return table


def to_xarray(recording: Recording) -> Any:
    """A Dataset: q (time, coordinate), v (time, velocity), every scalar (time), every sensor (its time, channel); units in
    attributes, those of single coordinates, velocities and channels in `coordinate.unit`, `velocity.unit`, `<sensor>.unit`.
    """
    xarray = needed("xarray", "this table needs xarray: pip install xarray")
    q, v = states_of(recording)
    q_names, v_names = coordinate_names(recording.model)
    data: dict[str, Any] = {
        "q": (("time", "coordinate"), q, {"units": unit("rad or m", recording.units)}),
        "v": (("time", "velocity"), v, {"units": unit("rad/s or m/s", recording.units)}),
    }
    for name, values in recording.scalars.items():
        data[name] = ("time", values, {"units": scalar_unit(name, recording.settings)})
    labels: dict[str, Any] = {
        "time": ("time", recording.times, {"units": unit("s", recording.units)}), "coordinate": q_names, "velocity": v_names
    }  # fmt: skip
    of_q, of_v = ([unit(si, recording.units) for si in some] for some in coordinate_units(recording.model))
    labels |= {"coordinate.unit": ("coordinate", of_q), "velocity.unit": ("velocity", of_v)}
    for name in recording.sensors:
        found = recording.sensor(name)
        about = {"units": ", ".join(found.units), "latency": found.latency}
        data[name] = ((f"{name}.time", f"{name}.channel"), found.values, about)
        labels |= {f"{name}.time": found.times, f"{name}.channel": list(found.channels)}
        labels[f"{name}.unit"] = (f"{name}.channel", list(found.units))
    return xarray.Dataset(data, labels, {"model": recording.model.name})
