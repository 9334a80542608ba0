"""What gradients of steps and runs refuse, and what they leave behind."""

import numpy as np
import pytest

import linkwork as lw

EULER = {"integrator": "semi_implicit_euler"}


@pytest.fixture
def chain():
    return lw.library.chain(4, joint=lw.Revolute((0, 1, 0), damping=0.1)).compile()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"integrator": "variational"}, "steps by 'variational' have no gradients yet; .*semi_implicit_euler"),
        ({"integrator": "implicit_midpoint"}, "steps by 'implicit_midpoint' have no gradients"),
        ({"integrator": "dormand_prince"}, "steps by 'dormand_prince' have no gradients"),
        ({**EULER, "algorithm": "dense"}, "algorithm 'aba', not 'dense'"),
        ({**EULER, "contact": lw.Contact()}, "contact or joint limits"),
    ],
)
@pytest.mark.parametrize("call", [lw.linearize, lambda sim, h: lw.run_with_gradients(sim, h, 3)])
def test_simulations_without_gradients(chain, options, message, call):
    sim = lw.FullDynamics(chain, chain.neutral(), **options)
    with pytest.raises(lw.StateError, match=message):
        call(sim, 1e-3)


def test_loops_and_other_things(chain):
    bars = lw.library.four_bar().compile()
    closed = lw.FullDynamics(bars, lw.close_loops(bars, bars.neutral()), **EULER)
    with pytest.raises(lw.StateError, match="has loops"):
        lw.linearize(closed, 1e-3)
    for wrong in (lw.AdaptiveDynamics(chain, chain.neutral()), None, chain):
        with pytest.raises(lw.StateError, match=r"those of lw\.FullDynamics"):
            lw.run_with_gradients(wrong, 1e-3, 3)


def test_bad_numbers(chain):
    sim = lw.FullDynamics(chain, chain.neutral(), **EULER)
    with pytest.raises(lw.StateError, match="steps is 0"):
        lw.run_with_gradients(sim, 1e-3, 0)
    with pytest.raises(lw.StateError, match="h is -1"):
        lw.run_with_gradients(sim, -1, 3)
    with pytest.raises(lw.StateError, match=r"efforts has shape \(2, 4\)"):
        lw.run_with_gradients(sim, 1e-3, 3, efforts=np.zeros((2, 4)))
    with pytest.raises(lw.StateError, match="memory is 100 bytes; a run of 3 steps keeps"):
        lw.run_with_gradients(sim, 1e-3, 3, memory=100)
    run = lw.run_with_gradients(sim, 1e-3, 3)
    with pytest.raises(lw.StateError, match=r"q\[1\] is nan"):
        run.backward(q=[0, np.nan, 0, 0])
    with pytest.raises(lw.StateError, match=r"v has shape \(3, 4\)"):
        run.backward(v=np.zeros((3, 4)))


def test_changed_simulations_are_refused(chain):
    sim = lw.FullDynamics(chain, chain.neutral(), **EULER)
    run = lw.run_with_gradients(sim, 1e-3, 3)
    load = sim.apply_wrench(2, force=(1, 0, 0))
    with pytest.raises(lw.StateError, match=r"other motors, loads or settings .*\(load_bodies|load_table"):
        run.backward(q=np.ones(4))
    sim.clear(load)
    run.backward(q=np.ones(4))


def test_the_simulation_stays_where_it_is(chain):
    sim = lw.FullDynamics(chain, chain.state([0.1, 0.2, 0.3, 0.4]), **EULER)
    twin = lw.FullDynamics(chain, chain.state([0.1, 0.2, 0.3, 0.4]), **EULER)
    run = lw.run_with_gradients(sim, 1e-3, 20)
    twin.advance(1e-3, 20)
    assert np.array_equal(sim.state.q, twin.state.q)
    assert sim.time == pytest.approx(twin.time)
    sim.advance(1e-3, 5)
    before, time = np.concatenate(sim.state), sim.time
    run.backward(q=np.ones(4))
    assert np.array_equal(np.concatenate(sim.state), before)
    assert sim.time == time


def test_a_run_that_fails_says_so(chain):
    sim = lw.FullDynamics(chain, chain.state(v=np.full(4, 1e160)), **EULER)
    with pytest.raises(lw.StateError, match="failed"):
        lw.run_with_gradients(sim, 1e-3, 3)


def test_the_default_integrator_is_named_where_it_has_no_gradients():
    model = lw.library.chain(3).compile()
    sim = lw.FullDynamics(model, model.neutral())  # "auto": nothing is lost here, so that means variational
    with pytest.raises(lw.StateError, match=r"steps by 'variational' .*integrator='semi_implicit_euler' or 'rk4'"):
        sim.run(1e-3, 3, gradients=True)


def test_run_with_gradients_by_the_keyword(chain, tmp_path):
    sims = [lw.FullDynamics(chain, chain.state([0.1, 0.2, 0.3, 0.4]), **EULER) for _ in range(2)]
    efforts = np.full((5, 4), 0.1)
    run = sims[0].run(1e-3, 5, gradients=True, efforts=efforts, memory=1e6, progress=False)
    other = lw.run_with_gradients(sims[1], 1e-3, 5, efforts)
    assert isinstance(run, lw.GradientRun)
    assert np.array_equal(run.backward(q=np.ones(4)).effort, other.backward(q=np.ones(4)).effort)
    with pytest.raises(lw.StateError, match="not record="):
        sims[0].run(1e-3, 5, gradients=True, record=tmp_path / "a.lw")
    with pytest.raises(lw.StateError, match="not on_step="):
        sims[0].run(1e-3, 5, gradients=True, on_step=print)
    with pytest.raises(lw.StateError, match="gradients"):
        sims[0].run(1e-3, 5, gradients="yes")


def test_another_model_is_refused(chain):
    sim = lw.FullDynamics(chain, chain.neutral(), **EULER)
    run = lw.run_with_gradients(sim, 1e-3, 3)
    run._sim = lw.FullDynamics(lw.library.chain(4).compile(), chain.neutral(), **EULER)
    with pytest.raises(lw.StateError, match="another model"):
        run.backward(q=np.ones(4))
