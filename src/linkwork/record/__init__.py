"""Recordings: what a run leaves behind, and what it needs to go on. Docs: docs/recordings.md."""

from linkwork.record.recorder import Recorder
from linkwork.record.recording import Recording

__all__ = ["Recorder", "Recording"]
