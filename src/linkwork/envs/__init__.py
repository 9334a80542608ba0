"""Learning environments for Gymnasium (the extra `gym`): a snake that crawls, a cable that reaches, a catheter.

    import gymnasium, linkwork.envs
    env = gymnasium.make("Linkwork/SnakeCrawl-v0")
    many = gymnasium.make_vec("Linkwork/SnakeCrawl-v0", num_envs=64)     # steps its members on all cores

Importing this registers them. A task of your own derives from `Task`; `TaskEnv(task)` and `TaskVectorEnv(task, 64)` are its
environments.
"""

from __future__ import annotations

from linkwork.errors import MissingExtraError

try:
    import gymnasium
except ImportError:
    raise MissingExtraError("environments need Gymnasium: pip install '.[gym]'") from None

from linkwork.envs.cable_reach import CableReach
from linkwork.envs.catheter_insert import CatheterInsert
from linkwork.envs.environments import TaskEnv, TaskVectorEnv
from linkwork.envs.snake_crawl import SnakeCrawl
from linkwork.envs.task import Task

TASKS: dict[str, tuple[type[Task], int]] = {  # and how many actions an episode has
    "Linkwork/SnakeCrawl-v0": (SnakeCrawl, 500),
    "Linkwork/CableReach-v0": (CableReach, 200),
    "Linkwork/CatheterInsert-v0": (CatheterInsert, 300),
}


def _register() -> None:
    for name, (task, length) in TASKS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="linkwork.envs.environments:make_env",
                vector_entry_point="linkwork.envs.environments:make_vector_env",
                max_episode_steps=length,
                kwargs={"task": task},
            )


_register()

__all__ = ["TASKS", "CableReach", "CatheterInsert", "SnakeCrawl", "Task", "TaskEnv", "TaskVectorEnv"]
