"""Scenes that come with Linkwork, by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

from linkwork.core.checks import shown
from linkwork.core.messages.names import did_you_mean
from linkwork.errors import FormatError

FOLDER = Path(__file__).parent / "builtin"


def builtin_scenes() -> dict[str, Path]:
    """Files of the built-in scenes by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def scene_titles() -> dict[str, str]:
    """Titles of the built-in scenes by name."""
    return {
        name: str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))
        for name, path in builtin_scenes().items()
    }


def find_scene(scene: str | Path) -> Path:
    """The file of a scene: a path, or the name of a built-in scene."""
    try:
        path = Path(scene)
        if path.is_file():
            return path
    except (TypeError, ValueError):
        raise FormatError(f"a scene is a file or the name of a built-in scene, not {shown(scene)}.") from None
    except OSError as error:
        raise FormatError(f"{shown(scene)}: {error.strerror or error}.") from None
    known = builtin_scenes()
    name = str(scene).replace("-", "_")
    if name in known:
        return known[name]
    if path.is_dir():
        raise FormatError(f"{scene}: this is a folder; give a scene file, or the name of a built-in scene.")
    if path.suffix or len(path.parts) > 1:
        raise FormatError(f"{scene}: there is no such file (current directory: {Path.cwd()}).")
    hint = did_you_mean(name, known, 2) or "; `linkwork run --list` shows the built-in scenes."
    raise FormatError(f"'{scene}' is neither a file nor a built-in scene{hint}")
