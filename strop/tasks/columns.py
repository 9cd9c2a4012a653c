"""Other people's names of columns: `task.data.columns` maps ours to theirs, {prompt: input, answer: label}.

A name with dots reaches into mappings: {answer: reward_model.ground_truth}. What it finds is copied; a plain name moves
its column, so that a row is the same row under whatever names it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.tasks.rows import Fault, Row, listed, short, type_of

PROMPT = "prompt"


def renamed(row: Row, columns: Mapping[str, str]) -> Row | Fault:
    """The row under our names, or which column could not be reached."""
    moved = {theirs for theirs in columns.values() if theirs in row.values}
    values = {name: value for name, value in row.values.items() if name not in moved}
    for ours, theirs in columns.items():
        if theirs in moved:
            values[ours] = row.values[theirs]
        elif "." in theirs:
            found = reached(row, theirs)
            if isinstance(found, Fault):
                return found
            values[ours] = found
        else:
            values.pop(ours, None)
    return Row(row.where, values)


def reached(row: Row, path: str) -> Any:
    """The value at a dotted path, or a Fault that says where the path ends."""
    value: Any = row.values
    names = path.split(".")
    for place, name in enumerate(names):
        before = ".".join(names[:place]) or "the row"
        if not isinstance(value, dict):
            return Fault(row.where, f"cannot be reached: {before} is {type_of(value)}, no mapping", path)
        if name not in value:
            return Fault(row.where, f"cannot be reached: {before} has no {name!r}, only {listed(value)}", path)
        value = value[name]
    return value


def check_columns(columns: Mapping[str, str], names: Collection[str], file: str) -> tuple[str, ...]:
    """What is to be said of a map, beside the names that the file's rows have.

    Raises:
        ConfigError: no row has a column that the map takes; a missing prompt is told row by row instead.
    """
    for ours, theirs in columns.items():
        if theirs not in names and "." not in theirs and ours != PROMPT:
            text = f"task.data.columns: no row of {file} has the column {short(theirs)} that {ours} is to be"
            raise ConfigError(f"{text}; it has {listed(names)}{did_you_mean(nearest(theirs, names))}")
    hidden = [ours for ours in columns if ours in names and ours not in columns.values()]
    return tuple(
        f"task.data.columns: the column {ours!r} of {file} is left out: {columns[ours]!r} takes its place"
        for ours in hidden
    )
