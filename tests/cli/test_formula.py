from __future__ import annotations

import pytest

from strop.algorithms import KINDS, ROWS, algorithm
from strop.cli.formula import CHOICES, FORMULAS, formula, name_of, plain_choice, plain_row


def test_every_kind_of_every_choice_has_a_formula() -> None:
    assert {choice: set(kinds) for choice, kinds in KINDS.items()} == {
        choice: set(kinds) for choice, kinds in FORMULAS.items()
    }
    assert set(CHOICES) == set(KINDS)


@pytest.mark.parametrize("name", ROWS)
def test_a_formula_holds_the_numbers_of_its_row(name: str) -> None:
    text = "\n".join(formula(ROWS[name]))
    assert text.startswith("loss  = sum_n w_n")
    trust = ROWS[name].trust
    if trust.kind == "clip":
        assert f"clamp(r_n, {1 - trust.low:g}, {1 + trust.high:g})" in text


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"trust": {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "cap": 5}}, "min(r_n, 5)"),
        ({"trust": {"kind": "clip", "dual": 3.0}}, "at most 3 |A|"),
        (
            {
                "ratio": {"kind": "token", "anchor": "sampler"},
                "trust": {"kind": "divergence", "measure": "kl", "low": 0.05, "high": 0.05, "topk": 20},
            },
            "D_n = sum_b mu_b log(mu_b / pi_b),   b the sampler's 20 most likely tokens, the sampled one, all others",
        ),
        ({"ratio": "sequence_product"}, "r_n   = exp(sum over the completion of (logp - old_logp))"),
        ({"trust": "gamma"}, "(k, lambda) = (2, 3) where A >= 0, else (3, 2)"),
        ({"trust": {"kind": "geometric", "low": 0.3}}, "q = min(log r, 0.4) where A > 0, max(log r, -0.3) where A < 0"),
        ({"correction": "token_truncate"}, "loss  = sum_n w_n c_n l_n"),
        ({"correction": "token_truncate"}, "c_n   = min(rho_n, 2),   rho = exp(old_logp - sampler_logp)"),
        ({"correction": "sequence_truncate"}, "c_n   = min(product of rho over the completion, 2)"),
        ({"correction": "token_mask"}, "c_n   = rho_n where it is in [0.5, 5], else 0"),
        (
            {
                "correction": {
                    "kind": "sequence_mask",
                    "mean": "geometric",
                    "low": 0.999,
                    "high": 1.002,
                    "times": "token",
                }
            },
            "c_n   = rho_n where the geometric mean of rho over the completion is in [0.999, 1.002], else 0",
        ),
        ({"regularizers": [{"kind": "entropy", "beta": 0.01}]}, "entropy_n = -0.01 H_n"),
    ],
)
def test_what_a_row_may_have_appears_when_it_has_it(changes: dict[str, object], expected: str) -> None:
    assert expected in "\n".join(formula(algorithm("dapo", **changes)))
    assert expected not in "\n".join(formula(algorithm("dapo")))


@pytest.mark.parametrize("name", ROWS)
def test_a_row_as_plain_data_is_what_a_configuration_takes(name: str) -> None:
    row = ROWS[name]
    plain = plain_row(row)
    assert algorithm(name, **{choice: plain[choice] for choice in CHOICES}) == row


def test_a_choice_is_named_with_its_numbers_and_without_infinities() -> None:
    assert name_of(ROWS["dapo"].trust) == "clip(low=0.2, high=0.28)"
    assert name_of(ROWS["dapo"].aggregation) == "token"
    assert name_of(ROWS["dr_grpo"].aggregation) == "constant(rollout.max_tokens)"
    assert name_of(()) == name_of(None) == "-"
    assert plain_choice(()) == []
    assert plain_choice(None) == "none"
