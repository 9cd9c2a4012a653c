from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from strop.check.cases import nudged
from strop.check.real import MAX_TOKENS, MOVED, bounded, distance, moved, real_case, refuse_nothing
from strop.config.load import load
from strop.config.schema import Config
from strop.errors import NotEnoughSignal
from strop.types import Group
from strop.watch import Watcher
from tests.check.beds import hard_case


def config(**changes: Any) -> Config:
    return load(mapping={"algorithm": "dapo_prompt", **changes})


def test_a_check_samples_less_than_a_step_and_no_fewer_prompts_than_updates() -> None:
    small = bounded(config(rollout={"prompts": 64, "completions": 16, "max_tokens": 2048}, train={"updates": 2}))
    assert (small.rollout.prompts, small.rollout.completions, small.rollout.max_tokens) == (8, 8, MAX_TOKENS)
    many = bounded(config(rollout={"prompts": 64}, train={"updates": 32}))
    assert (many.rollout.prompts, many.train.updates) == (32, 32)


def test_what_is_small_already_stays_as_it_is() -> None:
    rollout = {"prompts": 2, "completions": 3, "max_tokens": 9, "overlong.buffer": 4, "max_draws": 7}
    tiny = config(rollout=rollout, train={"updates": 1})
    assert bounded(tiny).rollout == tiny.rollout


def test_whether_activations_are_recomputed_is_the_layouts_to_say() -> None:
    assert not bounded(config(train={"gradient_checkpointing": True})).train.gradient_checkpointing


def test_the_bound_on_draws_and_the_buffer_stay_possible() -> None:
    small = bounded(config(rollout={"prompts": 8, "max_draws": 8, "max_tokens": 4096, "overlong.buffer": 2048}))
    assert small.rollout.overlong.buffer == MAX_TOKENS
    assert small.rollout.max_draws >= small.rollout.prompts


@pytest.mark.parametrize("name", ["dapo", "dr_grpo", "rloo"])
def test_the_row_is_the_runs_own_down_to_its_constant_length(name: str) -> None:
    whole = config(algorithm=name, rollout={"max_tokens": 2048})
    assert bounded(whole).row == whole.row


def flat(group: Group) -> Group:
    return replace(group, rollouts=tuple(replace(r, score=1.0, penalty=0.0) for r in group.rollouts))


def test_a_batch_without_signal_is_refused_with_what_to_do() -> None:
    case = replace(hard_case(), groups=tuple(flat(group) for group in hard_case().groups))
    with pytest.raises(NotEnoughSignal, match="equal rewards.*filter mixed"):
        refuse_nothing(case, config())


def test_a_sampled_batch_without_signal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = tuple(flat(group) for group in hard_case().groups)
    monkeypatch.setattr("strop.check.real.sampled", lambda config, watch: (hard_case().models.policy, groups))
    with pytest.raises(NotEnoughSignal, match="equal rewards"):
        real_case(config(), Watcher())


def test_a_batch_of_masked_completions_is_refused_with_what_to_do() -> None:
    masked = tuple(group for group in hard_case().groups if all(r.completion.truncated for r in group.rollouts))
    with pytest.raises(NotEnoughSignal, match="masked.*max_tokens"):
        refuse_nothing(replace(hard_case(), groups=masked), config())


def test_the_policy_is_moved_by_a_tenth_of_a_nat() -> None:
    case = hard_case()
    module = case.models.policy
    assert distance(case, module, module) == 0.0
    assert distance(case, module, moved(case, module)) == pytest.approx(MOVED, rel=0.2)
    assert distance(case, module, nudged(module, 1e-3, seed=1)) < 0.02


def test_a_case_is_the_runs_own_batch_its_policy_moved() -> None:
    """The embedded policy on its own task: two prompts that have signal, of the loop's own collect."""
    settings = bounded(config(rollout={"prompts": 2, "completions": 4}, train={"updates": 2}, device="cpu"))
    case = real_case(settings, Watcher())
    assert (case.model, case.temperature, case.updates) == ("strop:tiny", 1.0, 2)
    assert len(case.groups) == 2
    assert len(case.first) == 1
    assert all(len(set(group.scores)) > 1 for group in case.groups)
    assert case.models.old is case.models.reference
    assert next(case.models.policy.parameters()).dtype == torch.float32
    assert 0.03 < distance(case, case.models.policy, case.models.old) < 0.3
    logp = [x for _, _, rollout in case.live for x in rollout.completion.sampler_logp]
    assert all(x <= 0 for x in logp)
    assert real_case(settings, Watcher()).groups == case.groups
