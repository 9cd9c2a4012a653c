"""TRL's batch sizes as strop's: what is sampled at once, what an optimizer step sees, which window its mean is over."""

from __future__ import annotations

from typing import Any

from strop.bridges.translate import Draft, Settings, number
from strop.errors import ConfigError

TRL = "https://github.com/huggingface/trl"
REFUSED = {"top_p": 1.0, "top_k": 0, "min_p": None, "repetition_penalty": 1.0, "generation_kwargs": None}
"""Settings under which the sampler's distribution is not the policy's, and their harmless values."""


def micro_steps(settings: Settings) -> tuple[int, int]:
    """Micro-steps that a generation batch is cut into, and those of one optimizer step."""
    accumulated = settings.whole("gradient_accumulation_steps")
    rows, given = settings.whole("per_device_train_batch_size"), settings["generation_batch_size"]
    if not accumulated or not rows:
        raise ConfigError("gradient_accumulation_steps and per_device_train_batch_size must be 1 or more")
    if given is not None and settings["steps_per_generation"] is not None:
        raise ConfigError("generation_batch_size and steps_per_generation: TRL takes one of them, not both")
    if given is not None:
        if settings.whole("generation_batch_size") % rows:
            raise ConfigError(f"generation_batch_size {given} is no multiple of per_device_train_batch_size {rows}")
        return max(1, settings.whole("generation_batch_size") // rows), accumulated
    if settings["steps_per_generation"] is None:
        return accumulated, accumulated
    return max(1, settings.whole("steps_per_generation")), accumulated


def on_policy(settings: Settings) -> bool:
    """Whether TRL takes the current log-probs, detached, as the old ones."""
    generation, window = micro_steps(settings)
    corrected = settings.flag("use_vllm") and settings.flag("vllm_importance_sampling_correction")
    return window % (generation * settings.whole("num_iterations")) == 0 and not corrected


def draft_batch(settings: Settings, made: Draft) -> None:
    """rollout and train of the strop configuration, and the traps of TRL's windows."""
    _rollout(settings, made)
    _window(settings, made)
    _optimizer(settings, made)


def _rollout(settings: Settings, made: Draft) -> None:
    generation, window = micro_steps(settings)
    rows = settings.whole("per_device_train_batch_size") * generation
    group = settings.whole("num_generations")
    if group < 2 or rows % group:
        raise ConfigError(
            f"num_generations {group}: TRL needs 2 or more, and a generation batch of {rows} rows that is a multiple"
        )
    batches = max(1, window // generation) if window % generation == 0 else 1
    prompts = rows // group * batches
    made.say("data", f"prompts a step: {prompts} in one process, completions of each: {group}; no group is filtered")
    made.put("rollout.prompts", prompts)
    made.put("rollout.completions", group)
    length = settings["max_completion_length"]
    if length is not None:
        made.put("rollout.max_tokens", settings.whole("max_completion_length"))
    made.put("rollout.temperature", settings.number("temperature"))
    made.put("rollout.filter", "none")
    made.put("rollout.overlong", {"buffer": 0, "mask_truncated": settings.flag("mask_truncated_completions")})
    for key, harmless in REFUSED.items():
        if settings[key] not in (harmless, {}):
            made.lack(
                key,
                f"{settings[key]}: tokens are not drawn from the policy's whole distribution, and its log-probs are "
                "not those of what was drawn; strop refuses it",
                f"{TRL}/issues/4159",
            )


def _window(settings: Settings, made: Draft) -> None:
    """Which tokens a token mean counts, and over how many optimizer steps a generation batch goes."""
    generation, window = micro_steps(settings)
    loss = settings["loss_type"]
    if loss in ("dapo", "cispo", "vespo") and generation != window:
        made.trap(
            "steps_per_generation",
            f"{generation} with gradient_accumulation_steps {window}: tokens are counted over the generation batch and "
            "scaled to a window, so a step of short completions is trained too small and one of long ones too large",
            f"{TRL}/issues/5619",
        )
        made.lack("loss_type", f"{loss} divides by the generation batch's tokens; the row by those of each update")
    if loss == "bnpo":
        made.trap(
            "loss_type",
            "bnpo averages over the tokens of each micro-batch and process, then over these: other batch sizes or "
            "processes, another gradient",
            f"{TRL}/pull/5828",
        )
        made.lack("loss_type", "bnpo's mean depends on the split; the row's is over the tokens of the update")
    _updates(settings, made, generation, window)


def _updates(settings: Settings, made: Draft, generation: int, window: int) -> None:
    updates, passes = max(1, generation // window), settings.whole("num_iterations")
    prompts = made.config["rollout"]["prompts"]
    if generation % window and window % generation:
        text = f"steps_per_generation {generation} and gradient_accumulation_steps {window}: windows straddle batches"
        made.lack("steps_per_generation", text)
    if window > generation and passes > 1:
        made.lack("num_iterations", "an optimizer step mixes passes over several generation batches; strop's does not")
    elif updates > 1:
        made.lack("steps_per_generation", "rows are shuffled before they are cut into steps; strop deals whole groups")
    if updates > prompts:
        made.lack(
            "steps_per_generation", f"{updates} steps over {prompts} prompts; strop deals one group at least to each"
        )
    made.say("steps", f"optimizer steps for each generation batch: {updates}, passes over it: {passes}")
    made.put("train.updates", min(updates, prompts))
    made.put("train.passes", passes)


def _optimizer(settings: Settings, made: Draft) -> None:
    values: dict[str, Any] = {"learning_rate": "learning_rate", "adam.weight_decay": "weight_decay"}
    betas = {"adam.beta1": "adam_beta1", "adam.beta2": "adam_beta2"}
    for key, name in {**values, **betas, "max_grad_norm": "max_grad_norm"}.items():
        made.put(f"train.{key}", settings.number(name))
    warmup = settings.number("warmup_steps")
    if 0 < warmup < 1:
        made.lack("warmup_steps", f"{number(warmup)} is a share of all steps; strop's is a number of steps")
    else:
        made.put("train.warmup_steps", int(warmup))
    if settings["lr_scheduler_type"] not in ("constant", "constant_with_warmup"):
        named = settings["lr_scheduler_type"]
        made.lack("lr_scheduler_type", f"{named}: the learning rate falls afterwards; strop's stays")
    made.put("seed", settings.whole("seed"))
