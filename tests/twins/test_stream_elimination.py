"""The elimination for equilibria in a stream against the derivative of the unbalanced efforts, by differences."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.library import JOINT_KINDS
from linkwork.statics.balance import Balance
from linkwork.statics.loads import gather
from linkwork.statics.water import Stream

WAY = 1e-5  # [rad or m] differences to both sides: curvature WAY², rounding 1e-16 / WAY
KINDS = [kind for kind in JOINT_KINDS if kind != "fixed"]
WATERS = {
    "a profile": lw.Water(current=[[-5.0, 0.3, -0.4, 0.1], [5.0, 0.9, 0.5, 0.0]], surface=100.0),
    "one velocity": lw.Water(current=(0.7, -0.4, 0.2), surface=100.0),
}


def random_balance(seed):
    """A random tree with springs, bent far from rest, with loads of every kind, in a current that changes with height."""
    rng = np.random.default_rng(seed)
    linkage = lw.library.random_tree(12, seed, kinds=KINDS, options=True, floating=seed % 3 == 0)
    for body in list(linkage):
        linkage.edit_body(
            body.name, shapes=(lw.Capsule(0.05, 0.3, placement=lw.Pose((0.1, 0.0, 0.05), rpy=(0.3, 0.5, 0.0))),)
        )
    model = linkage.compile()
    q = model.integrate(model.neutral().q, rng.normal(size=model.nv))
    loads = lw.Loads(model)
    loads.apply_wrench("body_5", force=(3.0, -1.0, 2.0), torque=(0.5, 0.2, -0.1), at=(0.1, 0.2, 0.0))
    loads.apply_spring("body_9", target=(1.0, 0.0, 0.0), stiffness=20.0)
    acting = gather(model, rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6)), loads)
    return model, Balance(model, acting, q), rng


@pytest.mark.parametrize("water", WATERS)
@pytest.mark.parametrize("seed", range(12))
def test_the_elimination_inverts_the_derivative_of_unbalanced_efforts(seed, water):
    model, balance, rng = random_balance(seed)
    stream = Stream(model, WATERS[water], balance)
    stream.act()
    here = balance.place.q.copy()
    derivative = np.zeros((model.nv, model.nv))
    for k in range(model.nv):
        sides = []
        for sign in (1.0, -1.0):
            step = np.zeros(model.nv)
            step[k] = sign * WAY
            balance.set_trial(model.integrate(here, step))
            balance.accept()
            stream.act()
            sides.append(balance.r.copy())
        derivative[:, k] = (sides[0] - sides[1]) / (2.0 * WAY)
    balance.set_trial(here)
    balance.accept()
    stream.act()
    assert stream.eliminate(0.0) == -1
    x, r = np.zeros(model.nv), rng.normal(size=model.nv)
    stream.solve(r, x)
    back = -derivative @ x
    # One-sided differences of drag inside the elimination leave 1e-6 of its entries.
    assert np.abs(back - r).max() < 1e-4 * (np.abs(derivative) @ np.abs(x)).max()
