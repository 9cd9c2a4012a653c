"""A row in words and in plain mathematics: what each of its choices is called, and what it computes.

n a trained token, i a completion, g its group, sg stop-gradient, mu and pi the sampler's and the policy's probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strop.algorithms import Algorithm

CHOICES = ("advantage", "aggregation", "ratio", "trust", "correction", "regularizers")
"""In the order they run: credit and weights once for a batch, the others in each forward pass."""


def name_of(choice: Any) -> str:
    """A choice with its numbers: 'clip(low=0.2, high=0.28)'. Infinite bounds and a topk of 0 are left out."""
    if isinstance(choice, tuple):
        return ", ".join(map(name_of, choice)) or "-"
    if choice is None:
        return "-"
    if choice.kind == "constant" and not choice.length:
        return "constant(rollout.max_tokens)"
    numbers = [f"{name}={_number(value)}" for name, value in values_of(choice).items() if not absent(name, value)]
    return f"{choice.kind}({', '.join(numbers)})" if numbers else choice.kind


def absent(name: str, value: Any) -> bool:
    """Whether a number stands for nothing: an infinite bound, no topk, a length that a run fills in."""
    return value == math.inf or (name in ("topk", "length") and not value)


def values_of(choice: Any) -> dict[str, Any]:
    return {field.name: getattr(choice, field.name) for field in fields(choice)}


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def plain_row(row: Algorithm) -> dict[str, Any]:
    """A row as plain data."""
    record: dict[str, Any] = {"row": row.name, "summary": row.summary}
    for choice in CHOICES:
        record[choice] = plain_choice(getattr(row, choice))
    return record | {
        "reads": sorted(row.reads),
        "anchor": row.anchor,
        "source": row.source,
        "deviations": list(row.deviations),
    }


def plain_choice(choice: Any) -> Any:
    """A choice as the {kind: ..., field: ...} that a configuration takes; no correction is "none"."""
    if isinstance(choice, tuple):
        return [plain_choice(one) for one in choice]
    if choice is None:
        return "none"
    return {"kind": choice.kind, **values_of(choice)}


def formula(row: Algorithm) -> list[str]:
    """The row's loss, one line for each choice."""
    policy = "l_n" if row.correction is None else "c_n l_n"
    terms = " + ".join([policy, *(f"{one.kind}_n" for one in row.regularizers)])
    lines = [f"loss  = sum_n w_n ({terms})" if row.regularizers else f"loss  = sum_n w_n {policy}"]
    for choice in CHOICES:
        lines += [FORMULAS[choice][one.kind](one) for one in members(getattr(row, choice))]
    return lines


def members(choice: Any) -> list[Any]:
    """The records of a choice: one, those of a tuple, or none."""
    return list(choice) if isinstance(choice, tuple) else [] if choice is None else [choice]


def _standardized(choice: Any) -> str:
    n = "n - 1" if choice.ddof else "n"
    return f"A_i   = (R_i - mean_g) / (std_g + {choice.eps:g}),   std_g divides by {n}"


def _batch_standardized(choice: Any) -> str:
    return f"A_i   = (R_i - mean_g) / (std of R - mean_g over the batch + {choice.eps:g})"


def _sequence_ratio(choice: Any) -> str:
    return f"r_n   = exp(mean over the completion of (logp - {choice.anchor}_logp))"


def _sequence_token_ratio(choice: Any) -> str:
    return f"r_n   = sg(exp(mean over the completion of (logp - {choice.anchor}_logp))) * exp(logp_n - sg(logp_n))"


def _sequence_product_ratio(choice: Any) -> str:
    return f"r_n   = exp(sum over the completion of (logp - {choice.anchor}_logp))"


def _clip(choice: Any) -> str:
    text = f"l_n   = -min(r_n A, clamp(r_n, {1 - choice.low:g}, {1 + choice.high:g}) A)"
    return text if choice.dual == math.inf else f"{text},   at most {choice.dual:g} |A| where A < 0"


def _divergence(choice: Any) -> str:
    weight = "r_n" if choice.cap == math.inf else f"min(r_n, {choice.cap:g})"
    distance = (TOP if choice.topk else BINARY)[choice.measure]
    if choice.topk:
        distance += f",   b the sampler's {choice.topk} most likely tokens, the sampled one, all others"
    return (
        f"l_n   = -A sg(M_n {weight}) (1 + logp_n - sg(logp_n)),   "
        f"M_n = 0 where A > 0, r_n > 1, D_n > {choice.high:g} or A < 0, r_n < 1, D_n > {choice.low:g}, else 1,   "
        f"D_n = {distance}"
    )


