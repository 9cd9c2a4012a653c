"""The members of the choices by name, and a choice from what people write: a name, a plain dict, or its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, cast, get_type_hints

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.objective.advantage import ADVANTAGES
from strop.objective.aggregation import AGGREGATIONS
from strop.objective.correction import CORRECTIONS
from strop.objective.ratio import RATIOS
from strop.objective.regularizer import REGULARIZERS
from strop.objective.trust import TRUSTS

KINDS: dict[str, dict[str, type[Any]]] = {
    "advantage": dict(ADVANTAGES),
    "ratio": dict(RATIOS),
    "trust": dict(TRUSTS),
    "correction": dict(CORRECTIONS),
    "aggregation": dict(AGGREGATIONS),
    "regularizers": dict(REGULARIZERS),
}
"""Every member of every choice: choice -> kind -> record."""


def choose_regularizers(value: Any) -> tuple[Any, ...]:
    """The tuple of regularizers from one of them or a sequence, each kind at most once; "none" is the empty tuple."""
    if isinstance(value, str) and value == "none":
        return ()
    several = cast("Sequence[Any]", value if isinstance(value, list | tuple) else [value])
    chosen = tuple(choose("regularizers", one) for one in several)
    kinds = [one.kind for one in chosen]
    if len(set(kinds)) < len(kinds):
        raise ConfigError(f"regularizers: {', '.join(kinds)}: each kind at most once")
    return chosen


def choose_correction(value: Any) -> Any:
    """The correction that is meant; "none" is None."""
    return None if isinstance(value, str) and value == "none" else choose("correction", value)


def choose(choice: str, value: Any) -> Any:
    """The record of a choice from its name, its plain dict, or itself."""
    table = KINDS[choice]
    if isinstance(value, str):
        return _record(choice, value, {})
    if isinstance(value, Mapping):
        given = {str(key): field for key, field in cast("Mapping[Any, Any]", value).items()}
        if "kind" not in given:
            raise ConfigError(f"{choice}: {given} has no kind: give {{kind: ...}} with one of {', '.join(table)}")
        return _record(choice, str(given.pop("kind")), given)
    if not isinstance(value, tuple(table.values())):
        raise ConfigError(f"{choice}: {value!r} is not a name, a dict or a record of {', '.join(table)}")
    return value


def _record(choice: str, kind: str, given: Mapping[str, Any]) -> Any:
    table = KINDS[choice]
    if kind not in table:
        raise ConfigError(f"unknown {choice} {kind!r}{instead(kind, table)}")
    known = {field.name: field for field in fields(table[kind])}
    for name in given:
        if name not in known:
            raise ConfigError(f"{choice} {kind} has no field {name!r}{instead(name, known)}")
    missing = [name for name, field in known.items() if name not in given and field.default is MISSING]
    if missing:
        raise ConfigError(f"{choice} {kind} needs {', '.join(missing)}: give {_example(kind, known)}")
    hints = get_type_hints(table[kind])
    return table[kind](**{name: _value(f"{choice} {kind}: {name}", hints[name], given[name]) for name in given})


def _value(where: str, hint: Any, value: Any) -> Any:
    """A field's value as its type: numbers may come as text (YAML reads 1e-6 so). Words are checked by the record."""
    if hint not in (int, float):
        return value
    try:
        number = float(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError):
        number = None
    if number is None or (hint is int and not number.is_integer()):
        raise ConfigError(f"{where} is {value!r}; it must be a {'whole number' if hint is int else 'number'}")
    return int(number) if hint is int else number


def _example(kind: str, known: Mapping[str, Field[Any]]) -> str:
    return f"{{kind: {kind}, {', '.join(f'{name}: ...' for name in known)}}}"


def instead(name: str, known: Iterable[str]) -> str:
    """The end of an error about a name: the nearest that exist, and all of them."""
    names = list(known)
    return (did_you_mean(nearest(name, names)) or ";") + f" use {', '.join(names) or 'none'}"
