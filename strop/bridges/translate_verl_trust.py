"""verl's loss modes as the ratio and the trust region of a row."""

from __future__ import annotations

from typing import Any

from strop.bridges.keys_verl import ACTOR, CORRECTION, LOSS
from strop.bridges.translate import Draft, Settings, number
from strop.errors import ConfigError

VERL = "https://github.com/verl-project/verl"
CODE = f"{VERL}/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl"
CORE = f"{CODE}/trainer/ppo/core_algos.py"


def _anchor(settings: Settings) -> str:
    return "sampler" if settings.flag(f"{CORRECTION}.bypass_mode") else "old"


def draft_ratio(settings: Settings, made: Draft, loss: str) -> None:
    anchor = _anchor(settings)
    kind = "sequence_token" if loss == "gspo" else "token"
    of = "one for each completion, its gradient token by token (GSPO-token)" if loss == "gspo" else "token by token"
    text = "none: 1 everywhere" if loss in ("gpg", "dro") else f"pi / {anchor}, {of}"
    made.say("ratio", text)
    made.put("objective.ratio", {"kind": kind, "anchor": anchor})
    if loss.startswith("dppo") and anchor == "old":
        made.trap(
            f"{LOSS}.loss_mode",
            "DPPO's anchor is the sampler; here it is what stands in old_log_probs, which verl scores again unless "
            f"{CORRECTION}.bypass_mode is on (V1 trainer)",
            f"{VERL}/pull/5397",
        )


def _bounds(settings: Settings, made: Draft) -> tuple[float, float]:
    """clip_ratio_low and clip_ratio_high; clip_ratio stands in for one that is null."""
    shared = settings.number(f"{ACTOR}.clip_ratio")
    keys = (f"{ACTOR}.clip_ratio_low", f"{ACTOR}.clip_ratio_high")
    low, high = (shared if settings[key] is None else settings.number(key) for key in keys)
    if settings.has(f"{ACTOR}.clip_ratio") and shared not in (low, high):
        made.trap(
            f"{ACTOR}.clip_ratio",
            f"{number(shared)} is not read: clip_ratio_low {number(low)} and clip_ratio_high {number(high)} stand over "
            "it, with 0.2 as their own defaults",
            f"{CODE}/workers/config/actor.py",
        )
    return low, high


def draft_trust(settings: Settings, made: Draft, loss: str) -> None:
    low, high = _bounds(settings, made)
    cap = settings.number(f"{ACTOR}.clip_ratio_c")
    if loss in ("vanilla", "gspo", "clip_cov"):
        _clip(settings, made, loss, (low, high, cap))
    elif loss.startswith("dppo"):
        _divergence(settings, made, loss, (low, high, cap))
    elif loss == "cispo":
        _cispo(made, low, high)
    elif loss == "sapo":
        positive, negative = settings.number(f"{ACTOR}.tau_pos"), settings.number(f"{ACTOR}.tau_neg")
        made.say("trust", f"a sigmoid gate, temperature {number(positive)} for A > 0 and {number(negative)} else")
        made.put("objective.trust", {"kind": "gate", "positive": positive, "negative": negative})
    elif loss == "geo_mean":
        made.say(
            "trust", f"the geometric mean of a completion's ratios, log-ratios held at {number(-low)}, {number(high)}"
        )
        made.put("objective.trust", {"kind": "geometric", "low": low, "high": high})
        made.trap(
            f"{LOSS}.loss_mode",
            "geo_mean averages over each micro-batch and adds these up: its gradient grows with their number, and "
            "neither loss_agg_mode nor the size of the batch is read",
            f"{VERL}/issues/7913",
        )
        made.lack(f"{LOSS}.loss_mode", "geo_mean's mean depends on the split; the row's is over the update")
    else:
        _open(settings, made, loss)


