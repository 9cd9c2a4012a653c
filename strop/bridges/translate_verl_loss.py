"""verl's actor and algorithm settings as the choices of a row: advantage, ratio, trust, mean, KL, correction."""

from __future__ import annotations

import math
from typing import Any

from strop.algorithms import ROWS
from strop.bridges.keys_verl import ACTOR, CORRECTION, LOSS
from strop.bridges.translate import Draft, Settings, number
from strop.bridges.translate_verl_trust import CORE, VERL, draft_ratio, draft_trust
from strop.errors import ConfigError

LOSSES = (
    *("vanilla", "dppo_tv", "dppo_kl", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "dro", "cispo"),
    "bypass_mode",
)
ROWS_OF = {
    **{"dppo_tv": "dppo_tv", "dppo_kl": "dppo_kl", "gspo": "gspo_token", "sapo": "sapo", "cispo": "cispo"},
    "geo_mean": "gmpo",
}
"""Loss mode -> the row that is nearest by name; every choice is then written out."""
MODES = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")
NOT_THERE = {
    "gae": "needs a value model, and strop trains none",
    "reinforce_plus_plus": "is whitened over all tokens, a KL in the reward with it",
    "reinforce_plus_plus_baseline": "is whitened over all tokens after the group's mean is taken off",
    "remax": "takes off the reward of a greedy completion",
    "opo": "takes off a mean of rewards weighted by length",
    "gpg": "scales group-centred rewards by the share of groups with signal",
    "grpo_passk": "rewards the best of a group alone",
    "gdpo": "standardizes each reward function for itself",
    "optimal_token_baseline": "has a baseline for each token",
    "tir_optimal_token_baseline": "has a baseline for each token and turn",
}
GROUPED = {"grpo": "", "grpo_vectorized": "", "rloo": "leave_one_out", "rloo_vectorized": "leave_one_out"}


def draft_loss(settings: Settings, made: Draft, *, alone: bool) -> None:
    """objective of the strop configuration. `alone`: the settings hold nothing of verl's `algorithm`."""
    loss = _loss_mode(settings, made)
    made.put("algorithm", loss.removeprefix("strop_") if loss not in LOSSES else ROWS_OF.get(loss, "dapo"))
    _advantage(settings, made, alone)
    if loss not in LOSSES:
        made.say("loss", f"strop's row {loss.removeprefix('strop_')}, registered with verl")
    else:
        draft_ratio(settings, made, loss)
        draft_trust(settings, made, loss)
        _mean(settings, made, loss)
    _penalties(settings, made)
    _correction(settings, made)


def _loss_mode(settings: Settings, made: Draft) -> str:
    """The loss that is run: bypass_mode of the classic trainer puts its own in the place of the one asked for."""
    rows = [f"strop_{name}" for name in ROWS]
    loss = settings.one_of(f"{LOSS}.loss_mode", [*LOSSES, *rows])
    if settings.flag(f"{CORRECTION}.bypass_mode") and not settings.flag("trainer.use_v1") and loss != "bypass_mode":
        made.trap(
            f"{LOSS}.loss_mode",
            f"bypass_mode of the classic trainer runs {settings[f'{CORRECTION}.loss_type']} instead of {loss}",
            f"{VERL}/pull/5397",
        )
        loss = "bypass_mode"
    if loss == "bypass_mode":
        return "gpg" if settings[f"{CORRECTION}.loss_type"] == "reinforce" else "vanilla"
    return loss


def _advantage(settings: Settings, made: Draft, alone: bool) -> None:
    kind = settings.one_of("algorithm.adv_estimator", [*GROUPED, *NOT_THERE])
    value: dict[str, Any] = {"kind": "standardized", "ddof": 1, "eps": 1e-6}
    if alone:
        text = "set by algorithm.adv_estimator, which is not among these settings"
        made.lack("algorithm.adv_estimator", "not given; verl's default gae needs a value model. The row takes grpo's")
    elif kind in NOT_THERE:
        text = f"{kind}: {NOT_THERE[kind]}"
        default = "" if settings.has("algorithm.adv_estimator") else ", verl's default,"
        made.lack("algorithm.adv_estimator", f"{kind}{default} {NOT_THERE[kind]}. The row takes grpo's")
    elif GROUPED[kind]:
        value, text = {"kind": "leave_one_out"}, "R - mean of the others of the group"
    elif settings.flag("algorithm.norm_adv_by_std_in_grpo"):
        text = "(R - mean of the group) / (std of the group + 1e-06), the std with n - 1"
    else:
        value, text = {"kind": "centered"}, "R - mean of the group"
    made.say("advantage", text)
    made.put("objective.advantage", value)
    if settings.flag("algorithm.use_pf_ppo"):
        made.lack("algorithm.use_pf_ppo", "draws the batch again by its scores; strop trains every group once")


def _mean(settings: Settings, made: Draft, loss: str) -> None:
    mode = settings.one_of(f"{ACTOR}.loss_agg_mode", MODES)
    if loss in ("sapo", "geo_mean"):
        if mode != "seq-mean-token-mean":
            made.trap(
                f"{ACTOR}.loss_agg_mode",
                f"{mode} is not read: {loss} takes a mean over each completion, then over completions; KL and entropy "
                "terms do take it",
                f"{CORE}#L1545",
            )
        mode = "seq-mean-token-mean"
    if loss == "gspo" and mode == "token-mean":
        made.trap(
            f"{ACTOR}.loss_agg_mode",
            "token-mean, verl's default, weights completions by their length; GSPO averages over completions: "
            "seq-mean-token-mean",
            "https://arxiv.org/abs/2507.18071",
        )
    text, value = _mean_of(settings, made, mode)
    made.say("mean", text)
    made.put("objective.aggregation", value)


