"""Text to settings: YAML files, dotted flags and Python mappings become {key path: Setting}, each with its source.

Scalars follow YAML 1.2, not PyYAML's 1.1: 1e-6 is a number, 12:30, 2026-01-01, yes and on are text, 010 is ten. None
and null are no values. A key given twice, an alias and a tag are errors: a configuration is data, and says each thing
once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from strop.config.nearest import unknown_key
from strop.config.schema import LEAVES, SECTIONS, TEXT_LEAVES
from strop.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that somebody gave, and where: "file PATH:LINE", "flag", "python" or the name of a model."""

    value: Any
    source: str


Settings = dict[str, Setting]


class Loader(yaml.SafeLoader):
    """A safe loader with the scalars of YAML 1.2, without aliases, and with each key once."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not read", problem_mark=self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: dict[str, int] = {}
        for key_node, _ in node.value:
            if str(key_node.value) in seen:
                problem = f"{key_node.value} is given twice, first in line {seen[str(key_node.value)]}"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            seen[str(key_node.value)] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep=deep)


def _int(loader: Loader, node: Any) -> int:
    text = node.value.replace("+", "")
    return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))


def _float(loader: Loader, node: Any) -> float:
    return float(node.value.replace(".inf", "inf").replace(".nan", "nan"))


SCALARS = (
    ("null", r"~|null|Null|NULL|None|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", "-+.0123456789"),
)
for _name, _pattern, _first in SCALARS:
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), [*_first])
Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])
Loader.add_constructor("tag:yaml.org,2002:int", _int)
Loader.add_constructor("tag:yaml.org,2002:float", _float)


def read_file(path: Path) -> Settings:
    """The settings of a YAML file, each with its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text, at byte {error.start}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return read_text(text, name=str(path))


def read_text(text: str, *, name: str) -> Settings:
    """The settings of YAML text; `name` stands for the file in sources and errors."""
    found: Settings = {}
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if node is not None:
            _collect(loader, node, "", name, found)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{name}{line}: {error.problem or 'not YAML'}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{name}: not YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deep to be a configuration") from error
    return found


def _collect(loader: Loader, node: Any, prefix: str, name: str, found: Settings) -> None:
    if not isinstance(node, yaml.MappingNode):
        what = f"{prefix[:-1]} is a section" if prefix else "a configuration is a list of keys"
        raise ConfigError(f"{name}:{node.start_mark.line + 1}: {what}: write `key: value` lines")
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        key = prefix + str(key_node.value)
        where = f"{name}:{key_node.start_mark.line + 1}"
        if key in lines or key in found:
            first = lines[key] if key in lines else found[key].source.rpartition(":")[2]
            raise ConfigError(f"{where}: {key} is given twice, first in line {first}")
        lines[key] = key_node.start_mark.line + 1
        if key in SECTIONS:
            _collect(loader, value_node, f"{key}.", name, found)
        elif key in LEAVES:
            found[key] = Setting(loader.construct_object(value_node, deep=True), f"file {where}")
        else:
            raise ConfigError(f"{where}: {unknown_key(key)}")


def read_mapping(values: Mapping[str, Any], *, source: str = "python", prefix: str = "") -> Settings:
    """The settings of a Python mapping: nested, dotted ("rollout.prompts"), or both."""
    found: Settings = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        inner: Settings = {}
        if key in LEAVES:
            inner = {key: Setting(os.fspath(value) if isinstance(value, os.PathLike) else value, source)}
        elif key not in SECTIONS:
            raise ConfigError(unknown_key(key))
        elif not isinstance(value, Mapping):
            raise ConfigError(f"{key} is a section: give it a mapping, such as {{'{_first_leaf(key)}': ...}}")
        else:
            inner = read_mapping(value, source=source, prefix=f"{key}.")
        twice = found.keys() & inner.keys()
        if twice:
            raise ConfigError(f"{min(twice)} is given twice")
        found |= inner
    return found


def _first_leaf(section: str) -> str:
    return next(key for key in LEAVES if key.startswith(f"{section}.")).removeprefix(f"{section}.")


def split_arguments(arguments: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """A command line -> (files and folders, [(key, value text)]). `--a.b 1`, `--a.b=1` and `--a-b 1` are read."""
    paths: list[str] = []
    flags: list[tuple[str, str]] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            paths.append(argument)
            continue
        name, equals, value = argument.partition("=")
        key = name.removeprefix("--").replace("-", "_")
        if key not in LEAVES:
            raise ConfigError(f"{name}: {_no_flag(name, key)}")
        following = None if equals else next(rest, None)
        if not equals and (following is None or following.startswith("--")):
            raise ConfigError(f"{name} needs a value: {name} VALUE")
        flags.append((key, value if following is None else following))
    return paths, flags


def _no_flag(name: str, key: str) -> str:
    if key in SECTIONS:
        return f"{key} is a section; give one of its keys, such as --{key}.{_first_leaf(key)}"
    if not name.startswith("--"):
        return "a setting is given as --key value"
    return unknown_key(key)


def read_flags(flags: Sequence[tuple[str, str]]) -> Settings:
    """The settings of dotted flags; where one is given twice the later one counts."""
    return {key: Setting(_flag_value(key, text), "flag") for key, text in flags}


def _flag_value(key: str, text: str) -> Any:
    if not text:
        return ""
    try:
        value = Loader(text).get_single_data()
    except (yaml.YAMLError, RecursionError) as error:
        if key in TEXT_LEAVES:
            return text
        raise ConfigError(f"--{key}: cannot read {text!r}; put quotes around it in the shell") from error
    return text if key in TEXT_LEAVES and value is not None else value
