"""Values of any library become JSON's own, and equal rows share an id whatever held them."""

from __future__ import annotations

import datetime
import enum
import json
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.tasks.rows import DEEPEST, Fault, Row, identity, listed, once, plain, row_of, short, type_of


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def bare(value: Any) -> Any:
    """The value without the nulls inside mappings, keys in order."""
    if isinstance(value, dict):
        return {key: bare(value[key]) for key in sorted(value) if value[key] is not None}
    return [bare(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_what_json_holds_stays_as_it_is_but_for_nulls_in_mappings_and_the_order_of_keys(value: Any) -> None:
    assert json.dumps(plain(value)) == json.dumps(bare(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(["a", None], dtype=object), ["a", None]),
        ((1, (2,)), [1, [2]]),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(3, 4), "03:04:00"),
        (datetime.timedelta(seconds=90), 90.0),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (b"\x00\xff", "AP8="),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_what_other_libraries_hold_becomes_what_json_holds(value: Any, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "holds nan, which is no JSON value; write null"),
        ([1.0, {"a": float("-inf")}], "holds -inf, which is no JSON value"),
        (np.array([1.0, np.nan]), "holds nan"),
        (Decimal("NaN"), "holds nan"),
        ("a\ud800", "holds half a character"),
        ({"a\udc00": 1}, "holds half a character"),
        ({1: "a"}, "has a mapping whose keys are no texts"),
        (object(), "is a object, which JSON has nothing for"),
        (1j, "is a complex, which JSON has nothing for"),
    ],
)
def test_what_json_cannot_hold_is_a_fault_of_its_column(value: Any, reason: str) -> None:
    fault = row_of("d.jsonl:7", {"prompt": "a", "odd": value})
    assert isinstance(fault, Fault)
    assert str(fault).startswith(f"d.jsonl:7: column 'odd': {reason}")


def test_a_value_that_is_nested_too_deep_is_a_fault() -> None:
    value: Any = "x"
    for _ in range(DEEPEST):
        value = [value]
    assert isinstance(row_of("w", {"a": value}), Row)
    assert str(row_of("w", {"a": [value]})) == f"w: column 'a': is nested more than {DEEPEST} deep"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "w: column 'a': is given twice"),
        ('{"a": {"x": 1, "x": 1}}', "w: column 'a': its key 'x' is given twice"),
        ('{"a": [{"x": 1, "y": 1, "y": 2}]}', "w: column 'a': its key 'y' is given twice"),
    ],
)
def test_a_key_that_is_given_twice_is_a_fault_at_any_depth(text: str, fault: str) -> None:
    assert str(row_of("w", json.loads(text, object_pairs_hook=once))) == fault


@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_an_id_does_not_depend_on_the_order_of_columns_on_nulls_or_on_how_whole_numbers_are_written(
    values: dict[str, Any],
) -> None:
    def as_floats(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
            return float(value)
        if isinstance(value, list):
            return [as_floats(item) for item in value]
        return {key: as_floats(item) for key, item in value.items()} if isinstance(value, dict) else value

    held = {key: plain(value) for key, value in values.items()}
    again = {key: as_floats(held[key]) for key in reversed(held)} | {"never": None}
    assert identity(held) == identity(again)


def test_rows_that_differ_in_one_value_differ_in_their_ids() -> None:
    values = ["1", 1, 1.5, True, [1], {"a": 1}, "", [], {}, "a", "A"]
    assert len({identity({"prompt": "p", "answer": value}) for value in values} | {identity({"prompt": "p"})}) == 12


def test_types_are_said_in_words_and_names_are_cut() -> None:
    assert [type_of(value) for value in (True, 1, 0.5, "a", [], {}, None)] == [
        "true or false",
        "a number",
        "a number",
        "a text",
        "a list",
        "a mapping",
        "null",
    ]
    assert listed([]) == "nothing"
    assert listed("abc") == "a, b, c"
    assert listed(["x" * 70, *map(str, range(20))]) == f"{'x' * 60}..., {', '.join(map(str, range(11)))}, ... (9 more)"
    assert short("a" * 100) == repr("a" * 60 + "...")
