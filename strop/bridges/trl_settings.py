"""Which settings of TRL a row can be trained under: the refused by name, and those that no longer mean anything.

A row's five choices take the place of TRL's loss settings. What would add to the loss behind the row's back, or needs
numbers that TRL does not keep, is refused when the trainer is made, in one line that says what to do.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from strop.errors import ConfigError
from strop.objective.aggregation import Constant, PromptMean
from strop.objective.objective import Algorithm

STREAMS = frozenset({"old_logp", "sampler_logp", "ref_logp", "entropy"})
"""What TRL can give a row."""

DECIDED = (
    *("loss_type", "epsilon", "epsilon_high", "delta", "importance_sampling_level", "scale_rewards"),
    *("sapo_temperature_neg", "sapo_temperature_pos", "use_bias_correction_kl"),
    *("vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg"),
)
"""Settings in whose place the row stands."""


class Refusal(NamedTuple):
    """A setting, whether its value is refused, and what to do about it."""

    name: str
    refused: Callable[[Any], bool]
    reason: str


def _on(value: Any) -> bool:
    return bool(value)


REFUSALS = (
    Refusal(
        "entropy_coef",
        lambda value: value != 0,
        "it adds a term to the loss; give the row regularizers=[{'kind': 'entropy', 'beta': ...}]",
    ),
    Refusal("use_adaptive_entropy", _on, "it adds a term to the loss; a row's entropy bonus has one beta"),
    Refusal("top_entropy_quantile", lambda value: value < 1, "a row trains every live token; set it to 1.0"),
    Refusal(
        "off_policy_mask_threshold", lambda value: value is not None, "it drops completions; give the row a correction="
    ),
    Refusal(
        "multi_objective_aggregation",
        lambda value: value != "sum_then_normalize",
        "a row's advantage is taken of the weighted sum of the rewards; set it to 'sum_then_normalize'",
    ),
    Refusal("parallelism_config", lambda value: value is not None, "processes would share completions"),
    Refusal("deepspeed", _on, "how it scales gradients was not verified; use DDP"),
    Refusal("fsdp", _on, "how it scales gradients was not verified; use DDP"),
)
"""Refused for every row."""

SAMPLING = (
    Refusal("top_p", lambda value: value < 1, "use 1.0"),
    Refusal("top_k", _on, "use 0"),
    Refusal("min_p", _on, "use None"),
    Refusal("repetition_penalty", lambda value: value != 1, "use 1.0"),
    Refusal("generation_kwargs", _on, "use None"),
    Refusal("use_transformers_continuous_batching", _on, "use plain generation"),
)
"""Refused for a row that reads the sampler's log-probs, where TRL re-scores completions and calls that the sampler."""


def check(row: Algorithm, args: Any, given: Mapping[str, Any]) -> None:
    """Nothing, where the row can be trained under `args` (a GRPOConfig) and what else the trainer is given, by name.

    Raises:
        ConfigError: a setting that is refused, by name; a stream that TRL does not have.
    """
    for name in sorted(row.reads - STREAMS):
        raise ConfigError(f"{row.name} reads {name}, which TRL does not have: take another row")
    for name in ("tools", "environment_factory"):
        if given.get(name):
            raise ConfigError(f"{name} is refused: completions of several turns were not verified")
    _refuse(REFUSALS, args, "")
    if args.use_vllm and args.vllm_importance_sampling_correction:
        raise ConfigError(
            "vllm_importance_sampling_correction=True multiplies the loss: set it to False and give the row correction="
        )
    if "sampler_logp" in row.reads and not args.use_vllm and given.get("rollout_func") is None:
        why = f" ({row.name} reads the sampler's log-probs, and re-scored ones would be of another distribution)"
        _refuse(SAMPLING, args, why)
    if row.aggregation == Constant() and args.max_completion_length is None:
        raise ConfigError(f"{row.name} divides by a fixed length: set max_completion_length, or give the row length=")
    _check_beta(row, args.beta)


def check_model(trainer: Any) -> None:
    """Nothing, where the trainer's model and its way of spreading it over processes are ones that were verified."""
    if trainer.aux_loss_enabled:
        raise ConfigError("router_aux_loss_coef adds a term to the loss: set it to 0.0")
    if trainer._is_vlm:
        raise ConfigError("models that read images are refused: their inputs were not verified")
    if trainer.is_deepspeed_enabled or trainer.is_fsdp_enabled:
        raise ConfigError("DeepSpeed and FSDP are refused: how they scale gradients was not verified; use DDP")


def _refuse(refusals: tuple[Refusal, ...], args: Any, why: str) -> None:
    for name, refused, reason in refusals:
        value = getattr(args, name)
        if refused(value):
            raise ConfigError(f"{name}={value!r} is refused: {reason}{why}")


def _check_beta(row: Algorithm, beta: float) -> None:
    """TRL's beta is what loads the reference; the row's is what the loss is made with: they are one number."""
    wanted = [one.beta for one in row.regularizers if one.kind == "kl"]
    if not wanted and beta != 0:
        raise ConfigError(
            f"beta={beta} loads a reference model, and {row.name} has no KL: set beta=0.0, or give the row "
            f"regularizers=[{{'kind': 'kl', 'beta': {beta}}}]"
        )
    if wanted and beta != wanted[0]:
        raise ConfigError(
            f"{row.name} has a KL of beta {wanted[0]} and GRPOConfig has beta={beta}: give both the same, "
            "TRL's is what loads the reference model"
        )


def warn(row: Algorithm, args: Any, given: Mapping[str, Any]) -> None:
    """A warning for each thing that is given and does not do what one may think: in one line each."""
    defaults = {field.name: field.default for field in dataclasses.fields(args)}
    idle = [f"{name}={getattr(args, name)!r}" for name in DECIDED if getattr(args, name) != defaults[name]]
    if idle:
        _warn(f"the row {row.name} decides the loss: {', '.join(idle)} has no effect")
    if row.correction is not None and not args.use_vllm and given.get("rollout_func") is None:
        _warn(
            f"the correction {row.correction.kind} has no effect: the policy samples by itself, and TRL keeps no "
            "other log-probs of its completions"
        )
    if row.aggregation == PromptMean() and args.gradient_accumulation_steps % args.steps_per_generation:
        _warn(
            f"steps_per_generation={args.steps_per_generation} does not divide gradient_accumulation_steps="
            f"{args.gradient_accumulation_steps}: TRL deals a prompt's completions to several optimizer steps, and in "
            "each of them the prompt's mean is over those that are there"
        )


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)
