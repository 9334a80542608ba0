"""Learning environments: what Gymnasium asks of them, and members that go as single ones do, on any number of threads."""

import numpy as np
import pytest

import linkwork as lw

gymnasium = pytest.importorskip("gymnasium")
envs = pytest.importorskip("linkwork.envs")


@pytest.mark.filterwarnings("ignore:.*Box observation space.*")
@pytest.mark.parametrize("name", envs.TASKS)
def test_gymnasium_finds_nothing_wrong(name):
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize(
    "task", [envs.SnakeCrawl, envs.CableReach, envs.CatheterInsert], ids=lambda task: task.__name__
)
def test_members_go_as_single_ones_do_for_any_number_of_threads(task):
    made = task()
    actions = np.random.default_rng(1).uniform(-1, 1, (12, 3, made.actions))
    seen = []
    for threads in (1, 3):
        many = envs.TaskVectorEnv(made, 3, max_episode_steps=8, threads=threads)
        first, _ = many.reset(seed=5)
        seen.append([first, *(many.step(action)[0] for action in actions)])
        many.close()
    np.testing.assert_array_equal(seen[0], seen[1])
    for k in range(3):
        env = envs.TaskEnv(made)
        alone = [made.reset(env.member, np.random.default_rng(5 + k))]
        alone += [env.step(action[k])[0] for action in actions[:8]]
        np.testing.assert_array_equal([row[k] for row in seen[0][:9]], alone)


def test_an_episode_that_is_cut_off_begins_anew_with_the_next_step():
    many = envs.TaskVectorEnv(envs.CableReach(), 2, max_episode_steps=3, threads=1)
    many.reset(seed=1)
    still = np.zeros((2, 2))
    cuts = [many.step(still)[3].tolist() for _ in range(8)]
    assert cuts == [
        [False] * 2,
        [False] * 2,
        [True] * 2,
        [False] * 2,
        [False] * 2,
        [False] * 2,
        [True] * 2,
        [False] * 2,
    ]
    assert all(member.sim.steps_done == 0 for member in many.members)  # the eighth step reset them


def test_a_cable_that_is_held_at_its_target_has_reached_it():
    env = envs.TaskEnv(envs.CableReach())
    env.reset(seed=3)
    env.member.sim.set_state(env.task.model.neutral())
    env.member.memory["target"] = np.array([0.0, 0.0, -1.0])
    env.member.memory["end"] = np.array([0.0, 0.0, -1.0])
    _, reward, terminated, truncated, info = env.step(np.zeros(2))
    assert terminated
    assert not truncated
    assert reward == pytest.approx(10.0 - info["distance"])


def test_strange_use_is_refused():
    with pytest.raises(lw.LinkworkError, match="draw nothing"):
        envs.TaskEnv(envs.CableReach(), render_mode="human")
    many = envs.TaskVectorEnv(envs.CableReach(), 2, threads=1)
    many.reset(seed=1)
    with pytest.raises(lw.StateError, match="actions have shape"):
        many.step(np.zeros((2, 3)))
