from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.packing import packed_floats, packed_ints, unpacked_floats, unpacked_ints


@given(st.lists(st.integers(0, 2**31 - 1)), st.lists(st.floats(width=32, allow_nan=False)))
def test_numbers_come_back_with_every_bit_through_json(ints: list[int], floats: list[float]) -> None:
    texts = json.loads(json.dumps([packed_ints(ints), packed_floats(floats)]))
    assert unpacked_ints(texts[0]).tolist() == ints
    assert unpacked_floats(texts[1]).tolist() == floats


def test_nothing_is_the_empty_string_and_a_table_keeps_its_order() -> None:
    assert packed_ints([]) == packed_floats([]) == ""
    assert unpacked_floats("").size == 0
    assert unpacked_ints(packed_ints(np.arange(6).reshape(2, 3))).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_number_costs_less_than_six_bytes() -> None:
    assert len(packed_ints(np.arange(3000))) / 3000 == pytest.approx(16 / 3)
