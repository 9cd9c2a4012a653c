"""What verl's policy losses compute: each under each loss_agg_mode, found among strop's formulas, then cut into parts.

Every gradient comes from verl's own `ppo_loss` (verl_step.py); the formulas are those of verl_formulas.py.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import torch
from torch import Tensor

from strop.algorithms import algorithm, filled
from strop.bridges import verl
from strop.bridges.against import AGREES, Row, measured
from strop.bridges.hard import GROUPS, LENGTHS, LONGEST, MASKED, exact_gradient, hard_batch
from strop.bridges.verl_formulas import CLIP, DUAL, OPEN, SUM, error, exact, far, found, gradient_of
from strop.bridges.verl_step import Layout, actor, gradient, step

MEAN_OF = {
    "token-mean": "token",
    "token-sum": SUM,
    "seq-mean-token-sum": "constant(1)",
    "seq-mean-token-mean": "sequence",
    "seq-mean-token-sum-norm": f"constant({LONGEST})",
}
"""loss_agg_mode -> the mean that it is meant to be, with loss_scale_factor set to the longest completion."""

MODES = tuple(MEAN_OF)
TOKENS, NORM = MODES[0], MODES[-1]
SETTINGS: dict[str, dict[str, Any]] = {"dro": {"loss": {"dro_beta": 0.5}}}
"""What a loss needs beyond verl's defaults."""

EVERY = list(range(len(LENGTHS)))
WHOLE: Layout = [[EVERY]]
FOUR: Layout = [[EVERY[i : i + 4] for i in range(0, len(EVERY), 4)]]
RANKS: Layout = [[EVERY[8 * rank + i : 8 * rank + i + 4] for i in (0, 4)] for rank in (0, 1)]
IN_FOUR, ON_RANKS, UNDIVIDED = "4 micro-batches", "2 ranks x 2 micro-batches", "undivided"

NO_ROW = {
    "clip_cov": (CLIP, "no row: detaches tokens of high covariance, drawn at random in each micro-batch"),
    "kl_cov": (OPEN, "no row: adds |log r| on the tokens of highest covariance of each micro-batch"),
    "cispo": ("truncate(1.2)", "no row: its weight is held from below too, at 1 - clip_ratio_low"),
}
"""Losses that are no formula here: what they are compared with instead, and why."""

NOTES = {
    "vanilla": "clip_ratio_c 3 is always on",
    "dppo_tv": "against old_log_probs, which verl scores again without bypass_mode; clip_ratio_c 3 caps the ratio",
    "dppo_kl": "clip_ratio 0.2 is its KL threshold, where the paper has 0.05; clip_ratio_c 3 caps the ratio",
    "gspo": "GSPO-token; obeys loss_agg_mode, whose default token-mean is not GSPO's mean over completions",
    "sapo": "loss_agg_mode is not read",
    "gpg": "no ratio and no trust region",
    "geo_mean": "GMPO; neither loss_agg_mode nor the counts of the batch are read",
    "dro": "no ratio; dro_beta 0.5 draws back to old_log_probs",
    "bypass_mode": "vanilla against what stands in old_log_probs: there the sampler's",
}
"""What the first row of a loss says beside its formula."""


def rows() -> list[Row]:
    """The report: every loss undivided, then cut into parts, the known faults, and strop's rows in the same place."""
    return [*undivided(), *divided(), *untold(), *faults(), *bridged()]


def losses() -> list[str]:
    """The policy losses that the installed verl registers itself."""
    registry = importlib.import_module("verl.trainer.ppo.core_algos").POLICY_LOSS_REGISTRY
    return [name for name in registry if not name.startswith("strop_")]


def config(loss: str, mode: str) -> Any:
    """verl's defaults for one of its losses, but for the length that the constant mean divides by."""
    return actor(loss, loss_agg_mode=mode, loss_scale_factor=LONGEST, **SETTINGS.get(loss, {}))


@cache
def whole(loss: str, mode: str) -> Tensor:
    """A loss's gradient on the undivided batch.    [B, T]"""
    return gradient(far(masked=False), WHOLE, config(loss, mode))


def compared(got: Tensor, loss: str, mode: str, layout: str, *, name: str = "", note: str = "") -> Row:
    """A gradient beside the formula that the loss has undivided, or beside the one that stands in for it."""
    formula = None if loss in NO_ROW else found(whole(loss, mode))
    form, why = NO_ROW.get(loss, (OPEN, "no formula found"))
    beside = formula or (form, MEAN_OF[mode])
    if not formula:
        note = f"{why}; compared with {' / '.join(beside)}"
    agrees = " / ".join(formula) if formula else ""
    return measured(got, exact(*beside), name=name or f"{loss}, {mode}", layout=layout, agrees_with=agrees, note=note)


def undivided() -> Iterator[Row]:
    """One row for each loss and loss_agg_mode; one alone for a loss that all of them leave the same."""
    for loss in losses():
        note = NOTES.get(loss, "")
        if all(torch.equal(whole(loss, TOKENS), whole(loss, mode)) for mode in MODES):
            name = f"{loss}, every loss_agg_mode"
            yield compared(whole(loss, TOKENS), loss, TOKENS, UNDIVIDED, name=name, note=note)
            continue
        for mode in MODES:
            yield compared(whole(loss, mode), loss, mode, UNDIVIDED, note=note if mode == TOKENS else "")


