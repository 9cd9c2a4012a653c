"""How good the policy is on held-out prompts: avg@k, pass@k, maj@k and greedy, with intervals clustered by prompt.

Completions of one prompt are not independent, so every interval is over per-prompt means: with n prompts,
mean +- 1.96 * std / sqrt(n). Two evaluations on the same prompts are compared pair by pair.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from strop.config.schema import Config
from strop.errors import RewardError
from strop.policy.model import load, load_tokenizer, positions
from strop.rollout.encode import Encoder
from strop.rollout.engine import Engine, Request, Sampling
from strop.rollout.engine_hf import HFEngine
from strop.rollout.filter import TOLERANCE, solves
from strop.rollout.fit import fitting
from strop.rollout.spread import ALONE, Spread
from strop.tasks.find import find_task
from strop.tasks.task import Task, verdicts
from strop.types import Prompt, Rollout
from strop.watch import Watcher

Z95 = 1.96


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over prompts with its 95% interval. An interval of width 0 says that all prompts had the same mean."""

    value: float
    low: float
    high: float

    @classmethod
    def of_scores(cls, values: Sequence[float]) -> Estimate:
        """The same for scores, its interval cut at what a score can be: 0 to 1, or as far as was seen beyond."""
        estimate = cls.over(values)
        least, most = min(0.0, *values), max(1.0, *values)
        return cls(estimate.value, max(estimate.low, least), min(estimate.high, most))

    @classmethod
    def over(cls, values: Sequence[float]) -> Estimate:
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)
        half = Z95 * math.sqrt(variance / len(values))
        return cls(mean, mean - half, mean + half)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores on n prompts, k completions each at the training temperature, and one greedy.

    avg = mean score; pass_at[j] = unbiased chance that the best of j is solved; maj = the majority answer is right.
    by[label][value] = (mean score, completions): accuracy by style, by size, whatever the task labels.
    An unscorable completion is in no mean, only in their number; a prompt that has no other is nan in per_prompt.
    """

    avg: Estimate
    pass_at: dict[int, Estimate]
    maj: Estimate
    greedy: Estimate
    truncated: float
    tokens: float
    n: int
    k: int
    by: dict[str, dict[str, tuple[float, int]]]
    per_prompt: tuple[float, ...] = field(repr=False)
    greedy_by: dict[str, dict[str, tuple[float, int]]] = field(default_factory=dict)
    unscorable: int = 0

    def record(self) -> dict[str, Any]:
        """What summary.json keeps of it."""
        return {
            "avg": self.avg.value,
            "low": self.avg.low,
            "high": self.avg.high,
            "n": self.n,
            "k": self.k,
            "greedy": self.greedy.value,
            "maj": self.maj.value,
            "pass": {str(j): estimate.value for j, estimate in self.pass_at.items()},
            "truncated": self.truncated,
            "mean_length": self.tokens,
            "unscorable": self.unscorable,
            "by": {label: {value: list(pair) for value, pair in values.items()} for label, values in self.by.items()},
            "greedy_by": {
                label: {value: list(pair) for value, pair in values.items()} for label, values in self.greedy_by.items()
            },
        }


def evaluate(
    engine: Engine,
    task: Task,
    prompts: Sequence[Prompt],
    prompt_ids: Sequence[tuple[int, ...]],
    *,
    completions: int,
    sampling: Sampling,
    solved: float = 1.0,
    tolerance: float = TOLERANCE,
    progress: Callable[[int, int], None] | None = None,
    spread: Spread = ALONE,
) -> Evaluation:
    """Sample every prompt `completions` times as `sampling` says and once greedily, and score it all.

    The random streams depend on the prompt's place only, so that two evaluations differ by the policy alone.
    `progress` counts completions, the greedy ones too; what it raises ends the evaluation in the middle of a batch.
    Under several ranks each does its share of the prompts, and all have the result.
    """
    tick = progress or (lambda done, total: None)
    first = len(prompts) * completions
    total = first + len(prompts)
    greedy = Sampling(max_tokens=sampling.max_tokens, temperature=0.0, seed=sampling.seed, stream="greedy")
    asked = [_Asked(i, prompt, ids) for i, (prompt, ids) in enumerate(zip(prompts, prompt_ids, strict=True))]

    def answers(count: int, how: Sampling, before: int) -> list[tuple[Rollout, ...]]:
        def work(mine: Sequence[_Asked]) -> list[tuple[Rollout, ...]]:
            shown = lambda done, _: tick(min(before + done * spread.ranks, total), total)  # noqa: E731
            return _answers(engine, task, mine, count, how, progress=shown)

        return spread.over(asked, work)

    sampled, best = answers(completions, sampling, 0), answers(1, greedy, first)
    scored = [[rollout for rollout in group if not rollout.error] for group in sampled]
    right = [(len(row), sum(solves(r.score, solved, tolerance) for r in row)) for row in scored]
    counts = sorted({*(2**power for power in range(completions.bit_length())), completions})
    everything = [rollout.completion for group in sampled for rollout in group]
    failures = [rollout.error for group in (*sampled, *best) for rollout in group if rollout.error]
    per_prompt = tuple(sum(r.score for r in row) / len(row) if row else math.nan for row in scored)
    return Evaluation(
        avg=Estimate.of_scores(known(per_prompt, failures)),
        pass_at={j: Estimate.of_scores([pass_at(n, c, min(j, n)) for n, c in right if n]) for j in counts},
        maj=Estimate.of_scores([majority([r.answer for r in row], [r.score for r in row]) for row in scored if row]),
        greedy=Estimate.of_scores(known([group[0].score for group in best], failures)),
        truncated=sum(completion.truncated for completion in everything) / len(everything),
        tokens=sum(completion.tokens for completion in everything) / len(everything),
        n=len(prompts),
        k=completions,
        by=breakdown(task, prompts, sampled),
        per_prompt=per_prompt,
        greedy_by=breakdown(task, prompts, best),
        unscorable=len(failures),
    )


def known(scores: Sequence[float], failures: Sequence[str] = ()) -> list[float]:
    """The scores that are not nan.

    Raises:
        RewardError: there is none.
    """
    found = [score for score in scores if not math.isnan(score)]
    if not found:
        such = f", such as {failures[0]}" if failures else ""
        raise RewardError(f"no completion of the held-out prompts could be scored{such}")
    return found


def evaluate_model(config: Config, watch: Watcher) -> Evaluation:
    """Accuracy of `config.model`, which may be a checkpoint's folder, on the held-out prompts of the task."""
    task = find_task(config.task, seed=config.seed, reward=None)
    tokenizer = load_tokenizer(config.model)
    encode = encoder(tokenizer, config)
    task, said = fitting(task, encode, partial(watch.progress, "check prompts"))
    for warning in (*config.warnings, *said):
        watch.warned(warning)
    prompts = task.held_out(config.eval.prompts)
    prompt_ids = list(map(encode, prompts))
    module = load(config.model, dtype=config.train.dtype, device=config.device)
    engine = HFEngine(module, tokenizer, rows=config.rollout.rows)
    tick = partial(watch.progress, "evaluate")
    result = _accuracy(engine, task, prompts, prompt_ids, config=config, progress=tick)
    watch.evaluated(config.model, result)
    task.close()
    return result


