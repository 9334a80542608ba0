"""Contacts in recordings: what the simulation reported, frame by frame, in every bit; through kills, resumes and damage."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.program import main
from linkwork.record import layout
from linkwork.simulation.run import resume_run, run_simulation
from linkwork.viewer.playback import events_of

from ..helpers.contact_setups import G, chain

pytest.importorskip("zarr", reason="recordings need the extra record")

H, STEPS, EVERY = 1e-3, 240, 8
MODEL = chain(6).compile()


def simulation(kind="full", **more):
    """A chain that falls on a table, bounces and comes to lie."""
    start = MODEL.neutral()
    start.q[2] = 0.03
    start.q[8::2] = 0.2
    start.q[7::4], start.q[9::4] = 0.05, -0.05
    contact = lw.Contact(restitution=0.3)
    if kind == "full":
        return lw.FullDynamics(MODEL, start, contact=contact, **more)
    return lw.AdaptiveDynamics(MODEL, start, max_active_joints=3, contact=contact, **more)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in small chunks, so that every array has several; and what the simulation reported at its frames."""
    kept = layout.FRAME_ROWS, layout.CONTACT_ROWS
    layout.FRAME_ROWS, layout.CONTACT_ROWS = 4, 16
    try:
        path = tmp_path_factory.mktemp("contacts") / "run"
        reported = [()]
        run_simulation(
            simulation(), H, STEPS, record=path, every=EVERY, callback=lambda sim, report: reported.append(sim.contacts)
        )
    finally:
        layout.FRAME_ROWS, layout.CONTACT_ROWS = kept
    return path, reported


def test_frames_hold_what_the_simulation_listed(run):
    path, reported = run
    recording = lw.Recording(path)
    assert recording.has_contacts
    assert [recording.contacts(k) for k in range(len(recording))] == reported
    assert recording.contacts(-1) == reported[-1]
    assert len(reported[-1]) > 0
    assert {point.state for points in reported for point in points} >= {"apart", "sticking"}
    assert recording.check().is_whole
    with pytest.raises(lw.StateError, match="frame 99"):
        recording.contacts(99)


def test_the_table_has_a_row_per_contact(run, tmp_path, capsys):
    path, reported = run
    recording = lw.Recording(path)
    table = recording.contact_table()
    rows = [(k, point) for k, points in enumerate(reported) for point in points]
    assert table["frame"].tolist() == [k for k, _ in rows]
    assert table["time"].tolist() == recording.times[[k for k, _ in rows]].tolist()
    assert table["body"].tolist() == [point.body for _, point in rows]
    assert table["other"].tolist() == [point.other for _, point in rows]
    assert table["state"].tolist() == [point.state for _, point in rows]
    for k, axis in enumerate("xyz"):
        assert table[f"force.{axis}"].tolist() == [point.force[k] for _, point in rows]
        assert table[f"point.{axis}"].tolist() == [point.point[k] for _, point in rows]
    out = tmp_path / "contacts.csv"
    assert main(["export", str(path), "--contacts", "--out", str(out)]) == 0
    with out.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(table)
    assert [float(line["gap"]) for line in lines] == table["gap"].tolist()
    assert f"{len(rows)} contacts" in capsys.readouterr().out


def test_scalars_follow_contacts_and_the_energy_they_take(run):
    recording = lw.Recording(run[0])
    pressing = [sum(point.state != "apart" for point in points) for points in run[1]]
    assert recording.scalars["contacts"].tolist() == pressing
    lost = recording.scalars["contact_energy_lost"]
    assert (np.diff(lost) >= 0.0).all()
    # all that fell is lost at the end, and what impulses stop in each step of rest that gravity began in it
    fallen = recording.scalars["energy"][0] - recording.scalars["energy"][-1]
    held = 0.5 * float(MODEL.mass.sum()) * (G * H) ** 2 * EVERY * np.count_nonzero(pressing)
    # first order in h: a step more or less of the fall from 3 cm, 6 mm; a tenth of that is seen
    assert lost[-1] == pytest.approx(fallen + held, rel=0.2)
    assert recording.reports["contact.sweeps"][-1] >= 0.0


def test_events_are_pairs_that_meet_and_part(run):
    path, reported = run
    recording = lw.Recording(path)
    events = recording.contact_events()
    pairs = set()
    for k, points in enumerate(reported):
        for event in (event for event in events if event.frame == k):
            (pairs.add if event.touches else pairs.remove)((event.body, event.other))
        assert pairs == {(p.body, p.other) for p in points if np.dot(p.impulse, p.normal) > 0.0}
    first = next(event for event in events)
    assert (first.time, f"{first.body} touches {first.other}") in events_of(recording)


