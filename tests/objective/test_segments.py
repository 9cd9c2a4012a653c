from __future__ import annotations

import torch

from strop.objective.segments import compact, segment_count, segment_mean, segment_range, segment_sum, segments

INDEX = torch.tensor([2, 0, 2, 0, 2])
VALUE = torch.tensor([1.0, 2.0, 4.0, 6.0, 1.0], dtype=torch.float64)


def test_members_of_a_segment_need_not_be_adjacent() -> None:
    assert segment_count(INDEX, 3).tolist() == [2, 0, 3]
    assert segment_sum(VALUE, INDEX, 3).tolist() == [8.0, 0.0, 6.0]
    assert segment_mean(VALUE, INDEX, 3).tolist() == [4.0, 0.0, 2.0]
    assert segment_range(VALUE, INDEX, 3).tolist() == [4.0, 0.0, 3.0]


def test_any_integer_ids_become_indices_from_zero() -> None:
    index, size = compact(torch.tensor([7, -3, 7, 10**12]))
    assert (index.tolist(), size) == ([1, 0, 1, 2], 3)


def test_no_member_at_all_is_no_segment() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    assert segments(none) == 0 and segments(INDEX) == 3
    assert segment_sum(VALUE[:0], none, 0).tolist() == []
