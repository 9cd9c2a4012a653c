from __future__ import annotations

import pytest

from strop.algorithms import KINDS, ROWS, algorithm
from strop.cli.code import helpers, listing
from strop.objective.advantage import Standardized
from strop.objective.correction import SequenceMask
from strop.objective.ratio import SequenceRatio
from strop.objective.regularizer import Kl
from strop.objective.trust import Clip, Divergence


def names(choice: object) -> list[str]:
    return [helper.__name__ for helper in helpers(choice)]


def test_helpers_are_followed_however_far_down_and_each_is_there_once() -> None:
    found = names(Standardized())
    assert found[0] == "credit"
    assert {"Credit", "segment_mean", "segment_sum", "segment_range", "compact", "widest"} <= set(found)
    assert len(found) == len(set(found))
    assert set(names(SequenceRatio())) == {"bounded_exp", "segment_mean", "segments", "segment_sum", "segment_count"}
    assert names(Clip()) == []


@pytest.mark.parametrize(
    ("choice", "there", "absent"),
    [
        (Kl(0.1, "k3"), {"_k3"}, {"_k2", "_unbiased"}),
        (Kl(0.1, "k2"), {"_k2"}, {"_k3"}),
        (Kl(0.1, "unbiased"), {"_unbiased", "_k3", "bounded_exp"}, {"_k2"}),
        (Divergence("tv", 0.1, 0.1), {"binary_tv"}, {"binary_kl"}),
        (Divergence("kl", 0.1, 0.1), {"binary_kl", "_log_rest"}, {"binary_tv"}),
        (Divergence("kl", 0.1, 0.1, topk=5), {"top_kl", "top_buckets"}, {"top_tv"}),
        (SequenceMask(mean="geometric", times="token"), {"geometric_rho", "token_rho"}, {"product_rho", "no_rho"}),
    ],
)
def test_of_a_table_of_functions_it_is_the_one_that_is_used(choice: object, there: set[str], absent: set[str]) -> None:
    found = set(names(choice))
    assert there <= found
    assert not absent & found


def test_every_helper_lies_in_the_objective_and_has_a_listing() -> None:
    everything = [part for row in ROWS.values() for part in (row.advantage, row.ratio, row.trust, row.aggregation)]
    for helper in (helper for part in everything for helper in helpers(part)):
        record = listing(helper)
        assert record["file"].startswith("strop/objective/")
        assert f"def {record['name']}(" in record["source"] or f"class {record['name']}:" in record["source"]
        assert record["line"] > 1


def test_a_choice_of_each_kind_has_its_code() -> None:
    assert names(algorithm("dapo", aggregation="prompt").aggregation) == [
        *("weigh", "compact", "count", "_lengths", "segment_sum", "segment_count", "widest")
    ]
    assert all(callable(kind) for table in KINDS.values() for kind in table.values())
