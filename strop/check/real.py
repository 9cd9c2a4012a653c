"""A case from a user's own configuration: their model, their task, their settings, one small rollout batch of them.

The batch is sampled by the loop's own collect, with fewer prompts than a step of the run would take. Then the policy's
weights are moved a little, as updates would have moved them, so that ratios are not 1 and trust regions bind; the
weights that sampled the batch serve as old policy and as reference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from strop.check.cases import Case, Models, nudged
from strop.check.plain import distributions, of_tokens
from strop.config.load import load
from strop.config.schema import Config
from strop.errors import NotEnoughSignal
from strop.evaluate import encoder
from strop.policy.model import load_tokenizer
from strop.prepare import check_prompts, make_learner, run_adapters
from strop.rollout.engine_hf import HFEngine
from strop.rollout.guard import Guard
from strop.sampler import Sampler
from strop.tasks.find import find_task
from strop.types import Group
from strop.watch import Stopper, Watcher

PROMPTS, MOST_PROMPTS, COMPLETIONS, MAX_TOKENS = 4, 16, 8, 256
"""What a check samples at most, whatever the run does: prompts of an update, prompts, completions, tokens."""
MOVED = 0.1
"""How far the policy is moved from the weights that sampled: the log-ratio of a token, in nats, root mean square."""


def bounded(config: Config) -> Config:
    """The configuration with a rollout batch that is small enough to be gone through many times, and the same row."""
    plain = config.dump()
    rollout, row = plain["rollout"], config.row
    updates = config.train.updates
    rollout["prompts"] = min(rollout["prompts"], max(updates, min(PROMPTS * updates, MOST_PROMPTS)))
    rollout["completions"] = min(rollout["completions"], COMPLETIONS)
    rollout["max_tokens"] = min(rollout["max_tokens"], MAX_TOKENS)
    rollout["overlong"]["buffer"] = min(rollout["overlong"]["buffer"], rollout["max_tokens"])
    rollout["max_draws"] = max(rollout["max_draws"], rollout["prompts"]) if rollout["max_draws"] else 0
    plain["train"]["gradient_checkpointing"] = False  # each layout says whether it recomputes
    if row.aggregation.kind == "constant":
        plain["objective"]["length"] = row.aggregation.length
    return load(mapping=plain)


def real_case(config: Config, watch: Watcher) -> Case:
    """A rollout batch of a bounded configuration.

    Raises:
        NotEnoughSignal: no completion of its first optimizer batch would be trained on.
        StropError: the model, the data or the reward cannot be used.
    """
    module, groups = sampled(config, watch)
    case = Case(
        name=config.model,
        groups=groups,
        models=Models(module, module, module),
        temperature=config.rollout.temperature,
        updates=config.train.updates,
        mask_truncated=config.rollout.overlong.mask_truncated,
        model=config.model,
        lora=run_adapters(config),
    )
    refuse_nothing(case, config)
    return replace(case, models=Models(moved(case, module), module, module))


def sampled(config: Config, watch: Watcher) -> tuple[Any, tuple[Group, ...]]:
    """The loaded model, and the groups that the first step of the run would train on."""
    task = find_task(config.task, seed=config.seed, reward=None)
    tokenizer = load_tokenizer(config.model)
    encode = encoder(tokenizer, config)
    task = check_prompts(task, encode, watch)
    learner = make_learner(config)
    module: Any = learner.policy.module
    engine = HFEngine(module, tokenizer, rows=config.rollout.rows)
    guard = Guard(config.task.scoring.max_unscorable)
    with Stopper() as stopper:
        sampler = Sampler(config, learner.row, task, encode, engine, guard, watch, stopper)
        groups = sampler.collect(cursor=0, version=0).trained
    task.close()
    return module.to("cpu") if module.device.type == "mps" else module, groups  # MPS has no float64


def refuse_nothing(case: Case, config: Config) -> None:
    """NotEnoughSignal if the gradient is 0, whatever is done to it: such a batch proves nothing."""
    if not case.live:
        raise NotEnoughSignal(
            "every completion reached rollout.max_tokens and is masked; raise --rollout.max_tokens, "
            "or check with --rollout.overlong.mask_truncated false"
        )
    rewards = torch.tensor([r.reward for group in case.groups for r in group.rollouts], dtype=torch.float64)
    owner = torch.tensor([i for i, group in enumerate(case.groups) for _ in group.rollouts])
    if not bool(config.row.advantage(rewards, owner).any()):
        raise NotEnoughSignal(
            "the completions of every prompt have equal rewards, so the gradient is 0 and no layout can change it; "
            "check with --rollout.filter mixed, easier or harder prompts, or more --rollout.completions"
        )


def moved(case: Case, module: nn.Module) -> nn.Module:
    """A copy of the module whose log-probs lie MOVED nats from its own: the size of the step is found by one probe."""
    size = 1e-3
    gap = distance(case, module, nudged(module, size, seed=1))
    return nudged(module, min(0.1, size * MOVED / max(gap, 1e-6)), seed=1)


def distance(case: Case, one: nn.Module, other: nn.Module) -> float:
    """The root mean square of the log-ratio over the tokens that train."""
    gaps = torch.cat([(scored(case, one, i) - scored(case, other, i)).double() for i in range(len(case.live))])
    return float(gaps.square().mean().sqrt())


def scored(case: Case, module: nn.Module, i: int) -> Tensor:
    _, group, rollout = case.live[i]
    ids = rollout.completion.ids
    with torch.no_grad():
        return of_tokens(distributions(module, group.prompt_ids, ids, case.temperature), ids)
