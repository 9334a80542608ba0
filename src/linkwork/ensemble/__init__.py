"""Sweeps: many runs of a scene or a function, on this machine or on a Dask cluster, in one table.

`axes` and `design` say which points are run, `keys` where their parameters go in a scene, `work` and `results` what one run
does and leaves, `engine` where runs are performed. `plan`, `journal` and `table` are the files of a sweep; `sweep` puts it
together, `pictures` draws it.
"""

from linkwork.ensemble.axes import Between, Normal
from linkwork.ensemble.sweep import Sweep, SweepInterrupted
from linkwork.ensemble.table import SweepTable
from linkwork.ensemble.work import SweepError

__all__ = ["Between", "Normal", "Sweep", "SweepError", "SweepInterrupted", "SweepTable"]
