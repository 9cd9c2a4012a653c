from __future__ import annotations

import pytest
import torch

from strop.check.cases import LONGEST, Case, Models, blank, few, nudged
from strop.check.trials import made_row, row_of
from strop.policy.lora import Lora
from strop.policy.model import load
from tests.check.beds import few_case, hard_case, oracle_of


def test_the_hard_case_holds_what_has_gone_wrong_before() -> None:
    case = hard_case()
    lengths = [rollout.completion.tokens for _, _, rollout in case.live]
    sizes = [len(group.rollouts) for group in case.groups]
    assert min(lengths) == 1
    assert max(lengths) > 20
    assert min(sizes) == 1
    assert len(set(sizes)) > 3
    assert {len(group.rollouts) for group in case.groups if not trained(case, group)} == {2}
    assert sum(not case.trains(rollout) for group in case.groups for rollout in group.rollouts) == 6
    assert all(r.completion.tokens == LONGEST for g in case.groups for r in g.rollouts if r.completion.truncated)
    assert any(len(group.rollouts) > 1 and len({r.reward for r in group.rollouts}) == 1 for group in case.groups)
    assert case.longest == max(len(g.prompt_ids) + r.completion.tokens for _, g, r in case.live)


def trained(case: Case, group: object) -> bool:
    return any(one is group for _, one, _ in case.live)


def test_few_has_fewer_live_sequences_than_ranks() -> None:
    assert len(few_case().live) == 3


def test_a_case_is_the_same_every_time_and_another_for_another_seed() -> None:
    assert few().groups == few_case().groups
    assert few(1).groups != few_case().groups


@pytest.mark.parametrize(
    ("name", "sides"),
    [("dapo", ("low", "high")), ("gspo", ("low", "high")), ("dppo_kl", ("low", "high")), ("scalerl", ("high",))],
)
def test_the_bounds_of_a_row_bind_on_the_hard_case(name: str, sides: tuple[str, ...]) -> None:
    metrics = oracle_of().truth(row_of(made_row(name))).metrics
    for side in sides:
        assert 0 < metrics[f"clip_ratio/{side}_mean"].mean < 0.5, side


@pytest.mark.parametrize("name", ["dapo_prompt", "gspo", "grpo"])
def test_the_gradient_of_what_is_run_over_ranks_is_not_zero(name: str) -> None:
    for case in ("hard", "few"):
        assert max(float(g.norm()) for g in oracle_of(case).truth(row_of(made_row(name))).gradient.values()) > 0.01


def test_a_nudged_copy_is_moved_by_a_share_of_each_tensors_size() -> None:
    module = blank("")
    twin = nudged(module, 0.25, seed=3)
    for one, other in zip(module.parameters(), twin.parameters(), strict=True):
        assert ((one - other).norm() / one.norm()).item() == pytest.approx(0.25)


def test_what_is_frozen_stays_and_the_half_of_an_adapter_that_is_0_moves() -> None:
    module = load("strop:tiny", dtype="float32", device="cpu", lora=Lora(2))
    twin = nudged(module, 0.25, seed=3).state_dict()
    for name, weight in module.state_dict().items():
        apart = float((twin[name] - weight).norm())
        size = float(weight.norm()) or 0.1 * weight.numel() ** 0.5
        assert apart == (pytest.approx(0.25 * size, rel=1e-5) if ".lora_" in name else 0.0), name


def test_a_module_that_plays_two_parts_is_still_one_in_another_dtype() -> None:
    module = blank("")
    models = Models(nudged(module, 0.1, seed=1), module, module).to(torch.float32)
    assert models.old is models.reference
    assert models.policy is not models.old
    assert next(models.old.parameters()).dtype == torch.float32
    assert next(module.parameters()).dtype == torch.float64


def test_an_update_is_the_first_share_of_whole_groups() -> None:
    case = hard_case()
    groups = case.groups
    for updates, size in ((1, 7), (2, 3), (3, 2), (7, 1)):
        split = Case("", groups, case.models, updates=updates)
        assert split.first == groups[:size]


def test_the_shipped_build_deals_the_same_first_update() -> None:
    from strop.batch.build import build

    case = hard_case()
    for updates in (1, 2, 3, 5):
        [first, *_] = build(case.groups, row_of(made_row("dapo")), updates=updates)
        split = Case("", case.groups, case.models, updates=updates)
        assert len(first.ids_S) == sum(len(group.rollouts) for group in split.first)
