from __future__ import annotations

import pytest
import torch

from strop.check.means import beside, means_apart
from strop.check.trials import made_row, row_of
from tests.check.beds import oracle_of


def test_two_gradients_side_by_side() -> None:
    one = {"a": torch.tensor([3.0, 0.0]), "b": torch.tensor([4.0])}
    cosine, ratio = beside(one, {"a": torch.tensor([0.0, 0.0]), "b": torch.tensor([2.0])})
    assert cosine == pytest.approx(0.8)
    assert ratio == pytest.approx(2.5)


@pytest.mark.parametrize(("name", "own"), [("dapo", "token"), ("dapo_prompt", "prompt"), ("dr_grpo", "constant")])
def test_a_rows_own_mean_lies_beside_itself_and_the_others_do_not(name: str, own: str) -> None:
    found = {apart.mean: apart for apart in means_apart(oracle_of(), row_of(made_row(name)), length=30)}
    assert list(found) == ["token", "prompt", "sequence", "constant"]
    assert (found[own].cosine, found[own].norm_ratio) == (pytest.approx(1.0), pytest.approx(1.0))
    assert found["sequence"].cosine < 0.9
    assert {apart.row for apart in found.values()} == {name}


def test_token_and_constant_differ_by_a_factor_that_is_known() -> None:
    """112 tokens of 18 sequences: 1 / T against 1 / (18 x 30)."""
    found = {apart.mean: apart for apart in means_apart(oracle_of(), row_of(made_row("dapo")), length=30)}
    assert found["constant"].cosine == pytest.approx(1.0)
    assert found["constant"].norm_ratio == pytest.approx(112 / (18 * 30))
    assert found["token"].record() == {
        "row": "dapo",
        "mean": "token",
        "cosine": pytest.approx(1.0),
        "norm_ratio": pytest.approx(1.0),
    }
