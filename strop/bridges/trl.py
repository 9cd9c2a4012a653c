"""A TRL trainer whose loss is a strop row: `StropGRPOTrainer` is GRPOTrainer with one thing replaced.

    from strop.bridges.trl import StropGRPOTrainer                       in the place of: from trl import GRPOTrainer
    trainer = StropGRPOTrainer(..., row="dapo_prompt")                   or row=strop.algorithm(...)

Generation, rewards, data, logging, checkpoints and the optimizer stay TRL's. Replaced are the loss, and the advantages
in it: the row's own, over the same rewards. Every token's weight is made from counts of the whole accumulation window,
of all micro-batches on all processes that one optimizer step sums: it is prepared before its first micro-step.

Read in TRL 1.16.0: trainer/grpo_trainer.py (_prepare_inputs, _generate_and_score_completions, _compute_loss) and in
transformers 5.24.0: trainer.py (_run_epoch, get_batch_samples, training_step). Other versions are refused by name.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor

from strop.algorithms import Algorithm, algorithm, filled
from strop.bridges.peers import demand
from strop.bridges.trl_settings import check, check_model, warn
from strop.metrics import Mean, Metric, Metrics, Sum, merge
from strop.objective.aggregation import Counts, count
from strop.objective.objective import objective
from strop.objective.streams import Streams

GROUP, GENERATION, PROMPT, COUNTS = "strop_group", "strop_generation", "strop_prompt", "strop_counts"
"""Columns added to TRL's: each completion's group among those of its generation batch [B], the running number of that
batch [], and, once the window is known, the prompt's index in the window [B] and the window's counts."""

STREAMS = {"old_logp": "old_per_token_logps", "sampler_logp": "sampling_per_token_logps"}


class RowLoss:
    """GRPOTrainer with the loss of a strop row, weighed over the true accumulation window.

    It takes what GRPOTrainer takes, and `row`: a name of strop's table, or a row made with `strop.algorithm`.

    Raises:
        ConfigError: a setting that a row cannot be trained under, by name; a row that does not exist.
    """

    args: Any
    accelerator: Any
    model: Any
    row: Algorithm
    num_generations: int
    num_generations_eval: int
    reward_weights: Tensor
    _logs: dict[str, Any]
    _metrics: dict[str, Any]
    _step: int
    _get_per_token_logps_and_entropies: Any

    def __init__(self, *arguments: Any, row: str | Algorithm, **named: Any) -> None:
        self.row = algorithm(row) if isinstance(row, str) else row
        given = inspect.signature(super().__init__).bind(*arguments, **named).arguments
        if given.get("args") is not None:
            check(self.row, given["args"], given)
        self._raw: list[Any] = []
        self._ready: deque[dict[str, Any]] = deque()
        self._generations = 0
        self._parts: list[Metrics] = []
        self._windows: dict[str, list[Metrics]] = {"train": [], "eval": []}
        super().__init__(*arguments, **named)
        check(self.row, self.args, given)
        check_model(self)
        warn(self.row, self.args, given)
        self.row = filled(self.row, self.args.max_completion_length or 0)

    # The window: transformers hands over the raw batches of one optimizer step, TRL makes completions of them.

    def get_batch_samples(self, *arguments: Any, **named: Any) -> tuple[list[Any], Any]:
        """The raw batches of the next optimizer step, kept until its first micro-step."""
        samples, items = super().get_batch_samples(*arguments, **named)  # type: ignore[misc]
        self._raw, self._ready, self._parts = list(samples), deque(), []
        return samples, items

    def _prepare_inputs(self, raw: Any) -> Any:
        """The next micro-batch of the window; at its first micro-step the whole window is prepared."""
        if not self.model.training:
            return super()._prepare_inputs(raw)  # type: ignore[misc]
        if not self._ready:
            self._ready = deque(self._window())
        return self._ready.popleft()

    def _window(self) -> list[dict[str, Any]]:
        """Every micro-batch of this process until the next optimizer step, each with the counts of all processes.

        TRL picks the part of a generation batch, and the moment to generate the next, by `_step`: it is moved over the
        window and put back. No optimizer step lies inside a window, so what is generated early is what would be later.
        """
        first = self._step
        parts: list[dict[str, Any]] = []
        for raw in self._raw:
            parts.append(super()._prepare_inputs(raw))  # type: ignore[misc]
            self._step += 1
        self._step = first
        groups = self.args.generation_batch_size // self.num_generations
        order = {number: place for place, number in enumerate(sorted({int(part[GENERATION]) for part in parts}))}
        prompts = [part[GROUP] + order[int(part[GENERATION])] * groups for part in parts]
        counts = self._counts([self._live(part) for part in parts], prompts, len(order) * groups)
        return [{**part, PROMPT: prompt, COUNTS: counts} for part, prompt in zip(parts, prompts, strict=True)]

    def _counts(self, live: list[Tensor], prompts: list[Tensor], size: int) -> Counts:
        """The counts of the window over all its micro-batches and processes: one sum over processes."""
        prompt_S = torch.cat(prompts)
        tokens_S = torch.cat([keep.sum(1) for keep in live])
        mine = count(torch.repeat_interleave(torch.arange(tokens_S.numel()).to(tokens_S), tokens_S), prompt_S, size)
        total = self.accelerator.reduce(torch.cat([mine.tokens_P, mine.sequences[None]]), "sum")
        return Counts(total[:-1], total[-1])

    # Advantages: TRL gathers the rewards of all processes, the row takes its own advantage of them.

    def _calculate_rewards(self, *arguments: Any, **named: Any) -> Tensor:
        """Rewards of every completion on every process, by reward function: kept for the row's advantage."""
        self._rewards: Tensor = super()._calculate_rewards(*arguments, **named)  # type: ignore[misc]
        return self._rewards

    def _generate_and_score_completions(self, inputs: list[Any]) -> dict[str, Any]:
        """TRL's columns, with the row's advantages in the place of TRL's, and each completion's group."""
        columns = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        size = self.num_generations if self.model.training else self.num_generations_eval
        weighed = self._rewards * self.reward_weights.to(self._rewards.device)
        reward = weighed.nansum(1).masked_fill(self._rewards.isnan().all(1), torch.nan)
        group = torch.arange(reward.numel(), device=reward.device) // size
        mine = slice(self.accelerator.process_index * len(inputs), (self.accelerator.process_index + 1) * len(inputs))
        advantage = self.row.advantage(reward, group)
        replace_last(self._logs["advantages"], advantage.tolist())
        self._generations += 1
        return {
            **columns,
            "advantages": advantage[mine],
            GROUP: group[mine],
            GENERATION: torch.tensor(self._generations),
        }

    # The loss: a plain sum of weight times loss.

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """The share of this micro-batch in the loss of its window; in evaluation the loss of the batch given."""
        live = self._live(inputs)
        out = objective(self.row, self._streams(model, inputs, live))
        if not self.model.training:
            self._measure("eval", [out.metrics])
            return out.value
        self._parts.append(out.metrics)
        if not self._ready:
            self._measure("train", self._parts)
        return out.value * self._undone()

    def _undone(self) -> float:
        """What the loss is multiplied by, so that the gradient is the window's sum: the one place for all such factors.

        DDP averages gradients over processes, so their number. TRL tells transformers that its losses are scaled for
        accumulation already (loss_is_scaled_for_ga), and accelerate is told to accumulate 1: neither divides.
        """
        return float(self.accelerator.num_processes)

    def _streams(self, model: Any, inputs: Mapping[str, Any], live: Tensor) -> Streams:
        """The streams of one micro-batch, at the live tokens."""
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        seen = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        logp, entropy, _ = self._get_per_token_logps_and_entropies(
            model, ids, seen, inputs["completion_ids"].size(1), compute_entropy=True
        )
        logp_N, entropy_N, seq_N = logp[live], entropy[live], live.nonzero()[:, 0]
        old_logp_N = _at(inputs, "old_per_token_logps", live, logp_N.detach())
        return Streams(
            logp_N=logp_N,
            advantage_N=inputs["advantages"][seq_N],
            weight_N=self.row.weights(seq_N, inputs.get(PROMPT, inputs[GROUP]), inputs.get(COUNTS)),
            seq_N=seq_N,
            old_logp_N=old_logp_N,
            sampler_logp_N=_at(inputs, "sampling_per_token_logps", live, old_logp_N),
            ref_logp_N=_at(inputs, "ref_per_token_logps", live, None),
            entropy_N=entropy_N if "entropy" in self.row.reads else entropy_N.detach(),
        )

    def _live(self, inputs: Mapping[str, Any]) -> Tensor:
        """The tokens that train: TRL's mask, less tokens whose sampler log-prob is read and is not finite."""
        live = inputs["completion_mask"] != 0
        if "tool_mask" in inputs:
            live = live & (inputs["tool_mask"] != 0)
        if "sampler_logp" in self.row.reads and "sampling_per_token_logps" in inputs:
            live = live & inputs["sampling_per_token_logps"].isfinite()
        return live

    # Metrics: sums with weights, merged over micro-batches, processes, and the windows of one log line.

    def _measure(self, mode: str, parts: list[Metrics]) -> None:
        from accelerate.utils import gather_object  # pyright: ignore[reportMissingImports]

        self._windows[mode].append(merge(gather_object([merge(parts)])))

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """TRL's log line with the row's metrics, over all windows since the last one."""
        mode = "train" if self.model.training else "eval"
        for name, metric in over_windows(self._windows[mode]).items():
            self._metrics[mode][name] = [metric.mean]
        self._windows[mode] = []
        super().log(logs, start_time)  # type: ignore[misc]


def over_windows(windows: list[Metrics]) -> dict[str, Metric]:
    """Metrics of several optimizer steps: means and extremes of all their tokens, sums per step. The loss is TRL's."""
    merged = merge(windows)
    steps = float(len(windows))
    return {
        name: Mean(metric.total, steps) if isinstance(metric, Sum) else metric
        for name, metric in merged.items()
        if name != "loss"
    }


def replace_last(logged: deque[float], values: list[float]) -> None:
    """The last entries of TRL's table of completions, which it has just written, become these."""
    for _ in range(min(len(values), len(logged))):
        logged.pop()
    logged.extend(values)


def _at(inputs: Mapping[str, Any], name: str, live: Tensor, other: Tensor | None) -> Tensor | None:
    value = inputs.get(name)
    return other if value is None else value[live]


@cache
def trainer() -> type[Any]:
    """The class StropGRPOTrainer, made from the installed TRL.

    Raises:
        ConfigError: TRL is not installed, or is of another version.
    """
    demand("trl")
    from trl import GRPOTrainer  # pyright: ignore[reportMissingImports]

    return type("StropGRPOTrainer", (RowLoss, GRPOTrainer), {"__doc__": RowLoss.__doc__, "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name != "StropGRPOTrainer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return trainer()
