"""The update: a plain sum, exact at one update, skipped when nothing is live, stopped before it does harm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM

from strop.algorithms import ROWS, Algorithm, algorithm
from strop.batch.build import Batch, build
from strop.batch.split import idle, pack, split
from strop.errors import ConfigError, NumericsError
from strop.objective.objective import objective
from strop.objective.streams import Streams
from strop.objective.trust import Gamma, Truncate
from strop.policy.model import Policy, checkpoint_activations
from strop.policy.optim import AdamW, Optimizer
from strop.policy.step import Learner, Scored
from strop.rollout.engine import Request, Sampling
from strop.rollout.engine_hf import HFEngine
from strop.types import Group, Prompt, Rollout
from tests.learner import gradient_error, gradients, nudged, ragged_groups, tiny_llama


def silent(phase: str, done: int, total: int) -> None:
    del phase, done, total


def learner(row: Algorithm, *, rate: float = 1e-3, tokens: int = 40, passes: int = 1) -> Learner:
    policy = Policy(tiny_llama())
    reference = Policy(nudged(tiny_llama(), 0.02, seed=5))
    return Learner(policy, row, Optimizer(policy.module.parameters(), AdamW(rate)), tokens, reference, passes)


def test_one_update_has_ratio_exactly_one_and_clips_nothing() -> None:
    """Report B14: old log-probs are the current ones, detached, whatever shape the micro-batches have."""
    # https://github.com/verl-project/verl/issues/6280
    trainer = learner(algorithm("dapo"))
    metrics = trainer.train(build(ragged_groups(), trainer.row), silent)
    assert metrics["ratio/max"].total == 1.0
    assert metrics["ratio/min"].total == 1.0
    assert metrics["clip_ratio/high_mean"].mean == metrics["clip_ratio/low_mean"].mean == 0.0


def test_several_updates_take_old_log_probs_once_before_the_first() -> None:
    trainer = learner(algorithm("dapo"), rate=0.05)
    batches = build(ragged_groups(), trainer.row, updates=3)
    before = [trainer.score(trainer.policy, whole(batch), "", silent) for batch in batches]
    seen: list[torch.Tensor | None] = []
    spy = SpyLearner(**{name: getattr(trainer, name) for name in Learner.__dataclass_fields__}, seen=seen)
    metrics = spy.train(batches, silent)
    assert metrics["ratio/max"].total > 1.0
    for old, right in zip(seen, before, strict=True):
        assert old is not None
        assert torch.allclose(old, right, rtol=0, atol=1e-13)


class SpyLearner(Learner):
    """Notes the old log-probs that each update is handed."""

    def __init__(self, seen: list[torch.Tensor | None], **parts: object) -> None:
        super().__init__(**parts)  # type: ignore[arg-type]
        object.__setattr__(self, "noted", seen)

    def update(self, scored: Scored, tick: object) -> dict:  # type: ignore[type-arg]
        self.noted.append(scored.old_logp_N)  # type: ignore[attr-defined]
        return super().update(scored, tick)  # type: ignore[arg-type, return-value]


def test_two_passes_visit_every_batch_twice() -> None:
    trainer = learner(algorithm("dapo"), passes=2)
    trainer.train(build(ragged_groups(), trainer.row, updates=2), silent)
    assert trainer.optimizer.updates == 4


def test_a_sampler_anchored_row_scores_no_old_log_probs() -> None:
    trainer = learner(algorithm("dppo_tv", length=12))
    phases: list[str] = []
    trainer.train(build(ragged_groups(), trainer.row, updates=2), lambda phase, *_: phases.append(phase))
    assert set(phases) == {"train"}


def test_a_row_that_reads_a_reference_and_has_none_names_it() -> None:
    trainer = replace(learner(algorithm("grpo")), reference=None)
    with pytest.raises(ConfigError, match="grpo.*ref_logp"):
        trainer.train(build(ragged_groups(), trainer.row), silent)


@pytest.mark.parametrize("name", list(ROWS))
def test_an_all_masked_batch_changes_nothing_and_is_counted(name: str) -> None:
    trainer = learner(algorithm(name, length=12))
    groups = ragged_groups((1, 1, 1))
    before = [p.clone() for p in trainer.policy.module.parameters()]
    metrics = trainer.train(build(groups, trainer.row, mask_truncated=True), silent)
    assert metrics["updates/skipped"].total == 1.0
    assert trainer.optimizer.updates == 0
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.policy.module.parameters(), strict=True))


def test_a_loss_that_is_not_finite_stops_before_the_step() -> None:
    trainer = learner(algorithm("dapo"))
    batches = build(ragged_groups(), trainer.row)
    with torch.no_grad():
        trainer.policy.module.lm_head.weight[3, 0] = float("nan")
    before = [p.clone() for p in trainer.policy.module.parameters()]
    with pytest.raises(NumericsError, match="the weights were left as they were"):
        trainer.train(batches, silent)
    for old, new in zip(before, trainer.policy.module.parameters(), strict=True):
        assert torch.equal(old.nan_to_num(7.0), new.nan_to_num(7.0))
    assert all(p.grad is None for p in trainer.policy.module.parameters())


@pytest.mark.parametrize("name", list(ROWS))
def test_one_small_sgd_step_improves_the_rows_own_objective(name: str) -> None:
    """Measured again after the step, on the same batch against the same old, sampler and reference log-probs."""
    trainer = learner(algorithm(name, length=12))
    [batch] = build(ragged_groups(), trainer.row)
    old = Policy(nudged(tiny_llama(), 0.01, seed=3))
    assert trainer.reference is not None
    scored = replace(
        whole(batch),
        old_logp_N=trainer.score(old, whole(batch), "", silent),
        ref_logp_N=trainer.score(trainer.reference, whole(batch), "", silent),
    )
    [streams] = [trainer.streams(scored, part) for part in whole_in_one(scored).parts]
    before = own_objective(trainer.row, streams, streams)
    trainer.optimizer.clear()
    before.backward()
    norm = trainer.optimizer.gradient_norm()
    assert norm > 0
    with torch.no_grad():
        for parameter in trainer.policy.module.parameters():
            parameter.sub_(parameter.grad, alpha=1e-4 / norm)
    [after] = [trainer.streams(scored, part) for part in whole_in_one(scored).parts]
    gain = before.item() - own_objective(trainer.row, after, streams).item()
    assert gain == pytest.approx(1e-4 * norm, rel=0.05)


def own_objective(row: Algorithm, now: Streams, begun: Streams) -> torch.Tensor:
    """The row's loss; where its weight is by definition a constant of the step, with that weight as it began."""
    if not isinstance(row.trust, Truncate | Gamma):
        return objective(row, now).value
    constant_N = (objective(row, begun).loss_N / begun.logp_N).detach()
    return (now.weight_N * constant_N * now.logp_N).sum()


