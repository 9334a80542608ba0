"""A helix of twelve alanines is pulled open at 300 K: force of the spring and hydrogen bonds that are left.

Needs the extra `proteins`.
"""

import numpy as np

import linkwork as lw
from linkwork.full.kick_drift_kick import kick_drift_kick
from linkwork.molecules.thermal.accelerating import FieldAcceleration

STIFFNESS, SPEED, H = 500.0, 0.4, 4e-3  # [kJ/mol/nm²], [nm/ps], [ps]

mol = lw.molecules.peptide("A" * 12, helix=True, relax=True, seed=1)
print(mol)
print(mol.report)
first, last = mol.atom("A:0:CH3"), mol.atom("A:13:C")
start = mol.reference[[first, last]]
along = (start[1] - start[0]) / np.linalg.norm(start[1] - start[0])
anchors = start.copy()


def springs(poses):
    """Wrenches of two springs that hold the ends, shape (n, 6)."""
    out = np.zeros((mol.model.n_bodies, 6))
    for atom, anchor in zip((first, last), anchors, strict=True):
        body, at = mol.tree.body[atom], mol.tree.local[atom]
        R = poses[body, :9].reshape(3, 3)
        f = R.T @ (STIFFNESS * (anchor - R @ at - poses[body, 9:]))
        out[body] += np.concatenate([np.cross(at, f), f])
    return out


acceleration = FieldAcceleration(mol.model, mol.field(), springs)
thermostat = lw.Langevin(300.0, friction=5.0, seed=1).start(mol.model)
state = lw.State(mol.state.q, thermostat.thermal_velocity(mol.state.q))
states = []
print("\n  t [ps]  distance [nm]  force [pN]  helix")
for k in range(1500):
    if k % 250 == 0:
        x = mol.positions(state)[[first, last]]
        force = lw.molecules.FORCE_IN_PN * STIFFNESS * (anchors[1] - x[1]) @ along
        content = lw.molecules.helix_content(mol, state)
        print(f"{k * H:8.1f}  {np.linalg.norm(x[1] - x[0]):13.2f}  {force:10.0f}  {content:5.0%}")
        states.append(state)
    state = thermostat.relax_velocity(kick_drift_kick(mol.model, state, H, acceleration).state, H)
    anchors[1] += SPEED * H * along
    acceleration.forget()
mol.write("helix_pull.pdb", states)
print("\nsix frames are in helix_pull.pdb")
