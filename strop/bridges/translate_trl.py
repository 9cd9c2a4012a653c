"""TRL's GRPOConfig as a row of strop: what GRPOTrainer 1.16 computes from it (trl/trainer/grpo_trainer.py)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from strop.bridges.keys_trl import DEFAULTS, OTHERS, SCRIPT
from strop.bridges.translate import Draft, Settings, number
from strop.bridges.translate_trl_batch import draft_batch, micro_steps, on_policy
from strop.errors import ConfigError
from strop.names import did_you_mean, nearest

LOSSES = ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo")
SUMMED = ("bnpo", "dr_grpo", "dapo", "cispo", "vespo")
"""Losses that add up tokens: a completion counts as often as it has tokens."""

OF_COMPLETIONS = ("grpo", "sapo", "dr_grpo", "luspo")
"""Losses that divide by the number of completions."""

TRL = "https://github.com/huggingface/trl"
CODE = f"{TRL}/blob/f2cd57710ae345ea6428ae95363267fcf38a3dc8/trl/trainer/grpo_trainer.py"
SAME_ADVANTAGE = "https://arxiv.org/abs/2503.20783"


def draft(given: Mapping[str, Any]) -> Draft:
    """The translation of these settings of a GRPOConfig over its defaults."""
    known = {**DEFAULTS, **dict.fromkeys(OTHERS | SCRIPT)}
    for key in given:
        if key not in known:
            raise ConfigError(f"TRL's GRPOConfig has no setting {key!r}{did_you_mean(nearest(key, known))}")
    settings, made = Settings(given, DEFAULTS), Draft()
    loss = settings.one_of("loss_type", LOSSES)
    made.put("algorithm", _row(settings, loss))
    _advantage(settings, made, loss)
    _ratio(settings, made, loss)
    _trust(settings, made, loss)
    _mean(settings, made, loss)
    _penalties(settings, made, loss)
    _correction(settings, made, loss)
    draft_batch(settings, made)
    _what_is_not_there(settings, made, loss)
    return made


def _row(settings: Settings, loss: str) -> str:
    """The row that is nearest by name; every choice is then written out."""
    if loss == "grpo" and settings["importance_sampling_level"] == "sequence":
        return "gspo"
    return "dapo" if loss == "bnpo" else loss


def _advantage(settings: Settings, made: Draft, loss: str) -> None:
    scale = {True: "group", False: "none"}.get(settings["scale_rewards"], settings["scale_rewards"])
    scale = Settings({"scale_rewards": scale}, {}).one_of("scale_rewards", ("group", "batch", "none"))
    aggregated = settings.one_of("multi_objective_aggregation", ("sum_then_normalize", "normalize_then_sum"))
    if aggregated == "normalize_then_sum":
        made.lack(
            "multi_objective_aggregation",
            "each reward function is standardized within its group and their sum over the batch (GDPO); strop's "
            "advantages are of one reward",
        )
    kind: dict[str, Any] = {"kind": "standardized", "ddof": 1, "eps": 1e-4}
    text = "(R - mean of the group) / (std of the group + 0.0001), the std with n - 1"
    if scale == "none":
        kind, text = {"kind": "centered"}, "R - mean of the group"
    if scale == "batch":
        kind["kind"], text = "batch_standardized", "(R - mean of the group) / (std of all R of the batch + 0.0001)"
        made.lack(
            "scale_rewards",
            "batch divides by the std of the raw rewards of the generation batch; strop's batch_standardized by that "
            "of the group-centred ones, which is smaller",
        )
    made.say("advantage", text)
    made.put("objective.advantage", kind)
    if loss == "dr_grpo" and scale != "none":
        made.trap(
            "scale_rewards",
            f"loss_type dr_grpo changes the mean alone; with scale_rewards {scale} the advantage is still divided by a "
            "std, which Dr. GRPO takes away: set scale_rewards none",
            SAME_ADVANTAGE,
        )


def _ratio(settings: Settings, made: Draft, loss: str) -> None:
    level = settings.one_of("importance_sampling_level", ("token", "sequence"))
    kind, text = "token", "pi / old, token by token"
    if level == "sequence":
        kind, text = "sequence", "one for each completion: exp of the mean log-ratio of its tokens"
    if loss == "vespo":
        kind, text = "sequence_product", "one for each completion: the product of its tokens' ratios"
    if on_policy(settings):
        text += "; exactly 1, since each generation batch is trained once: no bound binds"
    made.say("ratio", text)
    made.put("objective.ratio", {"kind": kind, "anchor": "old"})
    if level == "sequence" and loss in SUMMED:
        made.trap(
            "importance_sampling_level",
            f"a sequence ratio under loss_type {loss}, which adds up tokens, weights each completion by its length; "
            "GSPO is loss_type grpo",
            f"{TRL}/issues/3823",
        )
    if loss == "luspo" and level == "token":
        made.trap(
            "importance_sampling_level",
            "luspo is made for a sequence ratio; with token ratios, the default, it is the mean of the completions' "
            "token sums",
            "https://arxiv.org/abs/2602.05261",
        )


def _trust(settings: Settings, made: Draft, loss: str) -> None:
    low = settings.number("epsilon")
    high = low if settings["epsilon_high"] is None else settings.number("epsilon_high")
    if loss == "cispo":
        _cispo(settings, made, high)
    elif loss == "sapo":
        positive, negative = settings.number("sapo_temperature_pos"), settings.number("sapo_temperature_neg")
        made.say("trust", f"a sigmoid gate, temperature {number(positive)} for A > 0 and {number(negative)} else")
        made.put("objective.trust", {"kind": "gate", "positive": positive, "negative": negative})
    elif loss == "vespo":
        names = ("k_positive", "lambda_positive", "k_negative", "lambda_negative")
        keys = ("vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg")
        made.say("trust", "r^k exp(lambda (1 - r)) as a constant times A logp, r held between 1e-8 and e^20")
        values = {name: settings.number(key) for name, key in zip(names, keys, strict=True)}
        made.put("objective.trust", {"kind": "gamma", **values})
    else:
        _clip(settings, made, low, high)
    if loss in ("sapo", "vespo") and settings.has("epsilon", "epsilon_high", "delta"):
        made.trap("epsilon", f"loss_type {loss} reads neither epsilon nor epsilon_high nor delta")


def _cispo(settings: Settings, made: Draft, cap: float) -> None:
    made.say("trust", f"min(r, {number(cap)}) as a constant times A logp; no lower bound")
    made.put("objective.trust", {"kind": "truncate", "cap": cap})
    if cap <= 1:
        made.trap(
            "epsilon_high",
            f"with loss_type cispo it is the largest weight itself, here {number(cap)}: tokens of a ratio above "
            f"{number(cap)} are trained at {number(cap)} of their gradient. ScaleRL's cap is 5; where epsilon_high is "
            "not set, TRL takes epsilon, 0.2",
            f"{CODE}#L3080",
        )
    if settings["delta"] is not None:
        made.trap("delta", "loss_type cispo does not read it")


def _clip(settings: Settings, made: Draft, low: float, high: float) -> None:
    made.say("trust", f"-min(r A, clamp(r, {number(1 - low)}, {number(1 + high)}) A)")
    trust: dict[str, Any] = {"kind": "clip", "low": min(low, 1.0), "high": high}
    if settings["delta"] is not None:
        delta = settings.number("delta")
        if delta >= 1 + high and delta > 1:
            made.say("dual clip", f"A < 0 is trained up to a ratio of {number(delta)}")
            trust["dual"] = delta
        else:
            made.lack(
                "delta",
                f"{number(delta)} is below 1 + epsilon_high {number(1 + high)}: it also cuts the ratio of gains, which "
                "no dual clip does",
            )
    made.put("objective.trust", trust)
    if settings["loss_type"] == "dapo" and settings["epsilon_high"] is None:
        made.trap(
            "epsilon_high",
            f"not set, so the clip is symmetric at {number(low)}: DAPO's clip-higher is epsilon_high 0.28",
            "https://arxiv.org/abs/2503.14476",
        )


def _mean(settings: Settings, made: Draft, loss: str) -> None:
    if loss in ("grpo", "sapo"):
        made.say("mean", "over a completion's tokens, then over completions; those wholly masked count too, as 0")
        made.put("objective.aggregation", "sequence")
    elif loss == "luspo":
        made.say("mean", "token sums of completions, averaged over completions; those wholly masked count too, as 0")
        made.put("objective.aggregation", {"kind": "constant", "length": 1})
    elif loss == "dr_grpo":
        if settings["max_completion_length"] is None:
            made.lack("max_completion_length", "is not set, and the constant mean divides by it")
        length = settings.whole("max_completion_length") if settings["max_completion_length"] else 512
        made.say("mean", f"token sums over {length}, averaged over completions; those wholly masked count too, as 0")
        made.put("objective.aggregation", {"kind": "constant", "length": length})
    else:
        generation, window = micro_steps(settings)
        over = "the optimizer step" if generation == window else "the generation batch, scaled to the optimizer step"
        made.say("mean", f"over the tokens of {'each micro-batch' if loss == 'bnpo' else over}")
        made.put("objective.aggregation", "token")
    if settings.flag("mask_truncated_completions") and loss in OF_COMPLETIONS:
        made.trap(
            "mask_truncated_completions",
            "a truncated completion leaves the sum and stays in the count of completions, so the others are diluted; "
            "strop counts those with a live token",
            f"{TRL}/issues/6369",
        )


def _penalties(settings: Settings, made: Draft, loss: str) -> None:
    """The KL to the reference and the entropy bonus."""
    terms: list[dict[str, Any]] = []
    beta, level = settings.number("beta"), settings["importance_sampling_level"]
    if beta:
        unbiased = settings.flag("use_bias_correction_kl")
        made.say("kl", f"{number(beta)} * k3 to the reference" + (", times the ratio" if unbiased else ""))
        terms.append({"kind": "kl", "beta": beta, "estimator": "unbiased" if unbiased else "k3"})
        if unbiased and level == "sequence":
            made.lack(
                "use_bias_correction_kl", "multiplies each token's k3 by the completion's ratio; strop's by its own"
            )
        if settings.flag("sync_ref_model"):
            made.lack("sync_ref_model", "the reference follows the policy; strop's is frozen")
    else:
        made.say("kl", "none; no reference model is loaded")
        if loss == "grpo":
            made.trap(
                "beta",
                "is 0, as it is unless it is set: no KL, where GRPO's paper has 0.04",
                "https://arxiv.org/abs/2402.03300",
            )
    bonus = settings.number("entropy_coef")
    if bonus:
        made.say("entropy", f"-{number(bonus)} * the entropy, averaged over the tokens of each micro-batch")
        terms.append({"kind": "entropy", "beta": bonus})
        made.lack("entropy_coef", "its mean is over the tokens of each micro-batch; strop's is the row's own")
    if settings.flag("use_adaptive_entropy"):
        made.lack("use_adaptive_entropy", "strop's entropy bonus has a fixed coefficient")
    made.put("objective.regularizers", terms)


def _correction(settings: Settings, made: Draft, loss: str) -> None:
    """The answer to vLLM's log-probs that are not the trainer's."""
    if not settings.flag("use_vllm") or not settings.flag("vllm_importance_sampling_correction"):
        made.say("correction", "none")
        return
    modes = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
    mode = settings.one_of("vllm_importance_sampling_mode", modes)
    low, high = (settings[f"vllm_importance_sampling_clip_{end}"] for end in ("min", "max"))
    high = settings["vllm_importance_sampling_cap"] or high
    high = math.inf if high is None else float(high)
    made.say("correction", f"{mode}, rho = old / vLLM's, bounds {number(low or 0)} and {number(high)}")
    if mode.endswith("mask"):
        made.put("objective.correction", {"kind": mode, "low": float(low or 0), "high": high})
    else:
        made.put("objective.correction", {"kind": mode, "cap": high})
        if low is not None:
            made.lack("vllm_importance_sampling_clip_min", "strop's truncation has no lower bound")
    if mode == "sequence_mask":
        made.trap(
            "vllm_importance_sampling_mode",
            f"sequence_mask, as it is unless it is set: no token is trained of a completion whose product of ratios "
            f"exceeds {number(high)}, and long ones exceed it more easily",
            f"{CODE}#L2581",
        )
    if loss == "vespo":
        made.lack("vllm_importance_sampling_mode", "vespo multiplies rho into its ratio; strop multiplies the loss")
        if mode == "token_mask":
            text = "under vespo one token set to 0 adds log 1e-8 to the completion's log-ratio, which drops all of it"
            made.trap("vllm_importance_sampling_mode", text, f"{CODE}#L2943")


def _what_is_not_there(settings: Settings, made: Draft, loss: str) -> None:
    """What TRL computes and strop has no name for, and what a loss's name promises and TRL does not do."""
    if settings.number("top_entropy_quantile") < 1:
        made.lack("top_entropy_quantile", "only the tokens of highest entropy have a policy term; strop trains all")
    if settings["off_policy_mask_threshold"] is not None:
        text = "drops completions with A < 0 that drifted (DeepSeek-V3.2); strop has no such mask"
        made.lack("off_policy_mask_threshold", text, "https://arxiv.org/abs/2512.02556")
    if loss == "dapo":
        made.trap(
            "loss_type",
            "dapo is the mean over tokens alone: groups without spread are trained and counted (no dynamic sampling), "
            "and a length penalty is a reward function of yours",
            "https://arxiv.org/abs/2503.14476",
        )
