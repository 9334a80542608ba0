"""Learning environments with a random policy: one member, then many on all cores. Needs the extra `gym`."""

import gymnasium

import linkwork.envs

env = gymnasium.make("Linkwork/CableReach-v0")
env.action_space.seed(1)
total, steps = 0.0, 0
env.reset(seed=1)
while True:
    _, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total, steps = total + float(reward), steps + 1
    if terminated or truncated:
        break
print(f"{steps} random actions bring {total:.1f}; the cable's end is {info['distance']:.2f} m from its target")

many = gymnasium.make_vec("Linkwork/CatheterInsert-v0", num_envs=4)
many.action_space.seed(2)
many.reset(seed=2)
for _ in range(30):
    _, rewards, *_ = many.step(many.action_space.sample())
print(f"{many.num_envs} catheters, {len(linkwork.envs.TASKS)} tasks; last rewards {rewards.round(3).tolist()}")
many.close()
