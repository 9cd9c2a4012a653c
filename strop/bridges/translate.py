"""What another trainer's configuration really computes: in words, as a row of strop, and where it is not what it seems.

    translate("trl", '{"loss_type": "dapo"}')      settings of a GRPOConfig
    translate("verl", "actor.yaml")                verl's settings, whole or those of the actor

Neither peer need be installed: the names and defaults are in tables, read in TRL 1.16.0 and verl 0.9.1, and tests
compare them with the installed ones. What strop has no counterpart for is said under `missing` and left out.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from strop.bridges.peers import peer as known_peer
from strop.config.foreign import read_foreign
from strop.config.writer import scalar
from strop.errors import ConfigError
from strop.names import did_you_mean, nearest

MODULES = {"trl": "strop.bridges.translate_trl", "verl": "strop.bridges.translate_verl"}
"""The module of each peer: its `draft(settings)` makes the translation."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line about a key of the peer's configuration, and where it was reported or can be read."""

    key: str
    text: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Translation:
    """What is computed, part by part in `words`; the same as a configuration of strop; and what to know about it."""

    peer: str
    version: str
    words: tuple[tuple[str, str], ...]
    config: dict[str, Any]
    traps: tuple[Note, ...]
    missing: tuple[Note, ...]

    def to_yaml(self) -> str:
        """The configuration as YAML that `strop config` and `strop train` read."""
        return "\n".join(_lines(self.config, "")) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "words": dict(self.words), "yaml": self.to_yaml()}


@dataclass(slots=True)
class Draft:
    """A translation in the making."""

    words: list[tuple[str, str]] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    traps: list[Note] = field(default_factory=list)
    missing: list[Note] = field(default_factory=list)

    def say(self, part: str, text: str) -> None:
        self.words.append((part, text))

    def trap(self, key: str, text: str, link: str = "") -> None:
        """Something that the configuration does and its reader may not expect."""
        self.traps.append(Note(key, text, link))

    def lack(self, key: str, text: str, link: str = "") -> None:
        """Something that the configuration does and the row does not."""
        self.missing.append(Note(key, text, link))

    def put(self, key: str, value: Any) -> None:
        """A setting of strop by its dotted key."""
        *sections, name = key.split(".")
        inner = self.config
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value


@dataclass(frozen=True, slots=True)
class Settings:
    """A peer's settings: those given over its defaults. Reading one checks it, in one line."""

    given: Mapping[str, Any]
    defaults: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.given[key] if key in self.given else self.defaults[key]

    def number(self, key: str) -> float:
        value = self[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{key} is {value!r}; it must be a number")
        return float(value)

    def whole(self, key: str) -> int:
        value = self.number(key)
        if not value.is_integer() or value < 0:
            raise ConfigError(f"{key} is {self[key]!r}; it must be a whole number, 0 or more")
        return int(value)

    def flag(self, key: str) -> bool:
        value = self[key]
        if not isinstance(value, bool):
            raise ConfigError(f"{key} is {value!r}; it must be true or false")
        return value

    def one_of(self, key: str, names: Iterable[str]) -> str:
        value, names = self[key], list(names)
        if value not in names:
            near = did_you_mean(nearest(str(value), names)) or ";"
            raise ConfigError(f"{key} is {value!r}{near} use {', '.join(names)}")
        return value

    def has(self, *keys: str) -> bool:
        """Whether somebody gave one of these."""
        return any(key in self.given for key in keys)


def translate(name: str, source: str) -> Translation:
    """The translation of a peer's configuration, from a file, YAML or JSON text, or `key=value` words.

    Raises:
        ConfigError: an unknown peer, a text that is no configuration, a key that the peer has not (with the nearest
            that it has), a value that it could not mean. Each in one line.
    """
    found = known_peer(name)
    draft: Draft = importlib.import_module(MODULES[name]).draft(read_foreign(source))
    parts = (tuple(draft.words), draft.config, tuple(draft.traps), tuple(draft.missing))
    return Translation(found.title, found.install, *parts)


def number(value: float) -> str:
    """A number as people write it: 0.28, 5, 1e-06."""
    return f"{value:g}"


def _lines(section: Mapping[str, Any], indent: str) -> Iterable[str]:
    for key, value in section.items():
        if isinstance(value, Mapping) and "kind" not in value:
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{key}: {scalar(value)}"