@pytest.mark.parametrize("integrator", ["variational", "rk4", "semi_implicit_euler"])
def test_a_bounce_within_a_step_is_an_event(integrator, tmp_path):
    """A ball that is far above the floor at the start and at the end of the step in which it bounces: it touches at the
    frame after that step, and parts at the next one."""
    linkage = lw.Linkage("ball", gravity=(0, 0, 0))
    linkage.add_obstacle("floor", lw.Plane())
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[2] = 0.3
    start = model.state(q, [0.0, 0.0, 0.0, 0.0, 0.0, -20.0])
    sim = lw.FullDynamics(model, start, contact=lw.Contact(friction=0.0, restitution=0.5), integrator=integrator)
    sim.run(0.05, 3, record=tmp_path / "run", every=1)
    recording = lw.Recording(tmp_path / "run")
    events = [(event.frame, event.body, event.other, event.touches) for event in recording.contact_events()]
    assert events == [(1, "ball", "floor", True), (2, "ball", "floor", False)]


@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_a_run_that_resumes_ends_in_the_same_bits(kind, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run_simulation(simulation(kind), H, STEPS, record=whole, every=EVERY)
    run_simulation(
        simulation(kind), H, STEPS, record=cut, every=EVERY, callback=lambda sim, report: sim.steps_done >= 96
    )
    assert 0 < len(lw.Recording(cut)) < len(lw.Recording(whole))
    resume_run(simulation(kind), cut)
    a, b = lw.Recording(whole), lw.Recording(cut)
    assert len(a) == len(b)
    for name, column in a.contact_table().items():
        assert column.tolist() == b.contact_table()[name].tolist()
    for k in range(len(a)):
        assert a.state(k).q.tobytes() == b.state(k).q.tobytes()


def test_frames_after_a_checkpoint_are_written_anew(tmp_path):
    """A run that is killed after frames that no checkpoint covers leaves more contacts than count."""
    path, whole = tmp_path / "run", tmp_path / "whole"
    run_simulation(simulation(), H, STEPS, record=whole, every=EVERY)

    class KilledError(Exception):
        pass

    def kill(sim, report):
        if sim.steps_done >= 160:
            raise KilledError

    with pytest.raises(KilledError):
        run_simulation(simulation(), H, STEPS, record=path, every=EVERY, callback=kill)  # the first checkpoint is at 0
    killed = lw.Recording(path)
    assert any(killed.contacts(k) for k in range(len(killed)))
    resume_run(simulation(), path)
    a, b = lw.Recording(whole), lw.Recording(path)
    assert [a.contacts(k) for k in range(len(a))] == [b.contacts(k) for k in range(len(b))]
    assert b.check().is_whole


def test_damage_is_reported(run, tmp_path):
    """Every file of the contacts, changed or gone: an error that names it, or the same numbers; states stay readable."""
    path, _ = run
    names = sorted(f.relative_to(path).as_posix() for f in path.rglob("*") if f.is_file())
    files = [name for name in names if name.startswith(("contacts/", "frames/contacts_end/"))]
    assert len(files) > 6
    truth, refused = lw.Recording(path).contact_table(), 0
    for number, file in enumerate(files):
        copy = shutil.copytree(path, tmp_path / f"copy_{number}")
        if number % 2:
            (copy / file).unlink()
        else:
            data = bytearray((copy / file).read_bytes())
            data[len(data) // 2] ^= 1
            (copy / file).write_bytes(data)
        try:
            table = lw.Recording(copy).contact_table()
        except lw.FormatError as error:
            assert "damaged" in str(error)  # noqa: PT017
        else:
            assert all(np.array_equal(table[name], column) for name, column in truth.items()), file
            continue
        refused += 1
        found = lw.Recording(copy).check()
        assert found.faults
        assert found.whole_frames == found.frames
    assert refused > len(files) - 5  # others are zeros that a missing file reads as, and blanks in descriptions


def test_without_contact_there_is_nothing_to_read(tmp_path):
    sim = lw.FullDynamics(MODEL, MODEL.neutral())
    sim.run(H, 4, record=tmp_path / "run", every=2)
    recording = lw.Recording(tmp_path / "run")
    assert not recording.has_contacts
    assert "contacts" not in recording.scalars
    for ask in (lambda: recording.contacts(0), recording.contact_table, recording.contact_events):
        with pytest.raises(lw.StateError, match="has no contacts"):
            ask()
