"""Another program's configuration as plain nested data, from whatever a person has at hand.

    read_foreign("actor.yaml")                             a file of YAML or JSON
    read_foreign('{"loss_type": "dapo"}')                  JSON or YAML text
    read_foreign("actor.clip_ratio=0.2 algorithm.lam=1")   words as a command line takes them

Numbers are read as strop's own files are: 1e-6 is one. null is None here, since the other program may mean something.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import yaml

from strop.config.reader import Loader
from strop.errors import ConfigError
from strop.names import did_you_mean, nearest

TEXT_MARKS = ("{", ":", "=", "\n")
"""What a text has that is a configuration, and the name of a file seldom."""


def read_foreign(source: str) -> dict[str, Any]:
    """The settings in a file, in a text, or in `key=value` words; ConfigError in one line where there are none."""
    text, name = _text_of(source)
    words = [word for word in text.split() if word != "\\"]
    if words and not text.lstrip().startswith("{") and all("=" in word and ":" not in word for word in words):
        pairs = (word.lstrip("+").partition("=") for word in words)
        return {key: _parsed(value, name) for key, _, value in pairs}
    found = _parsed(text, name)
    if not isinstance(found, dict):
        raise ConfigError(f"{name} is no configuration: give a file, or text such as {{key: value}}")
    return {str(key): value for key, value in cast("dict[Any, Any]", found).items()}


def _text_of(source: str) -> tuple[str, str]:
    """The text that is meant, and what to call it in an error."""
    path = Path(source).expanduser()
    if not _is_file(path):
        if any(mark in source for mark in TEXT_MARKS):
            return source, "the text given"
        names = (entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else ()
        raise ConfigError(f"there is no file {source}{did_you_mean(nearest(path.name, names))}")
    try:
        return path.read_text(encoding="utf-8"), source
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not UTF-8 text, at byte {error.start}") from error
    except OSError as error:
        raise ConfigError(f"{source}: cannot be read: {error.strerror}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text too long for a name, or with a NUL in it
        return False


def _parsed(text: str, name: str) -> Any:
    try:
        return Loader(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{name}{line}: {error.problem or 'neither YAML nor JSON'}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{name}: neither YAML nor JSON") from error
