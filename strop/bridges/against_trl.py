"""What TRL's losses compute: each loss_type on the undivided batch, found among strop's rows, then cut into parts.

Every gradient comes from TRL's own _prepare_inputs and compute_loss (trl_step.py), every formula from strop.reference.
At the end stand strop's rows, by the trainer of strop.bridges.trl in the same cuts. Where a cut has several optimizer
steps each is compared with the formula over its own completions, and the worst is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from torch import Tensor

from strop.algorithms import algorithm
from strop.bridges.against import AGREES, Row, measured
from strop.bridges.hard import LENGTHS, LONGEST, MASKED, HardBatch, exact_gradient, hard_batch
from strop.bridges.trl import trainer
from strop.bridges.trl_step import Cut, Run, Step
from strop.objective.objective import Algorithm

UNDIVIDED = "undivided"
CUTS = {
    "4 micro-batches": Cut(generate=4, accumulate=4, micro_steps=4),
    "2 processes x 2 micro-batches": Cut(generate=2, accumulate=2, processes=2, micro_steps=2),
    "steps_per_generation 4, gradient_accumulation_steps 2": Cut(generate=4, accumulate=2, micro_steps=8),
    "steps_per_generation 2, gradient_accumulation_steps 4": Cut(generate=2, accumulate=4, micro_steps=4),
}

APART = 1.2
"""The deviation of the log-ratios compared: wide, so that a cap of 5 binds too."""

DAPO = {"epsilon_high": 0.28}
GSPO = {"importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4}
LUSPO = {"importance_sampling_level": "sequence", "epsilon": 2e-3, "epsilon_high": 2.5e-3}

LOSSES: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo", **DAPO},
    "grpo, beta 0.04": {"loss_type": "grpo", "beta": 0.04},
    "grpo, beta 0.04, use_bias_correction_kl False": {
        **{"loss_type": "grpo", "beta": 0.04},
        "use_bias_correction_kl": False,
    },
    "grpo, importance_sampling_level sequence": {"loss_type": "grpo", **GSPO},
    "bnpo": {"loss_type": "bnpo", **DAPO},
    "dr_grpo": {"loss_type": "dr_grpo", **DAPO},
    "dapo": {"loss_type": "dapo", **DAPO},
    "dapo, epsilon_high not set": {"loss_type": "dapo"},
    "dapo, importance_sampling_level sequence": {"loss_type": "dapo", **GSPO},
    "cispo, epsilon_high 5": {"loss_type": "cispo", "epsilon_high": 5.0},
    "cispo, epsilon_high not set": {"loss_type": "cispo"},
    "sapo": {"loss_type": "sapo"},
    "vespo": {"loss_type": "vespo"},
    "luspo, importance_sampling_level sequence": {"loss_type": "luspo", **LUSPO},
    "luspo": {"loss_type": "luspo", "epsilon": 2e-3, "epsilon_high": 2.5e-3},
}
"""Losses of TRL: what is set beside the defaults of GRPOConfig. max_completion_length is the longest completion."""

EVEN = {"kind": "clip", "low": 0.2, "high": 0.2}
FORMULAS: dict[str, Algorithm] = {
    "dapo": algorithm("dapo"),
    "dapo_prompt": algorithm("dapo_prompt"),
    "dapo with aggregation sequence": algorithm("dapo", aggregation="sequence"),
    "dr_grpo with trust clip 0.2/0.28": algorithm("dr_grpo", trust="clip", length=LONGEST),
    "dapo with trust clip 0.2/0.2": algorithm("dapo", trust=EVEN),
    "dr_grpo": algorithm("dr_grpo", length=LONGEST),
    "grpo": algorithm("grpo"),
    "grpo with kl estimator unbiased": algorithm(
        "grpo", regularizers={"kind": "kl", "beta": 0.04, "estimator": "unbiased"}
    ),
    "gspo": algorithm("gspo"),
    "gspo with aggregation token": algorithm("gspo", aggregation="token"),
    "cispo": algorithm("cispo"),
    "cispo with cap 0.2": algorithm("cispo", trust={"kind": "truncate", "cap": 0.2}),
    "sapo": algorithm("sapo"),
    "vespo": algorithm("vespo"),
    "luspo": algorithm("luspo"),
    "luspo with ratio token": algorithm("luspo", ratio="token"),
}
"""The rows that a loss is looked for among. Advantages are handed in, so a row's own says nothing here."""

