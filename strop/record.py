"""What a run writes about itself: the metrics of a step, the totals of its ledger, and the summary."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from strop.algorithms import Algorithm
from strop.batch.build import advantages, deal
from strop.config.schema import Config
from strop.config.schema_task import Source
from strop.config.schema_task import Task as TaskSettings
from strop.evaluate import Evaluation, paired_difference
from strop.metrics import Metrics
from strop.policy.step import Learner
from strop.rewards.sandbox import describe
from strop.rewards.scorer import Part
from strop.rollout.collect import Collected
from strop.rollout.filter import Filter
from strop.run.checkpoint import retain, save
from strop.run.store import Credit, RunFolder, rollout_rows, write_table
from strop.tasks.task import Task
from strop.types import Group, Rollout

PARALLEL = {"data": "each with the whole model", "fsdp": "each with a slice of every weight"}

COUNTED = ("generated", "trained", "all_right", "all_wrong", "errored", "dropped")


@dataclass(slots=True)
class Totals:
    """The ledger of a whole run, in groups; `carried` is what is held now."""

    groups: Counter[str] = field(default_factory=Counter)
    carried: int = 0

    def add(self, collected: Collected) -> None:
        self.groups.update({name: collected.ledger[name] for name in COUNTED})
        self.carried = len(collected.carried)

    def record(self) -> dict[str, int]:
        return {name: self.groups[name] for name in COUNTED} | {"carried": self.carried}


@dataclass(slots=True)
class State:
    """The numbers of a run that move. `cursor` is the next draw; `carried` are groups held for the next step."""

    step: int = 0
    update: int = 0
    cursor: int = 0
    carried: tuple[Group, ...] = ()
    totals: Totals = field(default_factory=Totals)
    before: Evaluation | None = None
    after: Evaluation | None = None


def step_record(
    collected: Collected,
    metrics: Metrics,
    seconds: Mapping[str, float],
    *,
    credits: Mapping[int, Credit],
    solved: float,
) -> dict[str, Any]:
    """The row of metrics.jsonl. A metric that observed nothing (the mean over no clipped token) is null.

    The shares of groups that are all right or all wrong are judged by their scores, also where no filter drops them.
    """
    ledger = collected.ledger
    rule = Filter("mixed", solved)
    judged = Counter(rule.fate(group) for group in collected.generated)
    drawn = max(1, len(collected.generated))
    measured = {name: finite(metric.mean) for name, metric in metrics.items()}
    return {
        **measured,
        "reward/all": mean([rollout.reward for rollout in scorable(collected.generated)]),
        "reward/trained": mean([rollout.reward for rollout in scorable(collected.trained)]),
        "accuracy/all": mean([rollout.score for rollout in scorable(collected.generated)]),
        "accuracy/trained": mean([rollout.score for rollout in scorable(collected.trained)]),
        **parts(scorable(collected.generated)),
        "rewards/unscorable": sum(group.unscorable for group in collected.generated),
        **lengths(rollouts(collected.generated)),
        **{f"groups/{name}": ledger[name] for name in (*COUNTED, "carried_in", "carried_out", "rounds")},
        "groups/flat_reward": sum(not any(credit.advantages) for credit in credits.values()),
        "share/all_right": judged["all_right"] / drawn,
        "share/all_wrong": judged["all_wrong"] / drawn,
        "tokens/generated": ledger["generated_tokens"],
        "tokens/trained": ledger["trained_tokens"],
        **seconds,
        "time/step": sum(seconds.values()),
    }


def parts(scored: Sequence[Rollout]) -> dict[str, float | None]:
    """Mean and standard deviation (ddof 0) of each reward over the completions that it spoke of."""
    found: dict[str, list[float]] = {}
    for rollout in scored:
        for name, value in rollout.parts.items():
            found.setdefault(name, []).append(value)
    means = {f"rewards/{name}/mean": mean(values) for name, values in sorted(found.items())}
    return means | {f"rewards/{name}/std": statistics.pstdev(values) for name, values in sorted(found.items())}


def lengths(sampled: Sequence[Rollout]) -> dict[str, float | None]:
    """Length and length penalty over all generated completions."""
    tokens = [rollout.completion.tokens for rollout in sampled]
    return {
        "completions/mean_length": mean(tokens),
        "completions/min_length": min(tokens, default=None),
        "completions/max_length": max(tokens, default=None),
        "completions/clipped_ratio": mean([rollout.completion.truncated for rollout in sampled]),
        "overlong/penalized": mean([rollout.penalty < 0 for rollout in sampled]),
        "overlong/penalty": mean([rollout.penalty for rollout in sampled]),
    }


def summary(
    *,
    algorithm: str,
    model: str,
    steps: int,
    seconds: float,
    before: Evaluation | None,
    after: Evaluation | None,
    totals: Totals,
    stopped: str = "",
) -> dict[str, Any]:
    """summary.json. A run that was not evaluated at its end was interrupted, or `stopped` by an error."""
    record: dict[str, Any] = {
        "algorithm": algorithm,
        "model": model,
        "steps": steps,
        "seconds": round(seconds, 1),
        "accuracy_before": None if before is None else before.record(),
        "accuracy_after": None if after is None else after.record(),
        "ledger": totals.record(),
    }
    if before is None or after is None:
        return record | {"verdict": f"stopped: {stopped}" if stopped else "interrupted"}
    gain = paired_difference(before, after)
    record["gain"] = {"avg": gain.value, "low": gain.low, "high": gain.high}
    verdict = "improved" if gain.low > 0 else "worse" if gain.high < 0 else "no clear change"
    return record | {"verdict": verdict}


def credit(trained: Sequence[Group], row: Algorithm, *, updates: int, first_update: int) -> dict[int, Credit]:
    """The update and the advantages of each trained group, by draw, for the rollouts file."""
    advantage_S = advantages(trained, row)
    shares = torch.split(advantage_S, [len(group.rollouts) for group in trained])
    return {
        trained[i].draw: Credit(first_update + number, tuple(shares[i].tolist()))
        for number, update in enumerate(deal(len(trained), updates))
        for i in update
    }


def facts(config: Config, task: Task, model: str, ranks: int = 1) -> dict[str, str]:
    """The header of a run: what is trained, on what, how, and how large a step is."""
    rollout, settings = config.rollout, config.train
    update = settings.updates * settings.passes
    return {
        "model": f"{config.model}  ({model})",
        "task": f"{task.description}; {len(task.held_out(config.eval.prompts))} evaluated",
        **reward_facts(config.task),
        "algorithm": f"{config.algorithm}: {config.row.summary}",
        "step": f"{rollout.prompts} prompts x {rollout.completions} completions with signal, at most "
        f"{rollout.max_tokens} tokens each; {update} update{'s' if update > 1 else ''}",
        "run": f"{settings.steps} steps, learning rate {settings.learning_rate:g}, seed {config.seed}",
        **({"ranks": f"{ranks}, {PARALLEL[settings.parallel]}"} if ranks > 1 else {}),
    }


def reward_facts(task: TaskSettings) -> dict[str, str]:
    """What scores, in how many processes, and where the programs of completions run; nothing for a task's own score."""
    sources: list[Source] = [task, *task.mix]
    listed = [r for s in sources for r in ([s.reward] if isinstance(s.reward, str) else s.reward) if r]
    parts = [Part(use=r) if isinstance(r, str) else Part(**r) for r in listed]
    if not parts:
        return {}
    scoring = task.scoring
    shown = ", ".join(f"{part.use} x {part.weight:g}" if part.weight != 1 else part.use for part in parts)
    limits = f"{scoring.workers} processes, {scoring.deadline_s:g} s for each completion"
    sandbox = {"sandbox": describe(scoring.sandbox)} if any(part.use == "code" for part in parts) else {}
    return {"rewards": f"{shown}; {limits}", **sandbox}