def whole_in_one(scored: Scored) -> Scored:
    return replace(scored, parts=(pack(scored.batch, range(len(scored.batch.ids_S))),))


def test_gradient_checkpointing_changes_no_gradient() -> None:
    plain, checkpointed = learner(algorithm("dapo")), learner(algorithm("dapo"))
    checkpoint_activations(checkpointed.policy.module)
    checkpointed.policy.module.train()
    [batch] = build(ragged_groups(), plain.row)
    for trainer in (plain, checkpointed):
        trainer.accumulate(whole(batch), silent)
    assert gradient_error(gradients(checkpointed.policy), gradients(plain.policy)) < 1e-12


def whole(batch: Batch) -> Scored:
    return Scored(batch, tuple(split(batch, tokens=10_000)))


def sampled_groups(module: LlamaForCausalLM, topk: int, *, temperature: float = 0.8) -> list[Group]:
    """Groups that an engine sampled with its most likely tokens recorded; the scores alternate."""
    asked = [Request(draw, (5, 6 + draw), 4) for draw in range(3)]
    engine = HFEngine(module, NoText(), rows=8, eos_ids=(2, 11, 12, 13))
    found = engine.sample(asked, Sampling(10, temperature, seed=4, topk=topk))
    return [
        Group(one.draw, Prompt(f"p{one.draw}", "?"), one.prompt_ids, tuple(map(Rollout, group, (0.0, 1.0, 0.0, 1.0))))
        for one, group in zip(asked, found, strict=True)
    ]


class NoText:
    eos_token_id = 2

    def decode(self, ids: Any, **_: Any) -> str:
        return ""


