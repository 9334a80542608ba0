"""A simulation that runs while one looks at it, takes hold of it and changes it.

One thread owns the simulation: what pages ask for is put into a queue and done between two steps, so that nothing changes
in the middle of one. Time has one owner too: while a haptic session steps the simulation, the page draws what it does, and
refuses to step.
"""

from __future__ import annotations

import copy
import math
import queue
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from linkwork.core.checks import integer, shown
from linkwork.core.units import force, unit
from linkwork.errors import LinkworkError, StateError
from linkwork.haptics.session import Session, session_on
from linkwork.simulation.base import LinkageSimulation
from linkwork.viewer.controls.actions import Actions, Menu
from linkwork.viewer.controls.hand import Hand
from linkwork.viewer.controls.player import FRAME, PATIENCE, Player
from linkwork.viewer.controls.plots import Plots
from linkwork.viewer.controls.pointing import Sight, grabbed, pointed_at, sight
from linkwork.viewer.shapes.colors import by_activity
from linkwork.viewer.stage import Stage
from linkwork.viewer.tightness import Tightness

BUSY = 0.8  # of a frame that may go into steps
LIMITS = ("tolerance", "max_active_joints")  # of adaptive simulations, which sliders change
MOST_STEPS = 100_000  # in one frame


class Live(Player):
    """A page with a simulation that plays, pauses, steps and can be pulled at."""

    def __init__(self, server: Any, sim: Any, h: float):
        super().__init__(server)
        self.sim, self.h = sim, h
        self.units = getattr(sim, "units", {})
        self._first = (sim, sim.checkpoint())
        self._settings: dict[str, Any] = {name: getattr(inner(sim), name, None) for name in LIMITS}
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._step_time = 0.0  # [s] per step, lately
        self._owed = 0.0  # [s] of simulated time that is still to be stepped
        self.stage = Stage(server, sim.model, sim.state, again=lambda: self.do(self._show_again))
        self.hand = Hand(server.scene, self.stage.camera.size)
        self.plots: Plots
        self._add_controls()
        self.stage.add_bodies()
        self.actions, self.menu = Actions(self), Menu(self)
        self.stage.add_look(active_bodies(inner(sim)) is not None)
        self.tightness = Tightness(server.gui, sim.model, lambda: self.do(self._show))
        self.plots = Plots(server.gui, self.units)
        self._listen()
        self._show()
        self._thread.start()

    # ------------------------------------------------------------------------------------------------------------ controls

    def _add_controls(self) -> None:
        gui = self.server.gui
        self._add_play()
        row = gui.add_button_group("Step", ("1", "10", "Reset"))
        row.on_click(lambda event: self.do(self._move_on(row.value)))
        self._add_speed()
        size = gui.add_number(f"Time step [{'fs' if self.units else 'ms'}]", 1e3 * self.h, min=1e-6, step=0.01)
        size.on_update(lambda event: self._set_step(float(size.value)))
        self._add_sliders(gui)
        self._felt = gui.add_markdown("", visible=False)
        self._bar = gui.add_progress_bar(0.0, visible=False)

    def _move_on(self, what: str) -> Callable[[], None]:
        if what == "Reset":
            return self.reset
        return lambda: self.step(10 if what == "10" else 1)

    def _set_step(self, thousandths: float) -> None:
        if math.isfinite(thousandths) and thousandths > 0.0:
            self.h = 1e-3 * thousandths

    def _add_sliders(self, gui: Any) -> None:
        """Tolerance and number of joints, where the simulation has them."""
        if self._settings["tolerance"] is not None:
            first = math.log2(max(float(self._settings["tolerance"]), 2.0**-30))
            tolerance = gui.add_slider("Tolerance 2^", min(-30.0, first), max(10.0, first), 0.5, first)
            tolerance.on_update(lambda event: self.do(lambda: self._set("tolerance", 2.0 ** float(tolerance.value))))
        name = "max_active_joints"
        if hasattr(inner(self.sim), name):
            n = max(1, self.sim.model.n_bodies)
            first_count = n if self._settings[name] is None else min(n, int(self._settings[name]))
            joints = gui.add_slider("Active joints at most", 1, n, 1, max(1, first_count), disabled=n < 2)
            joints.on_update(lambda event: self.do(lambda: self._set(name, int(joints.value))))

    def _set(self, name: str, value: float) -> None:
        setattr(inner(self.sim), name, value)

    # ------------------------------------------------------------------------------------------------------- what one does

    def do(self, task: Callable[[], None]) -> None:
        """Has something done between two steps, by the thread that owns the simulation."""
        self._tasks.put(task)
        self._wake.set()

    def _clicked(self) -> None:
        self.do(self.toggle)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Between two steps, whoever makes them."""
        session = self._session()
        with self._lock, nullcontext() if session is None else session.lock:
            yield

    def _session(self) -> Session | None:
        sim = inner(self.sim)
        return session_on(sim) if isinstance(sim, LinkageSimulation) else None

    @property
    def _is_followed(self) -> bool:
        """Whether a haptic session steps the simulation now, which the page follows."""
        session = self._session()
        return session is not None and session.owns_time

    def _refuse_to_step(self) -> None:
        if self._is_followed:
            raise StateError("a haptic session steps this simulation; stop() it, or let it end, before the page does.")

    def play(self) -> None:
        self._refuse_to_step()
        self._owed = 0.0
        super().play()

    def step(self, n: int = 1) -> None:
        """n steps, now; pauses first."""
        n = integer(n, 1, "n")
        if n > MOST_STEPS:
            raise StateError(f"n is {shown(n)}; at most {MOST_STEPS:,} steps are made at a time.")
        self.pause()
        with self._alone():
            self._refuse_to_step()
            self._advance(n)
            self._show()

    def reset(self) -> None:
        """Back to where the page began: state, loads and pins; step, speed and tolerances stay as they are set."""
        self.pause()
        with self._alone():
            self._refuse_to_step()
            self.hand.release()
            self.menu.close()
            self.sim, saved = self._first
            sim = inner(self.sim)
            now = {name: getattr(sim, name, None) for name in self._settings}
            self.actions.forget(sim)
            try:
                for name, value in self._settings.items():
                    if hasattr(sim, name):
                        setattr(sim, name, value)
                self.sim.restore(saved)
            finally:
                for name, value in now.items():
                    if hasattr(sim, name):
                        setattr(sim, name, value)
            if self.stage.model is not self.sim.model:
                self.replace(self.sim)
            self.plots.clear()
            self._show()

    def replace(self, sim: Any) -> None:
        """Goes on with another simulation, of another model."""
        self.sim = sim
        self.menu.close()
        self.stage.show_model(sim.model, sim.state)
        self.stage.bodies.show_model(sim.model)
        self._listen()
        self._show()

    @contextmanager
    def hold(self) -> Iterator[Any]:
        """The simulation, held between two steps while the block runs: `with viewer.hold() as sim: ...`."""
        with self._alone():
            yield self.sim
            self._show()

    # -------------------------------------------------------------------------------------------------------------- mouse

    def _listen(self) -> None:
        """Clicks choose a body; drags pull at it, with the right button they open its menu, as a click with Ctrl does.

        Callbacks are coroutines so that they come in order.
        """
        drawing = self.stage.drawing

        async def clicked(event: Any) -> None:
            body = drawing.body_of(event.target, event.instance_index)
            self.do(lambda: self.stage.choose(body))

        async def dragged(event: Any) -> None:
            body = drawing.body_of(event.target, event.instance_index)
            place, target = np.array(event.start_position), np.array(event.end_position)
            known = np.isfinite(place).all() and np.isfinite(target).all()
            look = None if known else sight(event.client.camera, event.end_screen_pos)
            self.do(lambda: self.drag(event.phase, body, place, target, look))

        async def asked(event: Any) -> None:
            body = drawing.body_of(event.target, event.instance_index)
            self.do(lambda: self.menu.open(body))

        async def dragged_right(event: Any) -> None:
            body = drawing.body_of(event.target, event.instance_index)
            if event.phase == "start":
                self.do(lambda: self.menu.open(body))

        def listen(handle: Any) -> None:
            handle.on_click(clicked)
            handle.on_click(modifier="cmd/ctrl")(asked)
            handle.on_drag("left")(dragged)
            handle.on_drag("right")(dragged_right)

        drawing.listen(listen)

    def drag(self, phase: str, body: int, place: Any, target: Any, look: Sight | None = None) -> None:
        """One movement of the mouse: "start" grabs a body at `place` [m], "update" pulls to `target` [m], "end" lets go.

        look: the line of sight of the mouse, for pages without the places.
        """
        with self._alone():
            if phase == "start":
                self._refuse_to_step()
                self.stage.choose(body)
                poses = self.stage.poses
                at = grabbed(self.sim.model, body, poses, place, look) if body >= 0 else np.zeros(3)
                self.hand.grab(inner(self.sim), body, at, poses)
            if phase == "end":
                self.hand.release()
            else:
                self.hand.pull(pointed_at(target, look, self.hand.target))
                if not self.is_playing:
                    self.hand.feel()
            self._show()

    # --------------------------------------------------------------------------------------------------------------- loop

    def _rehearse(self) -> None:
        """Steps a copy with a hand on it: kernels that are not on disk yet are compiled before the first drag."""
        sim = inner(self.sim)
        if not isinstance(sim, LinkageSimulation) or sim.model.n_bodies == 0:
            return
        with suppress(LinkworkError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the simulation itself warns when it steps
            with self._alone():
                other, poses = copy.deepcopy(sim), self.stage.poses
            hand = Hand(self.server.scene, self.stage.camera.size)
            hand.grab(other, sim.model.n_bodies - 1, poses[-1, :3, 3], poses)
            hand.advance(other.advance, self.h, 1)
            hand.release()

    def _loop(self) -> None:
        self._rehearse()
        super()._loop()

    def _go_on(self, seconds: float) -> None:
        with self._alone():
            if self._is_followed:  # since `_between`
                return
            self._owed += self.speed * seconds
            n = min(int(self._owed / self.h), MOST_STEPS)
            if self._step_time > 0.0:  # what cannot be done in time is let go: the page says how fast it runs
                n = min(n, max(1, int(BUSY * FRAME / self._step_time)))
            if n > 0:
                self._owed = min(self._owed - n * self.h, self.h)
                self._advance(n)
                self._show()

    def _between(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                break
            try:
                with self._alone():
                    task()
            except LinkworkError as error:
                self.notify(str(error))
        self._rest = FRAME if self._is_followed else PATIENCE
        if self._is_followed:
            if self.is_playing:
                self.pause()
                self.notify("a haptic session steps this simulation now; the page follows it.")
            with self._alone():
                self.hand.release()
                self._show()

    def _advance(self, n: int) -> None:
        if self._step_time == 0.0:
            self.status.content = "the first step is under way; kernels that are not on disk yet are compiled for it"
            self.server.flush()
        began = time.perf_counter()
        try:
            self.hand.advance(self.sim.advance, self.h, n)
        except LinkworkError as error:
            self.pause()
            self.notify(str(error))
            return
        took = (time.perf_counter() - began) / n
        self._step_time = took if self._step_time == 0.0 else 0.8 * self._step_time + 0.2 * took

    def notify(self, message: str) -> None:
        """Shows a message on all pages."""
        for client in self.server.get_clients().values():
            client.add_notification("Linkwork", message, color="red")

    def _show_again(self) -> None:
        """Somebody looks from elsewhere; where it plays, the next picture is for them too."""
        if not self.is_playing:
            self._show()

    def _show(self) -> None:
        """Draws where the simulation is."""
        sim, stage = self.sim, self.stage
        active = active_bodies(inner(sim))
        tight = self.tightness.colors(sim.model, inner(sim).along) if hasattr(inner(sim), "along") else None
        if tight is not None:
            stage.paint(tight)
        elif active is not None:
            stage.paint(by_activity(sim.model, active))
        elif stage.colors is not stage.plain:
            stage.paint(stage.plain)
        assert stage.layers is not None
        stage.layers.hidden = self.hand.load  # the hand has an arrow of its own
        stage.drawing.is_frozen = self.hand.is_holding  # a node that goes would end the drag
        with self.server.atomic():  # the arrow moves with what it pulls
            stage.move(sim.state, inner(sim))
            self.hand.draw()
        self._felt.visible = self._bar.visible = self.hand.is_holding
        if self.hand.is_holding:
            pull, felt = float(np.linalg.norm(self.hand.force)), self.hand.felt
            self._felt.content = f"Pull: **{force(pull, self.units)}**, felt by the hand: {force(felt, self.units)}"
            self._bar.value = 100.0 * min(1.0, felt / self.hand.most)
        if hasattr(self, "plots"):
            self.plots.add(sim.time, {**sim.scalars(), "step_time": 1e6 * self._step_time})
            self.plots.draw(time.perf_counter())
        many = "" if active is None else f", {len(active):,} of {sim.model.n_bodies:,} joints active"
        pace = f", real-time factor {self._pace():.2g}" if self.is_playing and self._step_time > 0.0 else ""
        pace = ", by a haptic session" if self._is_followed else pace
        self.status.content = f"t = **{sim.time:.4g} {unit('s', self.units)}**, step {sim.steps_done:,}{many}{pace}"

    def _pace(self) -> float:
        """Simulated over real time: as asked for, or what the computer can do."""
        return min(self.speed, self.h / self._step_time)


def inner(sim: Any) -> Any:
    """The simulation itself, where a scene stands around it."""
    return sim.__dict__.get("sim", sim) if hasattr(sim, "__dict__") else sim


def active_bodies(sim: Any) -> Any:
    """Bodies that active (or computed) joints carry, shape (k,); None where all are."""
    if hasattr(sim, "active_bodies"):
        return sim.active_bodies
    if hasattr(sim, "computed_joints"):
        return np.array([sim.model.joint(name) for name in sim.computed_joints], dtype=np.int64)
    return None
