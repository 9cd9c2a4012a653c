"""Whole numbers become floats where, and only where, others of their place are no whole numbers."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from strop.tasks.numbers import mixed_places, with_floats

ROWS = [
    {"a": 1, "b": 1, "c": [1, 2], "d": {"x": 1, "y": 1}, "e": [{"x": 1}], "f": True, "g": 2**60},
    {"a": 0.5, "b": 2, "c": [3, 0.5], "d": {"x": 0.5}, "e": [{"x": 0.5}, {"z": 1}], "f": 0.5, "g": 0.5},
]


def test_places_are_told_apart_by_column_by_key_and_by_list() -> None:
    mixed = mixed_places(ROWS)
    assert mixed == {("a",), ("c", None), ("d", "x"), ("e", None, "x"), ("g",)}
    first = {name: with_floats(value, (name,), mixed) for name, value in ROWS[0].items()}
    assert json.dumps(first) == json.dumps(
        {"a": 1.0, "b": 1, "c": [1.0, 2.0], "d": {"x": 1.0, "y": 1}, "e": [{"x": 1.0}], "f": True, "g": 2**60}
    )


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.integers(-9, 9) | st.just(0.5)), max_size=4))
def test_values_stay_equal(rows: list[dict[str, float]]) -> None:
    mixed = mixed_places(rows)
    for row in rows:
        again = {name: with_floats(value, (name,), mixed) for name, value in row.items()}
        assert again == row
        assert mixed_places([again]) == mixed_places([row]) == frozenset()
