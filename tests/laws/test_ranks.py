"""True of every number of ranks: gradients before clipping, weights and metrics are those of one process."""

from __future__ import annotations

import pytest

from tests.laws.ranked import SIZES
from tests.ranks import called


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "bound", "weight_bound"), [("float64", 1e-12, 1e-11), ("float32", 1e-5, 1e-5)])
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_give_the_gradients_and_weights_of_one_process(
    ranks: int, dtype: str, bound: float, weight_bound: float
) -> None:
    """Issue 3.2: three updates each, and weights after plain SGD at rate 0.1."""
    reports = called(ranks, "tests.laws.ranked:every_case", dtype)
    assert len(reports) == ranks
    for report in reports:
        assert len(report) == 18
        for case, apart in report.items():
            assert len(apart["gradient"]) == 3 and apart["size"] > 1e-3, case
            assert max(apart["gradient"]) < bound, case
            assert apart["weight"] < weight_bound, case
            assert apart["metric"] < bound, case


@pytest.mark.slow
def test_a_rank_without_a_token_and_a_batch_without_one_end_as_one_process_would() -> None:
    """https://github.com/PrimeIntellect-ai/prime-rl/pull/808: no hang, no NaN, and a skip is one on every rank."""
    reports = called(2, "tests.laws.ranked:nothing_to_train")
    for report in reports:
        for kind in ("data", "fsdp"):
            assert report[kind]["skipped"] == report[kind]["updates"] == 1.0 or report[kind]["skipped"] == 1.0
            assert not report[kind]["moved"]
    assert sorted(report["data"]["tokens"] > 0 for report in reports) == [False, True]
    assert reports[0]["data"]["norm"] == reports[1]["data"]["norm"] > 0


def test_the_cases_leave_a_rank_without_work_among_four() -> None:
    assert max(SIZES["fewer rows than ranks"]) < 4
