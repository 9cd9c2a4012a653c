"""True of every number of ranks: gradients before clipping, weights and metrics are those of one process."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.laws.ranked import SIZES
from tests.ranks import called

pytestmark = pytest.mark.xdist_group("ranks")

Reports = list[dict[str, Any]]


@cache
def measured(ranks: int) -> Reports:
    """What every rank measured: one launch for all tests."""
    found = called(ranks, "tests.laws.ranked:everything")
    assert len(found) == ranks
    return found


@pytest.fixture(params=[2, 4])
def reports(request: pytest.FixtureRequest) -> Reports:
    return measured(request.param)


@pytest.mark.parametrize(("dtype", "bound", "weight_bound"), [("float64", 1e-12, 1e-11), ("float32", 1e-5, 1e-5)])
def test_ranks_give_the_gradients_and_weights_of_one_process(
    reports: Reports, dtype: str, bound: float, weight_bound: float
) -> None:
    """Three updates each, and weights after plain SGD at rate 0.1."""
    for report in reports:
        assert len(report[dtype]) == 18
        for case, apart in report[dtype].items():
            assert len(apart["gradient"]) == 3 and apart["size"] > 1e-3, case
            assert max(apart["gradient"]) < bound, case
            assert apart["weight"] < weight_bound, case
            assert apart["metric"] < bound, case


def test_a_rank_without_a_token_and_a_batch_without_one_end_as_one_process_would(reports: Reports) -> None:
    """https://github.com/PrimeIntellect-ai/prime-rl/pull/808: no hang, no NaN, and a skip is one on every rank."""
    for kind in ("data", "fsdp"):
        found = [report["nothing"][kind] for report in reports]
        assert all(one["skipped"] == 1.0 and one["updates"] == 1 and not one["moved"] for one in found)
        assert sum(one["tokens"] > 0 for one in found) == 1
        assert len({one["norm"] for one in found}) == 1 and found[0]["norm"] > 0


def test_bfloat16_slices_are_float32_and_lie_within_rounding_of_one_process(reports: Reports) -> None:
    found = [report["bfloat16"] for report in reports]
    assert all(one["apart"] < 0.05 and one["dtype"] == "torch.float32" for one in found)
    assert [one["masters"] for one in found] == [found[0]["weights"], *[0] * (len(found) - 1)]


def test_ranks_may_join_a_second_time(reports: Reports) -> None:
    assert all(report["again"] == list(range(len(reports))) for report in reports)


def test_the_cases_leave_a_rank_without_work_among_four() -> None:
    assert max(SIZES["fewer rows than ranks"]) < 4