GENERATION = "divides by the generation batch's tokens, times gradient_accumulation_steps / steps_per_generation"
NOTES = {
    "bnpo": "each micro-batch is divided by its own tokens",
    **dict.fromkeys((name for name in LOSSES if name.startswith(("dapo", "cispo", "vespo"))), GENERATION),
}
"""Why a loss, cut, is not what it was undivided."""

DEFAULTS = {
    "cispo, epsilon_high not set": "every importance weight is capped at epsilon, 0.2",
    "grpo, beta 0.04": "use_bias_correction_kl is on by default: the KL is multiplied by the ratio, with its gradient",
    "dapo, importance_sampling_level sequence": "weighs a completion by its length: not GSPO's mean over completions",
    "luspo": "importance_sampling_level is token by default: LUSPO's ratio is the sequence's",
}

BRIDGED = ("dapo", "dapo_prompt", "dppo_tv", "gspo_token")


def rows() -> list[Row]:
    """The report: every loss undivided, with completions masked, and cut; then strop's rows in the same cuts."""
    return [*undivided(), *masked(), *divided(), *bridged()]


@cache
def batch(*, masked: bool = False) -> HardBatch:
    return hard_batch(masked=masked, apart=APART)


def trl(settings: Mapping[str, Any], of: HardBatch, cut: Cut) -> list[Step]:
    """The optimizer steps of TRL's own trainer."""
    from trl import GRPOTrainer  # pyright: ignore[reportMissingImports]

    return Run(GRPOTrainer, {"max_completion_length": LONGEST, **settings}, of, cut).steps()


def strop(row: Algorithm, of: HardBatch, cut: Cut) -> list[Step]:
    """The optimizer steps of the trainer whose loss is a row."""
    return Run(trainer(), {}, of, cut, {"row": row}).steps()


def error(got: Tensor, right: Tensor) -> float:
    """|g - g*| / |g*|"""
    return float((got - right).norm() / right.norm())


@cache
def found(loss: str) -> str:
    """The row whose gradient a loss has on the undivided batch; "" where none has it."""
    [step] = trl(LOSSES[loss], batch(), Cut())
    trained = batch().rows(step.rows)
    gaps = {name: error(step.gradient, exact_gradient(row, trained)) for name, row in FORMULAS.items()}
    nearest = min(gaps, key=lambda name: gaps[name])
    return nearest if gaps[nearest] <= AGREES else ""


def worst(steps: list[Step], row: Algorithm, of: HardBatch, **named: str) -> Row:
    """The step that is furthest from the formula over its own completions."""
    compared = [measured(step.gradient, exact_gradient(row, of.rows(step.rows)), **named) for step in steps]
    return max(compared, key=lambda one: one.gradient_error)


def undivided() -> Iterator[Row]:
    for loss, settings in LOSSES.items():
        formula = found(loss)
        steps = trl(settings, batch(), Cut())
        row = worst(steps, FORMULAS[formula or "dapo"], batch(), name=loss, layout=UNDIVIDED, agrees_with=formula)
        yield replace(row, note=DEFAULTS.get(loss, "") if formula else "no row found; compared with dapo")


def masked() -> Iterator[Row]:
    """With two completions whose every token is masked, which mask_truncated_completions makes of truncated ones."""
    layout = f"{UNDIVIDED}, {len(MASKED)} of {len(LENGTHS)} completions masked"
    for loss, settings in LOSSES.items():
        if formula := found(loss):
            steps = trl(settings, batch(masked=True), Cut())
            row = worst(steps, FORMULAS[formula], batch(masked=True), name=loss, layout=layout, agrees_with=formula)
            yield row if row.same else replace(row, note="masked completions stay in the number that is divided by")


def divided() -> Iterator[Row]:
    for loss, settings in LOSSES.items():
        formula = found(loss)
        for layout, cut in CUTS.items() if formula else ():
            steps = trl(settings, batch(), cut)
            row = worst(steps, FORMULAS[formula], batch(), name=loss, layout=layout, agrees_with=formula)
            yield row if row.same else replace(row, note=NOTES.get(loss, ""))


def bridged() -> Iterator[Row]:
    """strop's rows, with two completions masked."""
    for name in BRIDGED:
        row = algorithm(name, length=LONGEST)
        for layout, cut in CUTS.items():
            steps = strop(row, batch(masked=True), cut)
            yield worst(
                steps, row, batch(masked=True), name=f"StropGRPOTrainer, {name}", layout=layout, agrees_with=name
            )
