"""The row of algorithms that a configuration means, and what it asks of the sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strop.config.check import Found, refuse, where
from strop.config.schema import Config
from strop.errors import ConfigError

CHOICES = ("advantage", "ratio", "trust", "aggregation", "regularizers")


def resolve_row(config: Config) -> Any:
    """The strop.algorithms.Algorithm of a configuration, checked against its sampling; imports torch."""
    from strop.algorithms import algorithm

    objective = config.objective.model_dump()
    changes = {name: objective[name] for name in CHOICES if objective[name] != ""}
    length = {"length": config.objective.length or config.rollout.max_tokens}
    _build(config, "algorithm", algorithm, length)
    for name, value in changes.items():
        _build(config, f"objective.{name}", algorithm, {name: value, **length})
    row = _build(config, "algorithm", algorithm, changes | length)
    for key, text in _beside(config, row):
        raise refuse(config, key, text)
    return row


def _build(config: Config, key: str, algorithm: Callable[..., Any], changes: dict[str, Any]) -> Any:
    try:
        return algorithm(config.algorithm, **changes)
    except ConfigError as error:
        text = str(error)
        named = text if text.startswith(key) else f"{key}: {text}"
        raise ConfigError(where(config.sources[key]) + named) from error


def _beside(config: Config, row: Any) -> Found:
    rollout = config.rollout
    if rollout.completions == 1 and _is_relative(row.advantage):
        text = "it compares the completions of a prompt, and one alone always gets 0; use 2 or more completions"
        yield "rollout.completions", f"1 with objective.advantage {row.advantage.kind} ({config.algorithm}): {text}"
    if rollout.filter == "mixed" and rollout.surplus == "carry" and row.anchor == "old":
        text = "use surplus drop, or a row anchored on the sampler such as dppo_tv or scalerl"
        older = f"carry trains groups of older weights, but {config.algorithm} takes its ratio against the current ones"
        yield "rollout.surplus", f"{older}; {text}"


def _is_relative(advantage: Callable[..., Any]) -> bool:
    """Whether completions that are alone in their groups all get advantage 0, whatever their rewards."""
    import torch

    return not advantage(torch.tensor([0.0, 1.0]), torch.tensor([0, 1])).any()
