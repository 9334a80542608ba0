"""A helix of twelve alanines is pulled open at 300 K: force of the spring and hydrogen bonds that are left.

Needs the extra `proteins`.
"""

import numpy as np

import linkwork as lw

STIFFNESS, SPEED, H = 500.0, 0.4, 4e-3  # [kJ/mol/nm²], [nm/ps], [ps]

mol = lw.molecules.peptide("A" * 12, helix=True, relax=True, seed=1)
print(mol)
print(mol.report)
first, last = mol.atom("A:0:CH3"), mol.atom("A:13:C")
start = mol.reference[[first, last]]
along = (start[1] - start[0]) / np.linalg.norm(start[1] - start[0])

thermostat = lw.Langevin(300.0, friction=5.0, seed=1)
sim = lw.FullDynamics(mol.model, mol.state, field=mol.field(), integrator="kick_drift_kick", thermostat=thermostat)
sim.apply_spring("A:0:CH3", target=start[0], stiffness=STIFFNESS)
pull = sim.apply_spring("A:13:C", target=start[1], stiffness=STIFFNESS)

states = []
print("\n  t [ps]  distance [nm]  force [pN]  helix  T [K]")
for k in range(1500):
    target = start[1] + SPEED * H * k * along
    sim.move_target(pull, target)
    if k % 250 == 0:
        x = mol.positions(sim.state)[[first, last]]
        force = lw.molecules.FORCE_IN_PN * STIFFNESS * (target - x[1]) @ along
        content, warmth = lw.molecules.helix_content(mol, sim.state), sim.scalars()["temperature"]
        print(f"{sim.time:8.1f}  {np.linalg.norm(x[1] - x[0]):13.2f}  {force:10.0f}  {content:5.0%}  {warmth:5.0f}")
        states.append(sim.state)
    sim.advance(H)
mol.write("helix_pull.pdb", states)
print("\nsix frames are in helix_pull.pdb")