def write_checkpoint(
    folder: RunFolder, state: State, learner: Learner, write_model: Callable[[Path], None], config: Config
) -> None:
    """Write a checkpoint of the step that `state` is at, and let old ones go. All ranks call it; the first one writes.

    With the model go the groups that are carried: the cursor has passed them. `updates_beyond_step` is above 0 only
    where an error came between the updates of the next step.
    """
    checkpoints, updates = folder.path / "checkpoints", learner.optimizer.updates
    counters = {"update": updates, "updates_beyond_step": updates - state.update, "cursor": state.cursor}
    optimizer = learner.optimizer.tensors(keep=learner.mesh.first)

    def write_parts(target: Path) -> None:
        write_model(target)
        if state.carried:
            rows = [row for group in state.carried for row in rollout_rows(state.step, group, "carried")]
            write_table(rows, target / "carried.parquet")

    def write() -> None:
        ledger = {"seed": config.seed, "ledger": state.totals.record()}
        save(checkpoints, state.step, write_parts=write_parts, optimizer=optimizer, state=counters | ledger)
        retain(checkpoints, config.save.keep)

    learner.mesh.told(write)


def rollouts(groups: Sequence[Group]) -> list[Rollout]:
    return [rollout for group in groups for rollout in group.rollouts]


def scorable(groups: Sequence[Group]) -> list[Rollout]:
    return [rollout for rollout in rollouts(groups) if not rollout.error]


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