def encoder(tokenizer: Any, config: Config) -> Encoder:
    """Prompts to ids as `config` says, within its limit and the model's positions."""
    return Encoder(
        tokenizer,
        max_prompt_tokens=config.task.max_prompt_tokens,
        chat_template=config.task.chat_template,
        positions=positions(config.model),
        max_tokens=config.rollout.max_tokens,
        long_prompts=config.task.data.long_prompts,
    )


def held_out_accuracy(
    engine: Engine,
    task: Task,
    encode: Encoder,
    config: Config,
    *,
    progress: Callable[[int, int], None],
    spread: Spread = ALONE,
) -> Evaluation:
    prompts = task.held_out(config.eval.prompts)
    prompt_ids = [encode(prompt) for prompt in prompts]
    return _accuracy(engine, task, prompts, prompt_ids, config=config, progress=progress, spread=spread)


def _accuracy(
    engine: Engine,
    task: Task,
    prompts: Sequence[Prompt],
    prompt_ids: Sequence[tuple[int, ...]],
    *,
    config: Config,
    progress: Callable[[int, int], None],
    spread: Spread = ALONE,
) -> Evaluation:
    return evaluate(
        engine,
        task,
        prompts,
        prompt_ids,
        completions=config.eval.completions,
        sampling=Sampling(config.rollout.max_tokens, config.rollout.temperature, config.seed, "eval"),
        solved=config.task.solved,
        tolerance=config.rollout.tolerance,
        progress=progress,
        spread=spread,
    )


def paired_difference(before: Evaluation, after: Evaluation) -> Estimate:
    """after - before in avg@k, with the 95% interval of the per-prompt differences, over prompts scored in both."""
    return Estimate.over(known([b - a for a, b in zip(before.per_prompt, after.per_prompt, strict=True)]))


def pass_at(n: int, right: int, k: int) -> float:
    """Chance that at least one of k completions is solved, unbiased from n of which `right` are:
    1 - C(n - right, k) / C(n, k)   (Chen et al. 2021, Eq. 1)
    """
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def majority(answers: Sequence[str], scores: Sequence[float]) -> float:
    """The score of the most frequent answer; tied answers count by their mean, and no answer has no vote."""
    votes = Counter(answer for answer in answers if answer)
    if not votes:
        return 0.0
    most = max(votes.values())
    worth = {answer: score for answer, score in zip(answers, scores, strict=True)}
    winners = [worth[answer] for answer, count in votes.items() if count == most]
    return sum(winners) / len(winners)


def breakdown(
    task: Task, prompts: Sequence[Prompt], groups: Sequence[Sequence[Rollout]]
) -> dict[str, dict[str, tuple[float, int]]]:
    """Mean score and number of scored completions for every value of every label that the task gives."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    scored = [(prompt, r) for prompt, group in zip(prompts, groups, strict=True) for r in group if not r.error]
    for prompt, rollout in scored:
        for label, value in task.labels(prompt, rollout.completion).items():
            found[label][value].append(rollout.score)
    return {
        label: {value: (sum(got) / len(got), len(got)) for value, got in sorted(values.items())}
        for label, values in sorted(found.items())
    }


class _Asked(NamedTuple):
    """A held-out prompt; its place names its random streams."""

    place: int
    prompt: Prompt
    ids: tuple[int, ...]


def _answers(
    engine: Engine,
    task: Task,
    asked: Sequence[_Asked],
    completions: int,
    sampling: Sampling,
    *,
    progress: Callable[[int, int], None],
) -> list[tuple[Rollout, ...]]:
    requests = [Request(draw=one.place, prompt_ids=one.ids, completions=completions) for one in asked]
    groups = list(engine.sample(requests, sampling, progress))
    found = verdicts(task, ((one.prompt, group) for one, group in zip(asked, groups, strict=True)))
    return [tuple(map(Rollout.judged, group, judged)) for group, judged in zip(groups, found, strict=True)]