def divided() -> Iterator[Row]:
    """In parts, with the counts of the whole batch: vanilla under every loss_agg_mode, the others under token-mean."""
    pairs = [("vanilla", mode) for mode in MODES] + [(loss, TOKENS) for loss in losses() if loss != "vanilla"]
    for loss, mode in pairs:
        for layout, name in ((FOUR, IN_FOUR), (RANKS, ON_RANKS)):
            yield compared(gradient(far(masked=False), layout, config(loss, mode)), loss, mode, name)


def untold() -> Iterator[Row]:
    """Without the counts, as a loop of one's own calls the losses: verl falls back to those of the micro-batch."""
    note = "without batch_num_tokens and global_batch_size: means of micro-batches, added up"
    for mode in MODES:
        got = gradient(far(masked=False), FOUR, config("vanilla", mode), told=False)
        yield compared(got, "vanilla", mode, f"{IN_FOUR}, no counts", note=note)


def faults() -> Iterator[Row]:
    """What public reports name, each on this installed code."""
    yield from width()
    yield from dual()
    yield from masked_rows()
    yield from under_the_mask()
    got = gradient(far(masked=False), WHOLE, actor("cispo", clip_ratio_low=1.0, clip_ratio_high=4.0))
    yield beside(got, "truncate(5)", "token", name="cispo, clip_ratio_low 1, clip_ratio_high 4")


def beside(got: Tensor, form: str, mean: str, *, name: str, layout: str = UNDIVIDED, note: str = "") -> Row:
    """A gradient beside a formula that it is meant to be; the row agrees where it is."""
    right = exact(form, mean)
    agrees = f"{form} / {mean}" if error(got, right) <= AGREES else ""
    note = note or ("" if agrees else f"compared with {form} / {mean}")
    return measured(got, right, name=name, layout=layout, agrees_with=agrees, note=note)


def width() -> Iterator[Row]:
    note = "loss_scale_factor None: each micro-batch is divided by its own longest completion"
    for layout, name in ((WHOLE, UNDIVIDED), (FOUR, IN_FOUR)):
        got = gradient(far(masked=False), layout, actor(loss_agg_mode=NORM))
        yield beside(got, DUAL, MEAN_OF[NORM], name="vanilla, no loss_scale_factor", layout=name, note=note)


def dual() -> Iterator[Row]:
    note = f"clip_ratio_c 3 stops tokens with A < 0 and ratio above 3; compared with {CLIP} / token"
    yield beside(whole("vanilla", TOKENS), CLIP, "token", name="vanilla, clip_ratio_c at its default", note=note)
    got = gradient(far(masked=False), WHOLE, actor(clip_ratio_c=1e9))
    yield beside(got, CLIP, "token", name="vanilla, clip_ratio_c 1e9")


def masked_rows() -> Iterator[Row]:
    batch, live = far(masked=True), len(LENGTHS) - len(MASKED)
    note = f"divides by all {len(LENGTHS)} rows, of which {live} have a token"
    for mode, mean in MEAN_OF.items():
        got, right = gradient(batch, WHOLE, config("vanilla", mode)), gradient_of(DUAL, mean, batch)
        same = error(got, right) <= AGREES
        yield measured(
            got,
            right,
            name=f"vanilla, {mode}, 2 rows masked",
            layout=UNDIVIDED,
            agrees_with=f"{DUAL} / {mean}" if same else "",
            note="" if same else note,
        )


def under_the_mask() -> Iterator[Row]:
    """A log-prob that is no number, under a 0 of the mask in a row that has live tokens."""
    batch = far(masked=False)
    batch.mask[1, 0] = False
    bad = replace(batch, logp=batch.logp.clone())
    bad.logp[1, 0] = math.nan
    for loss, mode in product(("vanilla", "gspo"), (TOKENS, "seq-mean-token-mean")):
        got = step(bad, WHOLE, config(loss, mode))
        right = gradient_of(DUAL if loss == "vanilla" else f"sequence_token ratio, {CLIP}", MEAN_OF[mode], batch)
        lost = int(got.gradient.isnan().sum())
        note = f"the loss is {got.loss:.3g}, the gradient of {lost} log-probs is NaN"
        name = f"{loss}, {mode}, one NaN masked"
        yield measured(got.gradient, right, name=name, layout=UNDIVIDED, agrees_with="", note=note)


BRIDGED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("dapo", TOKENS, {}),
    ("dapo_prompt", verl.COLUMN_MODE, {}),
    ("grpo", "seq-mean-token-mean", {"use_kl_loss": True, "kl_loss_coef": 0.04}),
    ("gspo", "seq-mean-token-mean", {}),
    ("dr_grpo", NORM, {"loss_scale_factor": LONGEST}),
)


def bridged() -> Iterator[Row]:
    """strop's rows, registered with verl and called by its ppo_loss; the KL term of grpo is verl's own."""
    verl.register()
    batch = hard_batch(masked=False)
    for name, mode, settings in BRIDGED:
        row = filled(algorithm(name), LONGEST)
        column = verl.weights(row, batch.mask, GROUPS).double() if mode == verl.COLUMN_MODE else None
        for layout, cut in ((FOUR, IN_FOUR), (RANKS, ON_RANKS)):
            setup = actor(f"strop_{name}", loss_agg_mode=mode, **settings)
            got, right = gradient(batch, layout, setup, column=column), exact_gradient(row, batch)
            agrees = f"strop's {name}" if error(got, right) <= AGREES else ""
            yield measured(got, right, name=f"strop_{name}, {mode}", layout=cut, agrees_with=agrees)
