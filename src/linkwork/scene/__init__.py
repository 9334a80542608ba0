"""Scenes: from a file that says everything about a run to a recording of it.

`scene` reads and checks a file (`lines`, `settings`, `schema`, `keys`, `checks`, `faults`), finds what it names (`model`,
`state`, `targets`, `actions`, `signals`, `expression`) and builds a simulation (`methods/`, `simulation`).
`run` runs it into a recording, `plots/` draws that, `builtin_scenes` finds those that come with Linkwork, in `builtin/`.
"""

from linkwork.scene.run import run_scene
from linkwork.scene.scene import Scene

__all__ = ["Scene", "run_scene"]
