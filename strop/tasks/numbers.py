"""Numbers that stand in one place of many rows: all floats where some are not whole, as an Arrow column has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Place = tuple[str | None, ...]
"""A column and the keys below it; None stands for the items of a list."""

EXACT = 2**53
"""Beyond this a float does not hold every whole number: Arrow has no such column, and here the number stays."""


def mixed_places(rows: Iterable[Mapping[str, Any]]) -> frozenset[Place]:
    """The places where whole numbers and others stand."""
    whole: set[Place] = set()
    other: set[Place] = set()
    for values in rows:
        for name, value in values.items():
            _look(value, (name,), whole, other)
    return frozenset(whole & other)


def _look(value: Any, place: Place, whole: set[Place], other: set[Place]) -> None:
    kind = type(value)
    if kind is int:
        whole.add(place)
    elif kind is float:
        other.add(place)
    elif kind is dict:
        for key, item in value.items():
            _look(item, (*place, key), whole, other)
    elif kind is list:
        for item in value:
            _look(item, (*place, None), whole, other)


def with_floats(value: Any, place: Place, mixed: frozenset[Place]) -> Any:
    """The value with the whole numbers of mixed places as floats."""
    if type(value) is int:
        return float(value) if place in mixed and abs(value) <= EXACT else value
    if isinstance(value, dict):
        return {key: with_floats(item, (*place, key), mixed) for key, item in value.items()}
    return [with_floats(item, (*place, None), mixed) for item in value] if isinstance(value, list) else value
