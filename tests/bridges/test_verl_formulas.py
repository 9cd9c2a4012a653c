from __future__ import annotations

import itertools

import pytest
import torch

from strop.bridges.against import AGREES
from strop.bridges.verl_formulas import DUAL, FORMS, MEANS, SUM, error, exact, far, found, gradient_of


def test_every_formula_is_told_from_every_other() -> None:
    every = {(form, mean): exact(form, mean) for form in FORMS for mean in MEANS}
    for (left, a), (right, b) in itertools.combinations(every.items(), 2):
        assert error(a, b) > 100 * AGREES, f"{left} and {right} have one gradient on this batch"


@pytest.mark.parametrize("form", FORMS)
def test_a_gradient_is_found_by_the_formula_that_made_it(form: str) -> None:
    for mean in MEANS:
        assert found(exact(form, mean) * (1 + 1e-8)) == (form, mean)


def test_a_gradient_of_no_formula_is_not_found() -> None:
    assert found(exact(DUAL, "token") * 1.0001) is None
    assert found(exact(DUAL, "token") + 1e-4 * torch.randn(exact(DUAL, "token").shape, dtype=torch.float64)) is None


def test_the_sum_over_tokens_is_the_token_mean_times_the_tokens() -> None:
    batch = far(masked=True)
    total = gradient_of(DUAL, "token", batch) * batch.mask.sum()
    assert error(total, gradient_of(DUAL, SUM, batch)) < 1e-14


def test_the_far_batch_lies_beyond_every_bound_on_both_sides() -> None:
    batch = far(masked=False)
    ratio = (batch.logp - batch.old_logp).exp()[batch.mask]
    gain = (batch.advantage[:, None] > 0).expand_as(batch.mask)[batch.mask]
    moved = (batch.logp.exp() - batch.old_logp.exp())[batch.mask]
    for bound in (gain & (ratio > 5), ~gain & (ratio > 3), ~gain & (ratio < 0.2), gain & (ratio < 0.8)):
        assert int(bound.sum()) > 0
    assert bool((gain & (moved > 0.2)).any())
    assert bool((~gain & (moved < -0.2)).any())