@pytest.mark.parametrize("layout", [1, 4, 12])
def test_the_tops_of_sampler_and_policy_stand_at_the_same_ids_in_every_layout(layout: int) -> None:
    """The policy that sampled: what it gives the recorded ids now is what it gave them then, to float32."""
    module, trust = tiny_llama(), {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 6}
    row = algorithm("dppo_tv", trust=trust, length=12)
    trainer = Learner(Policy(module, 0.8), row, Optimizer(module.parameters(), AdamW(1e-3)), 40)
    [batch] = build(sampled_groups(module, 6), row)
    rows = range(len(batch.ids_S))
    scored = Scored(batch, tuple(pack(batch, rows[i : i + layout]) for i in range(0, 12, layout)))
    seen = among = 0
    for part in scored.parts:
        streams = trainer.streams(scored, part)
        mu, pi, sampled = (streams.read(name) for name in ("sampler_top_logp", "top_logp", "top_is_sampled"))
        assert not pi.requires_grad
        assert torch.allclose(mu, pi, rtol=0, atol=1e-5)
        assert (mu[:, :-1] >= mu[:, 1:]).all()
        found = mu[sampled]
        assert torch.allclose(found, streams.sampler_logp_N[sampled.any(-1)], rtol=0, atol=1e-6)  # type: ignore[index]
        seen, among = seen + len(mu), among + int(sampled.sum())
    assert 0 < among < seen == batch.tokens


def test_another_policy_is_asked_for_the_ids_that_the_sampler_recorded() -> None:
    """Not for its own most likely ones: against a plain forward of each row."""
    sampler = tiny_llama()
    trust = {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 6}
    row, module = algorithm("dppo_tv", trust=trust, length=12), nudged(sampler, 0.1)
    trainer = Learner(Policy(module, 0.8), row, Optimizer(module.parameters(), AdamW(1e-3)), 40)
    [batch] = build(sampled_groups(sampler, 6), row)
    assert batch.top_ids_NK is not None
    for s, ids in enumerate(batch.ids_S):
        part = pack(batch, [s])
        with torch.no_grad():
            every = torch.log_softmax(module(input_ids=ids[None]).logits[0] / 0.8, -1)
        expected = every[int(batch.prompt_tokens_S[s]) - 1 : -1].gather(-1, batch.top_ids_NK[part.index_n])
        found = trainer.streams(Scored(batch, (part,)), part).read("top_logp")
        assert torch.allclose(found, expected, rtol=0, atol=1e-12)


def test_no_layout_changes_the_gradient_of_a_top_k_divergence() -> None:
    sampler, trust = tiny_llama(), {"kind": "divergence", "measure": "kl", "low": 0.01, "high": 0.01, "topk": 5}
    row = algorithm("dppo_kl", trust=trust, length=12)
    [batch] = build(sampled_groups(sampler, 5), row)
    module = nudged(sampler, 0.05)
    trainer = Learner(Policy(module, 0.8), row, Optimizer(module.parameters(), AdamW(1e-3)), 40)
    found: list[dict[str, torch.Tensor]] = []
    for tokens in (20, 60, 10_000):
        trainer.optimizer.clear()
        metrics = trainer.accumulate(Scored(batch, tuple(split(batch, tokens=tokens))), silent)
        assert metrics["clip_ratio/high_mean"].total + metrics["clip_ratio/low_mean"].total > 0
        found.append(gradients(trainer.policy))
    assert max(gradient_error(other, found[0]) for other in found[1:]) < 1e-12


def test_a_row_that_reads_tops_refuses_completions_without_them() -> None:
    trust = {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 6}
    row = algorithm("dppo_tv", trust=trust, length=12)
    for topk in (0, 5):
        with pytest.raises(ConfigError, match="dppo_tv looks at the sampler's 6 most likely tokens.*topk=6"):
            build(sampled_groups(tiny_llama(), topk), row)
    [batch] = build(sampled_groups(tiny_llama(), 6), algorithm("dapo"))
    assert batch.top_ids_NK is None and batch.sampler_top_logp_NK is None


def test_groups_with_nothing_live_have_empty_tops() -> None:
    trust = {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 6}
    row = algorithm("dppo_tv", trust=trust, length=12)
    module = tiny_llama()
    group = sampled_groups(module, 6)[0]
    cut = [replace(r, completion=replace(r.completion, finish="length")) for r in group.rollouts]
    [batch] = build([replace(group, rollouts=tuple(cut))], row, mask_truncated=True)
    assert batch.top_ids_NK is not None and batch.top_ids_NK.shape == (0, 6)
    trainer = Learner(Policy(module, 0.8), row, Optimizer(module.parameters(), AdamW(1e-3)), 40)
    metrics = trainer.accumulate(Scored(batch, (idle(),)), silent)
    assert metrics["loss"].total == 0.0
