"""What benchmarks share: fair timing, reports with verdicts, the environment, pages that a run fills in, other engines."""

from .cores import as_they_come, on_cores
from .environment import cpu_model, environment, resident_bytes
from .page import fill_in, fill_in_judged
from .report import BUSY, Report, Requirement, TableReport
from .timing import SAMPLE_TIME, Timing, duration, progress, take_turns

__all__ = [
    "BUSY",
    "SAMPLE_TIME",
    "Report",
    "Requirement",
    "TableReport",
    "Timing",
    "as_they_come",
    "cpu_model",
    "duration",
    "environment",
    "fill_in",
    "fill_in_judged",
    "on_cores",
    "progress",
    "resident_bytes",
    "take_turns",
]
