"""The table of rows, with exactly the parameters of their sources; and rows with changes."""

from __future__ import annotations

import math

import pytest
import torch

import strop
from strop.algorithms import KINDS, ROWS, Algorithm, algorithm, filled
from strop.errors import ConfigError
from strop.objective.advantage import BatchStandardized, Centered, LeaveOneOut, Standardized
from strop.objective.aggregation import Constant, PromptMean, SequenceMean, TokenMean
from strop.objective.ratio import SequenceRatio, SequenceTokenRatio, TokenRatio
from strop.objective.regularizer import Kl
from strop.objective.trust import Clip, Divergence, Gate, Open, Truncate

Z, OLD, SAMPLER = Standardized(1, 1e-6), TokenRatio("old"), TokenRatio("sampler")

TABLE = {
    "dapo": (Z, OLD, Clip(0.2, 0.28, math.inf), TokenMean(), ()),
    "dapo_prompt": (Z, OLD, Clip(0.2, 0.28, math.inf), PromptMean(), ()),
    "grpo": (Z, OLD, Clip(0.2, 0.2), SequenceMean(), (Kl(0.04, "k3"),)),
    "dr_grpo": (Centered(), OLD, Clip(0.2, 0.2), Constant(), ()),
    "gspo": (Z, SequenceRatio("old"), Clip(3e-4, 4e-4), SequenceMean(), ()),
    "gspo_token": (Z, SequenceTokenRatio("old"), Clip(3e-4, 4e-4), SequenceMean(), ()),
    "dppo_tv": (Centered(), SAMPLER, Divergence("tv", 0.2, 0.2, math.inf), Constant(), ()),
    "dppo_kl": (Centered(), SAMPLER, Divergence("kl", 0.05, 0.05, math.inf), Constant(), ()),
    "cispo": (Z, OLD, Truncate(5.0), TokenMean(), ()),
    "scalerl": (BatchStandardized(), SAMPLER, Truncate(5.0), PromptMean(), ()),
    "sapo": (Z, OLD, Gate(1.0, 1.05), SequenceMean(), ()),
    "rloo": (LeaveOneOut(), OLD, Open(), Constant(1), ()),
}


def choices(row: Algorithm) -> tuple[object, ...]:
    return row.advantage, row.ratio, row.trust, row.aggregation, row.regularizers


@pytest.mark.parametrize("name", list(TABLE))
def test_a_row_has_exactly_the_parameters_of_its_source(name: str) -> None:
    assert choices(algorithm(name)) == TABLE[name]


def test_every_row_is_in_the_table_above_under_its_own_name() -> None:
    assert set(TABLE) <= set(ROWS)
    assert all(row.name == name for name, row in ROWS.items())


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_row_names_its_source_and_every_deviation(row: Algorithm) -> None:
    assert "arXiv " in row.source and row.summary
    assert isinstance(row.deviations, tuple) and all(len(deviation) > 20 for deviation in row.deviations)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_every_choice_of_a_row_is_a_kind_of_the_tables(row: Algorithm) -> None:
    for choice in ("advantage", "ratio", "trust", "aggregation"):
        assert KINDS[choice][getattr(row, choice).kind] is type(getattr(row, choice))
    assert all(KINDS["regularizers"][one.kind] is type(one) for one in row.regularizers)


def test_dapo_with_another_mean_is_dapo_prompt() -> None:
    assert choices(algorithm("dapo", aggregation="prompt")) == choices(algorithm("dapo_prompt"))


def test_gspo_with_another_ratio_is_gspo_token() -> None:
    assert choices(algorithm("gspo", ratio="sequence_token")) == choices(algorithm("gspo_token"))


def test_a_choice_left_empty_is_the_rows_own() -> None:
    kept = algorithm("grpo", advantage="", ratio="", trust="", aggregation="", regularizers="", length=None)
    assert kept == ROWS["grpo"]
    assert algorithm("grpo", regularizers=[]).regularizers == algorithm("grpo", regularizers="none").regularizers == ()


def test_an_unknown_row_gets_the_nearest() -> None:
    with pytest.raises(ConfigError, match="unknown algorithm 'dapoo'; did you mean dapo"):
        algorithm("dapoo")
    with pytest.raises(ConfigError, match="unknown algorithm 'xyz'; use dapo, dapo_prompt, grpo"):
        algorithm("xyz")


def test_length_is_the_divisor_of_a_constant_mean_and_means_nothing_to_others() -> None:
    assert algorithm("dr_grpo", length=64).aggregation == Constant(64)
    assert algorithm("rloo", length=64).aggregation == Constant(64)
    assert algorithm("dapo", aggregation="constant", length=8).aggregation == Constant(8)
    assert algorithm("dapo", length=64) == ROWS["dapo"]


def test_a_trainer_fills_in_only_a_length_that_is_missing() -> None:
    assert filled(ROWS["dr_grpo"], 64).aggregation == Constant(64)
    assert filled(ROWS["rloo"], 64) is ROWS["rloo"]
    assert filled(ROWS["dapo"], 64) is ROWS["dapo"]


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        ROWS["mine"] = ROWS["dapo"]  # type: ignore[index]


def test_rows_are_told_apart_by_their_choices_alone() -> None:
    """A row renamed is the same algorithm: nothing asks what it is called."""
    from dataclasses import replace

    logp = torch.linspace(-2, -0.1, 6, dtype=torch.float64).reshape(2, 3)
    batch = {"logp": logp, "old_logp": logp - 0.3, "ref_logp": logp - 0.2, "sampler_logp": logp + 0.01}
    batch |= {"advantage": torch.tensor([1.0, -1.0]), "mask": torch.ones(2, 3), "group": torch.tensor([0, 0])}
    for name in ROWS:
        row = filled(ROWS[name], 5)
        renamed = strop.policy_loss(replace(row, name="anything"), **batch)
        assert renamed.value == strop.policy_loss(row, **batch).value
