"""Scenes: from a file that says everything about a run to a recording of it.

`scene` reads and checks a file (`lines`, `settings`, `schema`, `checks`, `faults`), finds what it speaks of (`model`,
`state`, `targets`, `actions`, `signals`, `expression`) and builds a simulation (`method`, `simulation`, `walker`).
`run` runs it into a recording, `plots` draws that, `ready` knows the scenes that come with Linkwork.
"""

from linkwork.scene.run import run_scene
from linkwork.scene.scene import Scene

__all__ = ["Scene", "run_scene"]
