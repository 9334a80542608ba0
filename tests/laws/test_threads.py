"""Objects that several threads share give what they give to one: calls wait for each other."""

import copy
import inspect
import sys
import threading
import warnings

import numpy as np
import pytest
from tests.helpers import contact_setups

import linkwork as lw
from linkwork.core.turns import MARK, TakesTurns, turn_of

MODEL = lw.library.random_tree(40, seed=3).compile()
START = MODEL.random_state(1, speed=0.3)
SHAPED = contact_setups.chain(20).compile()
THREADS = 4


@pytest.fixture(autouse=True)
def impatient():
    """Python changes threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work):
    """work(k) in several threads at once; what they raise is raised here."""
    faults = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_blocks_of_one_response():
    response = lw.Response(MODEL, START)
    pairs = [(a, b) for a in range(0, 40, 7) for b in range(0, 40, 5)]
    alone = {pair: response.block(*pair).tobytes() for pair in pairs}
    wrong = []

    def ask(k):
        for i in np.random.default_rng(k).integers(len(pairs), size=1500).tolist():
            if response.block(*pairs[i]).tobytes() != alone[pairs[i]]:
                wrong.append(pairs[i])

    together(ask)
    assert not wrong


def test_one_collisions_object_for_many_threads():
    distances = lw.Collisions(SHAPED)
    states = [np.array([SHAPED.random_state(40 * k + i).q for i in range(40)]) for k in range(THREADS)]
    alone = [lw.Collisions(SHAPED).clearances(q).tobytes() for q in states]
    named = [lw.Collisions(SHAPED).clearance(lw.State(q[0], np.zeros(SHAPED.nv))) for q in states]

    def ask(k):
        for _ in range(30):
            assert distances.clearances(states[k]).tobytes() == alone[k]
            found = distances.clearance(lw.State(states[k][0], np.zeros(SHAPED.nv)))
            assert (found.distance, found.names) == (named[k].distance, named[k].names)

    together(ask)


SIMULATIONS = {
    "full": lambda: lw.FullDynamics(MODEL, START),
    "adaptive": lambda: lw.AdaptiveDynamics(MODEL, START, max_active_joints=9),
    "quasi-statics": lambda: lw.QuasiStatics(MODEL, MODEL.neutral(), tolerance=1e-3),
}


@pytest.mark.parametrize("name", SIMULATIONS)
def test_steps_of_one_simulation(name):
    """So many steps, whoever makes them."""
    alone, shared = SIMULATIONS[name](), SIMULATIONS[name]()
    for _ in range(10 * THREADS):
        alone.step(1e-4)
    together(lambda k: [shared.step(1e-4) for _ in range(10)])
    assert shared.steps_done == alone.steps_done
    assert b"".join(x.tobytes() for x in shared.state) == b"".join(x.tobytes() for x in alone.state)


@pytest.mark.parametrize("name", SIMULATIONS)
def test_loads_that_change_while_another_thread_steps(name):
    """Tables of loads grow and shrink; whatever a step finds is whole."""
    sim = SIMULATIONS[name]()
    motors = sim.motors

    def work(k):
        for i in range(25):
            if k == 0:
                sim.step(1e-5, 3)
                sim.checkpoint()
            elif k == 1:
                motors.stiffness = 1.0 + i
                motors.position = 0.01 * i
            else:
                held = [sim.apply_wrench(body, force=(0.0, 0.0, 1e-3), at=(0.1, 0.0, 0.0)) for body in range(20)]
                held.append(sim.apply_spring(k, (0.0, 0.0, 1.0), 1e-3))
                assert np.isfinite(sim.state.q).all()
                for load in held:
                    sim.clear(load)

    together(work)
    assert sim.steps_done == 75
    assert sim.loads == ()
    assert np.isfinite(sim.state.v).all()


@pytest.mark.parametrize("name", SIMULATIONS)
def test_copies_made_while_another_thread_changes_loads(name):
    """Handles and table of the copy are of one moment."""
    sim = SIMULATIONS[name]()

    def work(k):
        for _ in range(15):
            if k == 0:
                other = copy.deepcopy(sim)
                other.step(1e-5)
            else:
                sim.clear(sim.apply_wrench(k, force=(0.0, 0.0, 1e-3)))

    together(work)


def classes(base):
    for one in base.__subclasses__():
        yield one
        yield from classes(one)


@pytest.mark.parametrize("kind", sorted(set(classes(TakesTurns)), key=lambda kind: kind.__qualname__))
def test_every_public_member_takes_its_turn(kind):
    """What is added later, too."""
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in kind._AT_ANY_TIME:
            continue
        calls = [member] if inspect.isfunction(member) else []
        calls += [member.fget, member.fset] if isinstance(member, property) else []
        assert all(hasattr(call, MARK) for call in calls if call is not None), name


def test_a_second_thread_waits_and_the_same_one_does_not():
    sim, entered = lw.FullDynamics(MODEL, START), threading.Event()
    with turn_of(sim):
        other = threading.Thread(target=lambda: (sim.step(1e-4), entered.set()))
        other.start()
        sim.step(1e-4)
        assert not entered.wait(0.1)
        assert sim.steps_done == 1
    other.join()
    assert sim.steps_done == 2


def test_copies_have_locks_of_their_own():
    one = lw.Collisions(SHAPED)
    two = copy.deepcopy(one)
    assert turn_of(two) is not turn_of(one)
    q = SHAPED.neutral().q[None]
    assert two.clearances(q).tobytes() == one.clearances(q).tobytes()


def test_warnings_name_the_line_of_the_user():
    """However many calls lie between: of `advance` and of `step`."""
    linkage = lw.library.chain(3)
    model = linkage.compile()
    for move in ("advance", "step"):
        sim = lw.FullDynamics(model, model.neutral(), integrator="rk4", implicit_joints=False)
        sim.set_motor(model.joint_names[0], position=0.0, stiffness=1e9)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(sim, move)(1e-2)
        assert {warning.filename for warning in caught} == {__file__}
