"""A walking stick falls over: an IMU with noise, its latency, the force on the ground, in one picture."""

import numpy as np
from matplotlib.figure import Figure

import linkwork as lw

linkage = lw.Linkage("stick")
stick = lw.Inertia.box(0.6, (0.04, 0.04, 0.8))
linkage.add_body("stick", joint=lw.Free(), inertia=stick, shapes=[lw.Capsule(0.02, 0.76)])
linkage.add_frame("handle", "stick", lw.Pose((0, 0, 0.35)))
linkage.add_obstacle("floor", lw.Plane())
linkage.sensors += [
    lw.sensors.Imu("imu", "handle", noise=(*[0.05] * 3, *[0.3] * 3), latency=0.02, every=5),
    lw.sensors.Touch("ground", "stick"),
    lw.sensors.Range("height", "handle", direction=(0, 0, -1), reach=2.0),
]
model = linkage.compile()
q = model.neutral().q.copy()
q[2] = 0.4 + 1e-3
q[3:7] = (np.cos(0.05), np.sin(0.05), 0.0, 0.0)
sim = lw.FullDynamics(model, model.state(q), contact=lw.Contact(friction=0.6))
sensors = lw.Sensors(sim, seed=4)
sensors.step(1e-3, 2500)

imu, ground = sensors.history("imu"), sensors.history("ground")
rest = imu.values[imu.times > 2.3]
print(f"{len(imu.times)} readings of the IMU, known {1e3 * imu.latency:g} ms later")
print(f"at rest it feels {np.linalg.norm(rest[:, 3:].mean(axis=0)):.2f} m/s², the ground {ground.values[-1, 2]:.2f} N")
print(
    f"the hardest hit was {ground.values[:, 3].max():.0f} N, at t = {ground.times[ground.values[:, 3].argmax()]:.2f} s"
)

figure = Figure(figsize=(7, 6), layout="constrained")
axes = figure.subplots(3, 1, sharex=True)
for k, axis in enumerate("xyz"):
    axes[0].plot(imu.times, imu.values[:, k], label=f"gyro {axis} [rad/s]")
    axes[1].plot(imu.times, imu.values[:, 3 + k], label=f"accelerometer {axis} [m/s²]")
axes[2].plot(ground.times, ground.values[:, 3], label="pressing [N]")
for each in axes:
    each.legend(fontsize=7, loc="upper right")
axes[2].set_xlabel("time [s]")
figure.savefig("sensors.png", dpi=120)
