"""Learning environments: what Gymnasium asks of them, and members that go as single ones do, on any number of threads."""

import numpy as np
import pytest

import linkwork as lw

gymnasium = pytest.importorskip("gymnasium")
envs = pytest.importorskip("linkwork.envs")

from gymnasium.vector import AutoresetMode  # noqa: E402

from linkwork.envs.cable_reach import DISTANCE, END, TARGET  # noqa: E402


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
        alone = [env.reset(seed=5 + k)[0]]
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
    assert all(sim.steps_done == 0 for sim in many.members.sims)  # the eighth step reset them


def assert_same_infos(mine, theirs):
    """Infos that Gymnasium gives of a member are given here as well."""
    for name in theirs:
        if name.startswith("_") or not np.any(theirs[f"_{name}"]):
            continue
        given = theirs[f"_{name}"]
        np.testing.assert_array_equal(mine[f"_{name}"], given)
        if isinstance(theirs[name], dict):
            assert_same_infos(mine[name], theirs[name])
        else:
            for k in np.flatnonzero(given):
                np.testing.assert_array_equal(mine[name][k], theirs[name][k])


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_episodes_end_and_begin_as_gymnasium_has_it(mode):
    """Beside its own vector environment of single ones, with a mask for resets where nobody else resets."""
    name, few = "Linkwork/CableReach-v0", {"num_envs": 3, "max_episode_steps": 4}
    mine = gymnasium.make_vec(name, autoreset_mode=mode, **few)
    theirs = gymnasium.make_vec(name, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **few)
    assert mine.metadata["autoreset_mode"] == mode
    np.testing.assert_array_equal(mine.reset(seed=[3, 1, 2])[0], theirs.reset(seed=[3, 1, 2])[0])
    rng = np.random.default_rng(0)
    for step in range(14):
        actions = rng.uniform(-1, 1, (3, 2))
        ours, other = mine.step(actions), theirs.step(actions)
        for a, b in zip(ours[:4], other[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert_same_infos(ours[4], other[4])
        ended = ours[2] | ours[3]
        if step == 1 or (mode is AutoresetMode.DISABLED and ended.any()):
            mask = ended if ended.any() else np.array([True, False, False])
            again = [env.reset(options={"reset_mask": mask.copy()})[0] for env in (mine, theirs)]
            np.testing.assert_array_equal(*again)
    mine.close()


def test_members_that_have_ended_are_not_stepped_where_nobody_resets_them():
    many = envs.TaskVectorEnv(envs.CableReach(), 2, 1, threads=1, autoreset_mode="Disabled")
    many.reset(seed=1)
    many.step(np.zeros((2, 2)))
    with pytest.raises(lw.StateError, match=r"members \[0, 1\] have ended"):
        many.step(np.zeros((2, 2)))


@pytest.mark.parametrize("seed", [[1, 2], [1, 2, 3, 4], "a", -1, 1.5, [1, "b", 2]])
def test_seeds_that_are_refused(seed):
    many = envs.TaskVectorEnv(envs.CableReach(), 3, threads=1)
    with pytest.raises(lw.StateError, match="seed"):
        many.reset(seed=seed)
    np.testing.assert_array_equal(many.reset(seed=np.int64(3))[0], many.reset(seed=[3, 4, 5])[0])


def test_a_cable_that_is_held_at_its_target_has_reached_it():
    env = envs.TaskEnv(envs.CableReach())
    env.reset(seed=3)
    env.sim.set_state(env.task.model.neutral())
    env.members.arrays.memory[0, TARGET:END] = 0.0, 0.0, -1.0
    env.members.arrays.memory[0, END:DISTANCE] = 0.0, 0.0, -1.0
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
    with pytest.raises(lw.StateError, match="finite"):
        many.step(np.array([[0.0, np.nan], [0.0, 0.0]]))
    with pytest.raises(lw.StateError, match="actions must be numbers"):
        many.step("forward")
    with pytest.raises(lw.LinkworkError, match="draw nothing"):
        gymnasium.make_vec("Linkwork/CableReach-v0", num_envs=2, render_mode="rgb_array")
    with pytest.raises(lw.StateError, match="give one of 'NextStep'"):
        envs.TaskVectorEnv(envs.CableReach(), 2, autoreset_mode="sometimes")
    for mask in (np.array([True]), np.zeros(2, dtype=bool), np.ones(2), "all"):
        with pytest.raises(lw.StateError, match="reset_mask"):
            many.reset(options={"reset_mask": mask})


class LookedAtInPython(envs.CableReach):
    """The same task with its look in plain Python."""

    compiled_look = None

    def look(self, q, v, memory, action, seen, is_first):
        end = lw.frame_poses(self.model, lw.State(q, v), "end")[:3, 3]
        rate = np.zeros(3) if is_first else (end - memory[END:DISTANCE]) / self.action_time
        left = memory[TARGET:END] - end
        memory[END:DISTANCE], memory[DISTANCE] = end, np.linalg.norm(left)
        seen[:] = np.concatenate([q, v, end, rate, left])
        there = memory[DISTANCE] < 0.02 and np.linalg.norm(rate) < 0.1
        return 10.0 * there - memory[DISTANCE], float(there)


def run_both(first, second, actions):
    """Observations, rewards and info of two tasks, the same actions asked for."""
    return [
        [many.reset(seed=1)[0], *(x for given in actions for x in many.step(given)[:2]), many.step(actions[0])[4]]
        for many in (envs.TaskVectorEnv(task, 2, threads=1) for task in (first, second))
    ]


def test_a_look_in_python_sees_what_the_compiled_one_sees():
    actions = np.random.default_rng(2).uniform(-1, 1, (5, 2, 2))
    plain, compiled = run_both(LookedAtInPython(), envs.CableReach(), actions)
    assert plain[-1].keys() == compiled[-1].keys() == {"distance", "_distance"}
    for a, b in zip(plain[:-1], compiled[:-1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)  # other sums of the same numbers, of size one


class Pushed(envs.Task):
    """A slider that is pushed, after a lag: drives that compiled code does not serve."""

    def __init__(self):
        linkage = lw.Linkage("slider", gravity=(0, 0, 0))
        linkage.add_body("cart", "world", lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(2.0, (1, 1, 1)))
        linkage.actuators.append(lw.Actuator("push", "cart", "effort", time_constant=0.05))
        super().__init__(linkage.compile(), np.array([-3.0]), np.array([3.0]), 2)

    def begin(self, rng, memory):
        return self.model.neutral()

    def look(self, q, v, memory, action, seen, is_first):
        seen[:] = q[0], v[0]
        return float(v[0]), 0.0


def test_drives_with_a_lag_push_as_they_do_outside_of_environments():
    task = Pushed()
    many = envs.TaskVectorEnv(task, 2, threads=2)
    many.reset(seed=1)
    seen = [many.step(np.array([[1.0], [-0.5]]))[0] for _ in range(4)][-1]
    for k, control in enumerate((3.0, -1.5)):
        sim = lw.FullDynamics(task.model, task.rest(), integrator="semi_implicit_euler")
        drives = lw.Actuators(sim)
        for _ in range(4):
            drives.control = control
            drives.step(task.h, task.steps)
        np.testing.assert_array_equal(seen[k], [*sim.state.q, *sim.state.v])
        assert abs(seen[k, 1]) > 0.01
    many.close()
