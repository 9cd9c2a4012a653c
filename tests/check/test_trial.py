from __future__ import annotations

import pytest
import torch

from strop.check.layouts import Layout
from strop.check.trial import Bench, recomputed
from strop.check.trials import made_row, row_of
from strop.policy.step import Learner
from tests.check.beds import hard_case, oracle_of


@pytest.fixture
def bench() -> Bench:
    return Bench.of(hard_case(), oracle_of().case.models)


def test_a_run_gives_the_gradient_and_the_metrics_of_the_formula(bench: Bench) -> None:
    row = row_of(made_row("grpo"))
    found = bench.run(row, Layout("", size=3, rows=1))
    truth = oracle_of().truth(row)
    assert found.gradient.keys() == truth.gradient.keys()
    for name, right in truth.gradient.items():
        assert (found.gradient[name] - right).norm() <= 1e-12 * right.norm(), name
    assert found.metrics["kl"].mean == pytest.approx(truth.metrics["kl"].mean, rel=1e-12)


def test_runs_do_not_add_up(bench: Bench) -> None:
    row = row_of(made_row("dapo"))
    first, second = (bench.run(row, Layout("")).gradient for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_a_run_found_is_not_changed_by_the_next(bench: Bench) -> None:
    first = bench.run(row_of(made_row("dapo")), Layout("")).gradient
    kept = {name: gradient.clone() for name, gradient in first.items()}
    bench.run(row_of(made_row("gspo")), Layout(""))
    assert all(torch.equal(kept[name], first[name]) for name in kept)


def test_a_weight_that_nothing_reached_has_gradient_zero(bench: Bench) -> None:
    module = bench.models.policy
    module.register_parameter("idle", torch.nn.Parameter(torch.ones(2, dtype=torch.float64)))
    try:
        with_idle = Bench.of(hard_case(), bench.models)
        gradient = with_idle.run(row_of(made_row("dapo")), Layout("")).gradient
        assert gradient["idle"].tolist() == [0.0, 0.0]
    finally:
        del module.idle


def test_old_and_reference_are_scored_in_the_layouts_own_micro_batches(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    original = Learner.score

    def score(self: Learner, policy: object, scored: object, phase: str, tick: object) -> object:
        seen.append(len(scored.parts))  # type: ignore[attr-defined]
        return original(self, policy, scored, phase, tick)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "score", score)
    bench.run(row_of(made_row("grpo")), Layout("six", size=3))
    assert seen == [6, 6]
    bench.run(row_of(made_row("scalerl")), Layout("all"))
    assert seen == [6, 6]


def test_recomputing_is_off_again_afterwards(bench: Bench) -> None:
    module = bench.models.policy
    with recomputed(module):
        assert module.training
        assert any(getattr(part, "gradient_checkpointing", False) for part in module.modules())
    assert not module.training
    assert not any(getattr(part, "gradient_checkpointing", False) for part in module.modules())
