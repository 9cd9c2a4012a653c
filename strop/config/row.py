"""The row of algorithms that a configuration means, and what it asks of the sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strop.config.check import Found, refuse, where
from strop.config.schema import Config
from strop.errors import ConfigError

CHOICES = ("advantage", "ratio", "trust", "aggregation", "regularizers", "correction")


def resolve_row(config: Config) -> Any:
    """The strop.algorithms.Algorithm of a configuration, checked against its sampling; imports torch.

    A constant mean without a length of its own divides by `objective.length`, or by `rollout.max_tokens`.
    """
    from strop.algorithms import algorithm, filled

    objective = config.objective.model_dump()
    given = {name: objective[name] for name in CHOICES if objective[name] != ""}
    length = {"length": objective["length"]} if objective["length"] else {}
    _build(config, "algorithm", algorithm, {})
    changes: dict[str, Any] = {}
    for name, value in given.items():
        changes[name] = value
        _build(config, f"objective.{name}", algorithm, changes)
    row = filled(_build(config, "objective.length", algorithm, changes | length), config.rollout.max_tokens)
    for key, text in _beside(config, row):
        raise refuse(config, key, text)
    return row


def row_warnings(config: Config) -> tuple[str, ...]:
    """Settings that have no effect under the row."""
    mean = config.row.aggregation.kind
    if not config.objective.length or mean == "constant":
        return ()
    text = f"has no effect: the mean is {mean}, and only a constant one divides by a length"
    return (f"{where(config.sources['objective.length'])}objective.length {text}",)


def _build(config: Config, key: str, algorithm: Callable[..., Any], changes: dict[str, Any]) -> Any:
    try:
        return algorithm(config.algorithm, **changes)
    except ConfigError as error:
        raise ConfigError(f"{where(config.sources[key])}{key}: {error}") from error


def _beside(config: Config, row: Any) -> Found:
    rollout = config.rollout
    if rollout.completions == 1 and _is_relative(row.advantage):
        text = "it compares the completions of a prompt, and one alone always gets 0; use 2 or more completions"
        yield "rollout.completions", f"1 with objective.advantage {row.advantage.kind} ({config.algorithm}): {text}"
    if rollout.filter == "mixed" and rollout.surplus == "carry" and row.anchor == "old" and row.correction is None:
        text = "use surplus drop, an objective.correction, or a row anchored on the sampler such as dppo_tv or scalerl"
        older = f"carry trains groups of older weights, but {config.algorithm} takes its ratio against the current ones"
        yield "rollout.surplus", f"{older}; {text}"


def _is_relative(advantage: Callable[..., Any]) -> bool:
    """Whether completions that are alone in their groups all get advantage 0, whatever their rewards."""
    import torch

    return not advantage(torch.tensor([0.0, 1.0]), torch.tensor([0, 1])).any()
