from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.metrics import High, Low, Mean, Metric, Sum, merge

WHOLE = st.integers(-(2**20), 2**20).map(float)
"""Whole numbers, whose sums are exact: any order of addition gives the same."""

KINDS = st.sampled_from(["mean", "sum", "low", "high"])


def metric(kind: str, total: float, weight: float) -> Metric:
    return {"mean": Mean(total, weight), "sum": Sum(total), "low": Low(total), "high": High(total)}[kind]


PARTS = st.lists(st.dictionaries(KINDS, st.tuples(WHOLE, st.integers(0, 9).map(float))), max_size=8).map(
    lambda parts: [{kind: metric(kind, *numbers) for kind, numbers in part.items()} for part in parts]
)


@given(PARTS, st.data())
def test_any_partition_in_any_order_merges_to_the_same(parts: list[dict[str, Metric]], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(parts))
    buckets: list[list[dict[str, Metric]]] = [[], [], []]
    for part in shuffled:
        buckets[data.draw(st.integers(0, 2))].append(part)
    assert merge(merge(bucket) for bucket in buckets) == merge(parts)


@given(st.lists(st.tuples(WHOLE, st.integers(0, 9).map(float)), min_size=1))
def test_each_kind_merges_by_its_own_rule(values: list[tuple[float, float]]) -> None:
    totals = [total for total, _ in values]
    weight = sum(weight for _, weight in values)
    parts = [{kind: metric(kind, *value) for kind in ("mean", "sum", "low", "high")} for value in values]
    whole = merge(parts)
    assert whole["mean"] == Mean(sum(totals), weight)
    assert (whole["sum"].mean, whole["low"].mean, whole["high"].mean) == (sum(totals), min(totals), max(totals))
    assert all(whole[kind].weight == 1 for kind in ("sum", "low", "high"))


def test_a_merged_mean_is_the_mean_of_all_and_no_mean_of_means() -> None:
    whole = merge([{"ratio": Mean(3.0, 1.0)}, {"ratio": Mean(1.0, 3.0)}])
    assert whole["ratio"].mean == 1.0


def test_nothing_observed_is_nan_and_changes_nothing() -> None:
    assert math.isnan(Mean(0.0, 0.0).mean)
    assert merge([{"prob": Mean(0.0, 0.0)}, {"prob": Mean(1.0, 2.0)}])["prob"].mean == 0.5
    assert merge([]) == {}


def test_a_part_may_lack_a_name_and_is_left_as_it_was() -> None:
    first, second = {"a": Sum(1.0)}, {"a": Sum(2.0), "b": High(5.0)}
    assert merge([first, second]) == {"a": Sum(3.0), "b": High(5.0)}
    assert (first, second) == ({"a": Sum(1.0)}, {"a": Sum(2.0), "b": High(5.0)})


def test_kinds_do_not_mix() -> None:
    with pytest.raises(TypeError, match="cannot merge a Sum with a Mean"):
        merge([{"a": Sum(1.0)}, {"a": Mean(1.0, 1.0)}])