BINARY = {"tv": "|mu - pi|", "kl": "mu log(mu / pi) + (1 - mu) log((1 - mu) / (1 - pi))"}
TOP = {"tv": "sum_b |mu_b - pi_b| / 2", "kl": "sum_b mu_b log(mu_b / pi_b)"}


def _truncate(choice: Any) -> str:
    return f"l_n   = -A sg(min(r_n, {choice.cap:g})) logp_n"


def _gate(choice: Any) -> str:
    tau = f"tau = {choice.positive:g} where A > 0, else {choice.negative:g}"
    return f"l_n   = -A (4 / tau) sigmoid(tau (r_n - 1)),   {tau}"


def _gamma(choice: Any) -> str:
    gain, loss = (choice.k_positive, choice.lambda_positive), (choice.k_negative, choice.lambda_negative)
    numbers = f"(k, lambda) = ({gain[0]:g}, {gain[1]:g}) where A >= 0, else ({loss[0]:g}, {loss[1]:g})"
    return f"l_n   = -A sg(r_n^k exp(lambda (1 - r_n))) logp_n,   {numbers}"


def _geometric(choice: Any) -> str:
    return (
        "l_n   = -A exp(mean over the completion of q),   "
        f"q = min(log r, {choice.high:g}) where A > 0, max(log r, {-choice.low:g}) where A < 0"
    )


RHO = "rho = exp(old_logp - sampler_logp)"
PRODUCT = "product of rho over the completion"


def _sequence_mask(choice: Any) -> str:
    decides = {"product": PRODUCT, "geometric": "geometric mean of rho over the completion"}[choice.mean]
    times = {"product": PRODUCT, "token": "rho_n", "one": "1"}[choice.times]
    return f"c_n   = {times} where the {decides} is in {_between(choice)}, else 0,   {RHO}"


def _between(choice: Any) -> str:
    return f"[{choice.low:g}, {choice.high:g}]"


def _constant(choice: Any) -> str:
    return f"w_n   = 1 / (S {choice.length or 'rollout.max_tokens'}),   S completions in the batch"


KL = {
    "k2": "d^2 / 2",
    "k3": "(exp(-d) - 1 + d)",
    "unbiased": "r_n (exp(-d) - 1 + d)",
}


def _kl(choice: Any) -> str:
    return f"kl_n  = {choice.beta:g} {KL[choice.estimator]},   d = logp_n - ref_logp_n"


FORMULAS: dict[str, dict[str, Callable[[Any], str]]] = {
    "advantage": {
        "standardized": _standardized,
        "centered": lambda _: "A_i   = R_i - mean_g",
        "leave_one_out": lambda _: "A_i   = R_i - mean of the other R of g",
        "batch_standardized": _batch_standardized,
    },
    "ratio": {
        "token": lambda choice: f"r_n   = exp(logp_n - {choice.anchor}_logp_n)",
        "sequence": _sequence_ratio,
        "sequence_token": _sequence_token_ratio,
        "sequence_product": _sequence_product_ratio,
    },
    "trust": {
        "clip": _clip,
        "divergence": _divergence,
        "truncate": _truncate,
        "gate": _gate,
        "gamma": _gamma,
        "geometric": _geometric,
        "open": lambda _: "l_n   = -r_n A",
    },
    "correction": {
        "token_truncate": lambda choice: f"c_n   = min(rho_n, {choice.cap:g}),   {RHO}",
        "sequence_truncate": lambda choice: f"c_n   = min({PRODUCT}, {choice.cap:g}),   {RHO}",
        "token_mask": lambda choice: f"c_n   = rho_n where it is in {_between(choice)}, else 0,   {RHO}",
        "sequence_mask": _sequence_mask,
    },
    "aggregation": {
        "token": lambda _: "w_n   = 1 / T,   T tokens in the batch",
        "prompt": lambda _: "w_n   = 1 / (P T_g),   P prompts in the batch, T_g tokens in the prompt's group",
        "sequence": lambda _: "w_n   = 1 / (S L_i),   S completions in the batch, L_i tokens in the completion",
        "constant": _constant,
    },
    "regularizers": {
        "kl": _kl,
        "entropy": lambda choice: f"entropy_n = {-choice.beta:g} H_n,   H_n the policy's entropy at the token",
    },
}
"""Choice -> kind -> its formula. Every kind of strop.algorithms.KINDS is here; a test sees to it."""
