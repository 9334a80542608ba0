"""Settings `key=value`: the grammar of `linkwork run --set`, of `linkwork info NAME ...` and of `settings=`."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.core.checks import shown
from linkwork.errors import LinkworkError
from linkwork.scene.reading.lines import KeyPath

Settings = Mapping[str, Any] | Sequence[str] | str
WORD = re.compile(r"[\w./*?~:-]+")  # text that needs no quotes: names, patterns, paths


class Setting:
    """One override: where in the scene, and what. A value of None takes the key away."""

    def __init__(self, path: KeyPath, value: Any, words: str):
        self.path, self.value, self.words = path, value, words


def parse_setting(words: str, example: str = "method.tolerance=1e-4 or load.0.force=[0, 0, 1]") -> Setting:
    """`key=value`: the key dotted as in TOML (elements of lists by number), the value in TOML; nothing removes the key.

    example: of what would be right, for messages.
    """
    key, equals, value = words.partition("=")
    path = _key_path(key)
    if not equals or path is None:
        raise LinkworkError(f"--set {words}: write key=value, such as {example}.")
    return Setting(path, _value_of(value.strip(), words), words)


def _key_path(key: str) -> KeyPath | None:
    """The path of a dotted key, or None where it is anything else; TOML itself says which."""
    try:
        parsed: Any = tomllib.loads(f"{key.strip()} = 0")
    except tomllib.TOMLDecodeError:
        return None
    path: list[str | int] = []
    while isinstance(parsed, dict):
        if len(parsed) != 1:
            return None
        ((name, parsed),) = parsed.items()
        path.append(name)
    return tuple(path) if parsed == 0 else None  # a table header with a comment behind it is TOML too


def _value_of(text: str, words: str) -> Any:
    if not text:
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        if WORD.fullmatch(text):
            return text
        raise LinkworkError(f"--set {words}: the value is not TOML ({error}); put text into quotes.") from None


def as_settings(settings: Settings) -> list[Setting]:
    """Settings given as {"method.tolerance": 1e-4} or as words "method.tolerance=1e-4", one or several."""
    if isinstance(settings, str):
        return [parse_setting(settings)]
    if not isinstance(settings, Mapping):
        if not isinstance(settings, list | tuple):
            raise LinkworkError(f'settings is {shown(settings)}; give words "key=value", or a table {{"key": value}}.')
        strange = [words for words in settings if not isinstance(words, str)]
        if strange:
            raise LinkworkError(f'settings has {strange[0]!r}; give words "key=value", or a table {{"key": value}}.')
        return [parse_setting(words) for words in settings]
    made = []
    for key, value in settings.items():
        setting = parse_setting(f"{key}=")
        made.append(Setting(setting.path, value, f"{key}={value}"))
    return made


def override(data: Mapping[str, Any], settings: Sequence[Setting]) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    """The scene with the settings in it, and by path the words that set it."""
    result: dict[str, Any] = copy.deepcopy(dict(data))
    words: dict[KeyPath, str] = {}
    for setting in settings:
        path = _put(result, setting)
        words[path] = setting.words
    return result, words


def _put(data: dict[str, Any], setting: Setting) -> KeyPath:
    """Sets one value; returns its path with numbers where lists are."""
    at: Any = data
    path: list[str | int] = []
    for k, name in enumerate(setting.path):
        last = k == len(setting.path) - 1
        if isinstance(at, list):
            if not (str(name).isdigit() and int(name) <= len(at) - (0 if last else 1)):
                raise LinkworkError(
                    f"--set {setting.words}: '{name}' is not an element of {'.'.join(map(str, path))}, which has "
                    f"{len(at)}; elements count from 0."
                )
            key: str | int = int(name)
        else:
            key = name
        path.append(key)
        if last:
            _assign(at, key, setting.value)
        else:
            if isinstance(at, dict):
                at.setdefault(key, {})
            at = at[key]
            if not isinstance(at, dict | list):
                raise LinkworkError(
                    f"--set {setting.words}: {'.'.join(map(str, path))} is a value, not a table; nothing is below it."
                )
    return tuple(path)


def _assign(at: Any, key: Any, value: Any) -> None:
    if value is None:
        if isinstance(at, list):
            del at[key : key + 1]
        else:
            at.pop(key, None)
    elif isinstance(at, list) and key == len(at):
        at.append(value)
    else:
        at[key] = value