def _mean_of(settings: Settings, made: Draft, mode: str) -> tuple[str, Any]:
    rows = "then over the rows of the mini-batch, those wholly masked too"
    if mode == "token-mean":
        return "over the tokens of the mini-batch, on all ranks", "token"
    if mode == "token-sum":
        made.lack(
            f"{ACTOR}.loss_agg_mode", "token-sum is no mean: steps grow with the batch. The row takes the token mean"
        )
        return "none: a sum over tokens", "token"
    if mode == "seq-mean-token-mean":
        return f"over a completion's tokens, {rows}", "sequence"
    if mode == "seq-mean-token-sum":
        return f"a completion's token sum, {rows}", {"kind": "constant", "length": 1}
    if settings[f"{ACTOR}.loss_scale_factor"] is not None:
        length = settings.whole(f"{ACTOR}.loss_scale_factor")
        return f"a completion's token sum over {length}, {rows}", {"kind": "constant", "length": length}
    made.trap(
        f"{ACTOR}.loss_scale_factor",
        "null divides by the padded width, of each micro-batch where rows are packed: set it to the largest response "
        "length",
        f"{VERL}/pull/5366",
    )
    made.lack(f"{ACTOR}.loss_scale_factor", "the padded width changes; the row divides by data.max_response_length")
    length = settings.whole("data.max_response_length")
    return f"a completion's token sum over the padded width, {rows}", {"kind": "constant", "length": length}


KL_TYPES = {"low_var_kl": "k3", "k3": "k3", "mse": "k2", "k2": "k2"}
NO_KL = ("kl", "k1", "abs")


def _penalties(settings: Settings, made: Draft) -> None:
    terms: list[dict[str, Any]] = []
    if settings.flag(f"{ACTOR}.use_kl_loss"):
        terms += _kl(settings, made)
    else:
        made.say("kl", "none in the loss")
    bonus = settings.number(f"{ACTOR}.entropy_coeff")
    if bonus:
        made.say("entropy", f"-{number(bonus)} * the entropy, by the same mean")
        terms.append({"kind": "entropy", "beta": bonus})
    if settings.flag("algorithm.use_kl_in_reward"):
        made.lack(
            "algorithm.use_kl_in_reward", "strop has no KL in the reward; a k2 or unbiased KL in the loss acts alike"
        )
    elif settings.has("algorithm.kl_ctrl.kl_coef"):
        made.trap("algorithm.kl_ctrl.kl_coef", "does nothing while algorithm.use_kl_in_reward is False")
    made.put("objective.regularizers", terms)


def _kl(settings: Settings, made: Draft) -> list[dict[str, Any]]:
    key = f"{ACTOR}.kl_loss_type"
    names = [*KL_TYPES, *NO_KL]
    kind = settings.one_of(key, [*names, *(f"{name}+" for name in names)])
    beta = settings.number(f"{ACTOR}.kl_loss_coef")
    made.say(
        "kl",
        f"{number(beta)} * {kind} to the reference, by the same mean" + "; its gradient is k2's" * (kind[-1] == "+"),
    )
    if kind in ("kl", "k1"):
        made.trap(
            key,
            "k1 as a loss has a gradient of mean zero: the reference only adds noise. low_var_kl+ has the KL's own",
            "https://github.com/allenai/open-instruct/issues/534",
        )
        made.lack(key, "strop refuses k1 in the loss; the row has no KL")
        return []
    if kind == "abs":
        made.lack(key, "strop has no |logp - ref|; the row has no KL")
        return []
    return [{"kind": "kl", "beta": beta, "estimator": KL_TYPES.get(kind, "k2")}]


def _correction(settings: Settings, made: Draft) -> None:
    level = settings[f"{CORRECTION}.rollout_is"]
    if settings.flag(f"{CORRECTION}.bypass_mode"):
        made.say("correction", "none: the ratio itself is taken against the sampler")
        level = None
    elif level is None:
        made.say("correction", "none")
    else:
        _importance(settings, made, settings.one_of(f"{CORRECTION}.rollout_is", ("token", "sequence")))
    if settings[f"{CORRECTION}.rollout_rs"] is not None:
        made.lack(
            f"{CORRECTION}.rollout_rs",
            f"{settings[f'{CORRECTION}.rollout_rs']} takes tokens or rows out of the mask before anything is counted, "
            "and under bypass_mode after it; strop's corrections change no count",
            f"{VERL}/issues/4852",
        )


def _importance(settings: Settings, made: Draft, level: str) -> None:
    key = f"{CORRECTION}.rollout_is_threshold"
    low, _, high = str(settings[key]).rpartition("_")
    try:
        bottom, top = float(low or 0), float(high)
    except ValueError:
        raise ConfigError(f"{key} is {settings[key]!r}; verl takes a number, or LOW_HIGH") from None
    if low:
        made.say("correction", f"{level} rho = old / sampler, 0 outside {number(bottom)} to {number(top)}")
        value: dict[str, Any] = {"kind": f"{level}_mask", "low": bottom, "high": top}
    else:
        made.say("correction", f"{level} rho = old / sampler, at most {number(top)}")
        value = {"kind": f"{level}_truncate", "cap": top if top else math.inf}
    made.put("objective.correction", value)
    if settings.flag(f"{CORRECTION}.rollout_is_batch_normalize"):
        made.lack(
            f"{CORRECTION}.rollout_is_batch_normalize", "divides the weights by their mean; strop's stay as they are"
        )
