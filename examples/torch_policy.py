"""A policy in PyTorch learns to reach with a cable: its gradient goes through every step of the simulation.

Eight links hang down; a network drives the first three joints, the others are springs. It sees the joints and a target, and
is to bring the tip there and hold it. Needs the extra `torch`.
"""

import sys

try:
    import torch
except ImportError:
    print("PyTorch is not installed: pip install '.[torch]'")
    sys.exit(0)

import linkwork as lw
import linkwork.torch as lwt

JOINTS, DRIVEN, LINK, H, STEPS, ROUNDS = 8, 3, 0.1, 0.01, 60, 60
STRONGEST = 3.0  # [N·m]

linkage = lw.Linkage("cable")
inertia = lw.Inertia.box(0.05, (0.02, 0.02, LINK)).at(lw.Pose((0, 0, -LINK / 2)))
for i in range(JOINTS):
    parent, place = (f"link_{i - 1}", lw.Pose((0, 0, -LINK))) if i else ("world", lw.Pose())
    linkage.add_body(f"link_{i}", parent, lw.Revolute((0, -1, 0), stiffness=0.5, damping=0.05), place, inertia)
model = linkage.compile()
sim = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
policy = torch.nn.Sequential(torch.nn.Linear(2 * JOINTS + 2, 32), torch.nn.Tanh(), torch.nn.Linear(32, DRIVEN))
targets = torch.tensor([[0.35, -0.65], [-0.35, -0.65], [0.2, -0.72], [-0.25, -0.7]])  # x and z [m]


def tip(q: torch.Tensor) -> torch.Tensor:
    angle = torch.cumsum(q, dim=-1)
    return LINK * torch.stack([torch.sin(angle).sum(-1), -torch.cos(angle).sum(-1)], dim=-1)


def misses(target: torch.Tensor) -> torch.Tensor:
    """Distances of the tip from the target in the last ten steps [m]."""
    q, v = torch.zeros(JOINTS), torch.zeros(JOINTS)
    found = []
    for step in range(STEPS):
        wish = STRONGEST * torch.tanh(policy(torch.cat([q, 0.1 * v, target])))
        q, v = lwt.step(sim, H, q, v, torch.cat([wish, torch.zeros(JOINTS - DRIVEN)]))
        if step >= STEPS - 10:
            found.append(torch.linalg.norm(tip(q) - target))
    return torch.stack(found)


optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
history = []
for k in range(ROUNDS):
    optimizer.zero_grad()
    loss = torch.stack([(misses(target) ** 2).mean() for target in targets]).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    history.append(float(loss.detach()) ** 0.5)
    if k % 10 == 0:
        print(f"round {k:3d}: the tip misses by {history[-1] * 1e3:6.1f} mm (root of mean square)")
print(f"round {ROUNDS}: the tip misses by {min(history) * 1e3:6.1f} mm at best")
assert min(history) < 0.3 * history[0]