def _clip(settings: Settings, made: Draft, loss: str, given: tuple[float, float, float]) -> None:
    low, high, cap = given
    made.say("trust", f"-min(r A, clamp(r, {number(1 - low)}, {number(1 + high)}) A)")
    trust: dict[str, Any] = {"kind": "clip", "low": min(low, 1.0), "high": high}
    if loss == "vanilla":
        if cap <= 1:
            raise ConfigError(f"{ACTOR}.clip_ratio_c is {number(cap)}; verl needs more than 1")
        made.say("dual clip", f"A < 0 is trained up to a ratio of {number(cap)}")
        trust["dual"] = cap
        made.trap(
            f"{ACTOR}.clip_ratio_c",
            f"dual clip is always on, here at {number(cap)} (3 unless it is set): GRPO and DAPO have none, DAPO's "
            "script sets 10",
            f"{CODE}/workers/config/actor.py#L164",
        )
    if loss == "clip_cov":
        text = "detaches a few tokens of high covariance, drawn at random in each micro-batch; the row trains them all"
        made.lack(f"{LOSS}.loss_mode", f"clip_cov {text}", "https://arxiv.org/abs/2505.22617")
    made.put("objective.trust", trust)


def _divergence(settings: Settings, made: Draft, loss: str, given: tuple[float, float, float]) -> None:
    low, high, cap = given
    measure = loss.removeprefix("dppo_")
    made.say(
        "trust",
        f"a token is dropped beyond {measure} {number(low)} down, {number(high)} up; ratio at most {number(cap)}",
    )
    trust = {"kind": "divergence", "measure": measure, "low": low, "high": high, "cap": cap}
    made.put("objective.trust", trust)
    if cap <= 3:
        made.trap(
            f"{ACTOR}.clip_ratio_c",
            f"caps the ratio at {number(cap)} (3 unless it is set); DPPO's paper has no cap, or 5, and finds 3 harmful",
            f"{CODE}/workers/config/actor.py#L164",
        )
    if measure == "kl" and max(low, high) >= 0.2:
        text = f"{number(low)} is the KL threshold here (0.2 unless it is set), where the paper has 0.05"
        made.trap(f"{ACTOR}.clip_ratio_low", text, "https://arxiv.org/abs/2602.04879")


def _cispo(made: Draft, low: float, high: float) -> None:
    held = f"r held in {number(max(1 - low, 0))} to {number(1 + high)}"
    made.say("trust", f"{held}, as a constant times A logp")
    made.put("objective.trust", {"kind": "truncate", "cap": 1 + high})
    if low < 1:
        made.trap(
            f"{ACTOR}.clip_ratio_low",
            f"cispo is two-sided: {held}. MiniMax-M1 has no lower bound, which is clip_ratio_low 1; ScaleRL's cap of "
            "5 is clip_ratio_high 4",
            f"{CORE}#L2048",
        )
        made.lack(f"{ACTOR}.clip_ratio_low", "strop's truncate has no lower bound")


def _open(settings: Settings, made: Draft, loss: str) -> None:
    """Losses without a trust region."""
    made.put("objective.trust", "open")
    if loss == "gpg":
        made.say("trust", "none: -A logp")
        made.lack(
            f"{LOSS}.loss_mode", "gpg has no ratio; the row's open trust has one, which is 1 at the first update only"
        )
    elif loss == "dro":
        beta = settings[f"{LOSS}.dro_beta"]
        if beta is None:
            raise ConfigError(f"{LOSS}.dro_beta is not set, and verl's dro needs it above 0")
        made.say("trust", f"none: -A logp + {number(beta)} / 2 * (log r)^2")
        made.lack(f"{LOSS}.loss_mode", "dro draws the policy back to old_log_probs; strop has no such term")
    else:
        made.say("trust", "none: -r A, and |log r| on the tokens of highest covariance")
        text = "kl_cov adds |log r| on a share of the micro-batch's tokens; the row does not"
        made.lack(f"{LOSS}.loss_mode", text, "https://arxiv.org/abs/2505.22617")
