"""Scenes that come with Linkwork, by name."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from linkwork.errors import FormatError

FOLDER = Path(__file__).parent / "ready"


def ready_scenes() -> dict[str, Path]:
    """Files of the ready scenes by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def scene_titles() -> dict[str, str]:
    """Titles of the ready scenes by name."""
    return {
        name: str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))
        for name, path in ready_scenes().items()
    }


def find_scene(scene: str | Path) -> Path:
    """The file of a scene: a path, or the name of a ready scene."""
    path = Path(scene)
    if path.is_file():
        return path
    ready = ready_scenes()
    name = str(scene).replace("-", "_")
    if name in ready:
        return ready[name]
    if path.is_dir():
        raise FormatError(f"{scene}: this is a folder; give a scene file, or the name of a ready scene.")
    if path.suffix or len(path.parts) > 1:
        raise FormatError(f"{scene}: there is no such file (current directory: {Path.cwd()}).")
    close = difflib.get_close_matches(name, ready, n=2)
    hint = f"did you mean {' or '.join(close)}?" if close else "`linkwork run --list` shows the ready scenes."
    raise FormatError(f"'{scene}' is neither a file nor a ready scene; {hint}")
