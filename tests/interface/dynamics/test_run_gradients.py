"""What gradients of steps and runs refuse, and what they leave behind."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.derivatives.stepping.steps import STEPS

EULER = {"integrator": "semi_implicit_euler"}


@pytest.fixture
def chain():
    return lw.library.chain(4, joint=lw.Revolute((0, 1, 0), damping=0.1)).compile()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**EULER, "algorithm": "dense"}, "algorithm 'aba', not 'dense'"),
        ({"water": lw.Water()}, "steps in water"),
    ],
)
@pytest.mark.parametrize("call", [lw.linearize, lambda sim, h: lw.run_with_gradients(sim, h, 3)])
def test_simulations_without_gradients(chain, options, message, call):
    sim = lw.FullDynamics(chain, chain.neutral(), **options)
    with pytest.raises(lw.StateError, match=message):
        call(sim, 1e-3)


def test_an_integrator_without_gradients(chain, monkeypatch):
    monkeypatch.delitem(STEPS, "rk4")
    sim = lw.FullDynamics(chain, chain.neutral(), integrator="rk4")
    with pytest.raises(lw.StateError, match=r"steps by 'rk4' have no gradients; .*'semi_implicit_euler'"):
        lw.run_with_gradients(sim, 1e-3, 3)


def test_loops_and_other_things(chain):
    bars = lw.library.four_bar().compile()
    start = lw.close_loops(bars, bars.neutral())
    with pytest.raises(lw.StateError, match=r"has loops; gradients of adaptive runs are those of trees"):
        lw.run_with_gradients(lw.AdaptiveDynamics(bars, start), 1e-3, 3)
    alone, beside = (lw.FullDynamics(bars, start, **EULER, contact=x) for x in (None, lw.Contact()))
    assert np.allclose(lw.linearize(alone, 1e-3).A, lw.linearize(beside, 1e-3).A)  # nothing touches
    turning = lw.Linkage("turning")
    for name in "ab":
        turning.add_body(name, joint=lw.Spherical(), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    turning.add_loop(lw.Universal(), "a", "b", name="cross")
    model = turning.compile()
    run = lw.run_with_gradients(lw.FullDynamics(model, lw.close_loops(model, model.neutral())), 1e-3, 1)
    with pytest.raises(lw.StateError, match=r"'cross' is closed by a Universal joint, .* Cut the loop at another"):
        run.backward(q=np.ones(model.nv))
    geared = lw.Linkage("geared")
    for name in "ab":
        geared.add_body(name, joint=lw.Revolute((0, 0, 1)), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    geared.add_coupling("gear", {"a": 1.0, "b": -2.0})
    coupled = geared.compile()
    with pytest.raises(lw.StateError, match="does not know couplings"):
        lw.linearize(lw.FullDynamics(coupled, coupled.neutral()), 1e-3)
    for wrong in (lw.QuasiStatics(chain, chain.neutral()), None, chain):
        with pytest.raises(lw.StateError, match=r"those of lw\.FullDynamics and lw\.AdaptiveDynamics"):
            lw.run_with_gradients(wrong, 1e-3, 3)
    with pytest.raises(lw.StateError, match=r"those of lw\.FullDynamics"):
        lw.linearize(lw.AdaptiveDynamics(chain, chain.neutral()), 1e-3)


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
    advanced = lw.FullDynamics(chain, chain.state([0.1, 0.2, 0.3, 0.4]), **EULER)
    run = lw.run_with_gradients(sim, 1e-3, 20)
    advanced.advance(1e-3, 20)
    assert np.array_equal(sim.state.q, advanced.state.q)
    assert sim.time == pytest.approx(advanced.time)
    sim.advance(1e-3, 5)
    before, time = np.concatenate(sim.state), sim.time
    run.backward(q=np.ones(4))
    assert np.array_equal(np.concatenate(sim.state), before)
    assert sim.time == time


def test_a_run_that_fails_says_so(chain):
    sim = lw.FullDynamics(chain, chain.state(v=np.full(4, 1e160)), **EULER)
    with pytest.raises(lw.StateError, match="failed"):
        lw.run_with_gradients(sim, 1e-3, 3)


def test_the_default_settings_have_gradients():
    model = lw.library.chain(3).compile()
    sim = lw.FullDynamics(
        model, model.state([0.1, 0.2, 0.3])
    )  # "auto": nothing is lost here, so that means variational
    assert sim.integrator == "variational"
    run = sim.run(1e-3, 3, gradients=True)
    assert np.isfinite(run.backward(q=np.ones(3)).q).all()


def test_steps_made_in_parts_are_refused_on_the_way_back():
    """The tip of a whip cracks: the variational integrator halves such steps."""
    model = lw.library.chain(20).compile()
    sim = lw.FullDynamics(model, model.state(np.full(20, 0.1), np.linspace(0.0, 15.0, 20)))
    run = sim.run(5e-3, 40, gradients=True)
    with pytest.raises(lw.StateError, match=r"made in parts, .*Take shorter steps"):
        run.backward(q=np.ones(20))


def test_short_steps_from_rest_are_not_taken_for_steps_in_parts(chain):
    """They move coordinates of order one by 1e-11: of such displacements five digits are left."""
    sims = [lw.FullDynamics(chain, chain.state([3.0, -2.5, 2.8, -3.1]), **options) for options in ({}, EULER)]
    assert sims[0].integrator == "variational"
    found, plain = (sim.run(1e-6, 3, gradients=True).backward(v=np.ones(4)) for sim in sims)
    assert found.v == pytest.approx(plain.v, rel=3e-5)  # both to second order in damping, (1e-3)² a step


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
    sim.model = lw.library.chain(4).compile()
    with pytest.raises(lw.StateError, match="another model"):
        run.backward(q=np.ones(4))


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "variational"])
def test_forms_of_the_matrices_of_a_step(integrator, rng):
    """Dense, sparse and as operators, of two trees that move apart: the same numbers."""
    linkage = lw.Linkage("two")
    for tree in "ab":
        for i in range(3):
            joint, parent = lw.Revolute((0, 1, 0), damping=0.1), f"{tree}{i - 1}" if i else "world"
            linkage.add_body(f"{tree}{i}", parent, joint, lw.Pose((0.3, 0, 0)), lw.Inertia.box(1.0, (0.3, 0.1, 0.1)))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.random_state(rng, speed=0.5), integrator=integrator)
    before, h = np.concatenate(sim.state), 1e-3
    dense, sparse, operator = (lw.linearize(sim, h, form=form) for form in ("dense", "sparse", "operator"))
    assert np.array_equal(np.concatenate(sim.state), before)
    # Differences of variational steps, which are solved to 1e-12, over 1e-3: 1e-9; ten times that. Others: rounding.
    close = {"rtol": 1e-8, "atol": 1e-8} if integrator == "variational" else {"rtol": 1e-11, "atol": 1e-11}
    for whole, part, product in zip(dense, sparse, operator, strict=True):
        assert np.allclose(part.toarray(), whole, rtol=1e-11, atol=1e-11)
        assert part.nnz <= whole.size / 2
        x, w = rng.normal(size=whole.shape[1]), rng.normal(size=whole.shape[0])
        assert np.allclose(product @ x, whole @ x, **close)
        assert np.allclose(product.rmatvec(w), w @ whole, rtol=1e-11, atol=1e-11)
    assert np.array_equal(np.concatenate(sim.state), before)
    with pytest.raises(lw.StateError, match="there is no form 'full'; choose one of dense, sparse, operator"):
        lw.linearize(sim, h, form="full")


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "variational"])
def test_memory_is_bounded_by_the_option(chain, integrator):
    """What is kept, and what lies between two kept states, stays below it; gradients have the same bits."""
    found = []
    for memory in (1e6, 60e3, 45e3):
        sim = lw.FullDynamics(chain, chain.state([0.1, 0.2, 0.3, 0.4]), integrator=integrator)
        run = lw.run_with_gradients(sim, 1e-3, 400, memory=memory)
        kept = [sum(np.asarray(part).nbytes for part in state.values()) for state in run.kept_states]
        between = -(-400 // (len(kept) - 1)) * 8 * (chain.nq + chain.nv)
        assert sum(kept[:-1]) + between <= memory
        found.append((len(kept), run.backward(q=np.ones(4))))
    assert found[0][0] >= found[-1][0]
    for _, other in found[1:]:
        for one, two in zip(found[0][1], other, strict=True):
            assert np.array_equal(one, two)


def test_progress_is_shown_both_ways(chain, capfd):
    sim = lw.FullDynamics(chain, chain.neutral(), **EULER)
    run = lw.run_with_gradients(sim, 1e-3, 50, progress=True)
    assert "50/50" in capfd.readouterr().err
    run.backward(q=np.ones(4), progress=True)
    assert "backward" in capfd.readouterr().err
    run.backward(q=np.ones(4))
    assert capfd.readouterr().err == ""


def test_steps_that_end_in_other_bits_are_refused(chain):
    sim = lw.FullDynamics(chain, chain.state([0.1, 0.2, 0.3, 0.4]), **EULER)
    run = lw.run_with_gradients(sim, 1e-3, 9)
    last = run.kept_states[1]
    last["q"] = np.nextafter(last["q"], 1.0)
    with pytest.raises(lw.StateError, match="did not end in the same bits; make the run again"):
        run.backward(q=np.ones(4))


class Whole(lw.FullDynamics):
    pass


class Few(lw.AdaptiveDynamics):
    pass


@pytest.mark.parametrize(("kind", "derived"), [(lw.FullDynamics, Whole), (lw.AdaptiveDynamics, Few)])
def test_simulations_of_derived_classes_have_gradients(kind, derived):
    model = lw.library.chain(4).compile()
    by_q = np.arange(1.0, 5.0)
    found = [
        lw.run_with_gradients(one(model, model.neutral(), limits=False), 1e-3, 4).backward(q=by_q)
        for one in (kind, derived)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("kind", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_a_run_that_fails_leaves_the_efforts_of_the_simulation(kind):
    model = lw.library.chain(3).compile()
    sim = kind(model, model.neutral(), limits=False)
    sim.set_efforts([0.1, 0.2, 0.3])
    efforts = np.full((6, 3), 0.5)
    efforts[4] = 1e300
    with pytest.raises(lw.StateError):
        lw.run_with_gradients(sim, 1e-3, 6, efforts)
    assert sim.checkpoint()["effort"].tolist() == [0.1, 0.2, 0.3]
