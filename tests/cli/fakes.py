"""Runs without a model: what the screen and the commands are fed in these tests."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from strop.evaluate import Estimate, Evaluation
from strop.types import Completion, Group, Prompt, Rollout


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.02, value + 0.02)


def evaluation(value: float, **changes: Any) -> Evaluation:
    fields: dict[str, Any] = {
        "avg": estimate(value),
        "pass_at": {1: estimate(value), 2: estimate(value + 0.1), 8: estimate(value + 0.2)},
        "maj": estimate(value),
        "greedy": estimate(value + 0.05),
        "truncated": 0.03,
        "tokens": 23.4,
        "n": 256,
        "k": 8,
        "by": {"size": {"10": (0.4, 30), "2": (0.5, 100)}, "style": {"direct": (0.3, 4)}},
        "per_prompt": (value,),
        "greedy_by": {"size": {"2": (0.6, 12)}},
    }
    return Evaluation(**(fields | changes))


def rollout(text: str, *, score: float = 0.0, penalty: float = 0.0, tokens: int = 3, cut: bool = False) -> Rollout:
    completion = Completion((1,) * tokens, (0.0,) * tokens, text, "length" if cut else "stop", 0)
    return Rollout(completion, score, penalty)


def group(*rollouts: Rollout, prompt: str = "4+7-2=") -> Group:
    return Group(0, Prompt(prompt, prompt), (1,), rollouts)


def record(step: int, **more: Any) -> dict[str, Any]:
    return {
        "step": step,
        "accuracy/all": 0.3,
        "reward/trained": 0.4,
        "completions/mean_length": 23.12,
        "entropy": 0.2,
        "clip_ratio/low_mean": 0.001,
        "clip_ratio/high_mean": 0.0123,
        "groups/generated": 64,
        "groups/trained": 32,
        "time/step": 5.67,
        **more,
    }


def summary(**more: Any) -> dict[str, Any]:
    counts = {"trained": 32, "all_right": 10, "all_wrong": 9, "errored": 0, "dropped": 13, "carried": 0}
    return {
        "verdict": "improved",
        "gain": {"avg": 0.6, "low": 0.58, "high": 0.63},
        "accuracy_after": {"k": 8},
        "ledger": {"generated": 64, **counts},
        "steps": 12,
        "seconds": 280.4,
        **more,
    }


def plain_console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, highlight=False, markup=False, emoji=False), out


def terminal() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=True, width=100, highlight=False, markup=False, emoji=False), out
