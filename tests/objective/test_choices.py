"""A choice from what people write: a name, a dict as YAML holds it, a record; and what wrong ones are told."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields

import pytest

from strop.errors import ConfigError
from strop.objective.choices import KINDS, choose, choose_correction, choose_regularizers
from strop.objective.correction import SequenceMask, TokenTruncate
from strop.objective.regularizer import EntropyBonus, Kl
from strop.objective.trust import Clip, Divergence

EVERY = [(choice, kind) for choice, table in KINDS.items() for kind in table]


def test_a_name_a_dict_and_a_record_are_the_same_choice() -> None:
    assert choose("trust", "clip") == choose("trust", {"kind": "clip"}) == choose("trust", Clip()) == Clip(0.2, 0.28)
    assert choose("trust", {"kind": "clip", "high": 0.3}) == Clip(0.2, 0.3)


@pytest.mark.parametrize(("choice", "kind"), EVERY)
def test_every_kind_states_what_it_reads_and_is_frozen(choice: str, kind: str) -> None:
    numbers = {"measure": "tv", "low": 0.2, "high": 0.2, "beta": 0.1}
    names = {field.name for field in fields(KINDS[choice][kind])}
    made = choose(choice, {"kind": kind, **{name: numbers[name] for name in names & set(numbers)}})
    assert made.kind == kind
    assert made.reads <= {"old_logp", "sampler_logp", "ref_logp", "masked_logp", "entropy"}
    assert made.__doc__ and callable(made)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        made.kind = "other"


def test_numbers_may_come_as_text_the_way_yaml_reads_an_exponent() -> None:
    assert choose("trust", {"kind": "clip", "low": "3e-4", "dual": "inf"}) == Clip(3e-4, 0.28, math.inf)
    assert choose("aggregation", {"kind": "constant", "length": 8.0}).length == 8


@pytest.mark.parametrize(
    ("choice", "value", "says"),
    [
        ("trust", "clop", "unknown trust 'clop'; did you mean clip"),
        ("trust", {"kind": "clip", "hgih": 0.3}, "trust clip has no field 'hgih'; did you mean high"),
        ("trust", {"low": 0.3}, "has no kind"),
        ("trust", "divergence", "trust divergence needs measure, low, high"),
        ("trust", {"kind": "clip", "high": "wide"}, "trust clip: high is 'wide'; it must be a number"),
        ("trust", {"kind": "clip", "high": True}, "trust clip: high is True; it must be a number"),
        ("aggregation", {"kind": "constant", "length": 8.5}, "length is 8.5; it must be a whole number"),
        ("aggregation", {"kind": "constant", "length": math.inf}, "length is inf; it must be a whole number"),
        ("advantage", Clip(), "is not a name, a dict or a record of standardized"),
        ("ratio", {"kind": "token", "anchor": "rollout"}, "anchor is 'rollout'"),
        ("regularizers", {"kind": "kl", "beta": 0.1, "estimator": "k1"}, "k1 is refused"),
        ("correction", "token_trunkate", "unknown correction 'token_trunkate'; did you mean token_truncate"),
        ("correction", {"kind": "sequence_mask", "mean": "mean"}, "mean is 'mean'; use product or geometric"),
    ],
)
def test_what_cannot_be_a_choice_is_told_what_can(choice: str, value: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        choose(choice, value)


def test_a_correction_is_one_or_none() -> None:
    assert choose_correction("none") is None
    assert choose_correction("token_truncate") == TokenTruncate(2.0)
    nemo = {"kind": "sequence_mask", "low": 0.999, "high": 1.002, "mean": "geometric", "times": "token"}
    assert choose_correction(nemo) == SequenceMask(0.999, 1.002, "geometric", "token")


def test_regularizers_are_one_or_several_each_kind_once() -> None:
    kl, entropy = {"kind": "kl", "beta": 0.1}, {"kind": "entropy", "beta": 0.2}
    assert choose_regularizers("none") == choose_regularizers([]) == ()
    assert choose_regularizers(kl) == (Kl(0.1),)
    assert (
        choose_regularizers([kl, EntropyBonus(0.2)])
        == choose_regularizers((kl, entropy))
        == (Kl(0.1), EntropyBonus(0.2))
    )
    with pytest.raises(ConfigError, match="kl, kl: each kind at most once"):
        choose_regularizers([kl, kl])
    assert choose("trust", {"kind": "divergence", "measure": "tv", "low": 0.1, "high": 0.2}) == Divergence(
        "tv", 0.1, 0.2
    )
