"""What adaptive steps cost against full ones, by counting joints: no clock, so that every run says the same."""

from __future__ import annotations

STEP_COST = 1.3  # of an active joint in a step, in joints of a full step
UPDATE_COST = (
    27.0  # of a joint computed in an update of the region, likewise; both from `linkwork bench adaptive_dynamics`
)
LEAST_STEPS = 100  # fewer say nothing


class Cost:
    """Sums over the steps of a simulation, in joints of a full step."""

    def __init__(self) -> None:
        self.steps, self.work, self.updates, self.computed, self.active = 0, 0.0, 0, 0.0, 0.0

    def add_steps(self, done: int, active: int) -> None:
        self.steps += done
        self.active += done * active
        self.work += STEP_COST * done * active

    def add_update(self, computed: int) -> None:
        self.updates += 1
        self.computed += computed
        self.work += UPDATE_COST * computed

    def advice(self, joints: int) -> str:
        """What to do where steps cost more than full ones of a model with so many joints; nothing where they do not."""
        if self.steps < LEAST_STEPS or self.work <= self.steps * joints:
            return ""
        times = self.work / (self.steps * max(1, joints))
        active, computed = self.active / self.steps, self.computed / max(1, self.updates)
        return (
            f"these adaptive steps cost about {times:.1f} times as much as full ones: {active:,.0f} of {joints:,} joints "
            f"were active on average, and each of {self.updates:,} updates computed {computed:,.0f}. A larger tolerance, "
            "fewer max_active_joints or a larger update_every would help; where most joints matter, FullDynamics is the "
            "faster one (docs/choosing.md)."
        )
