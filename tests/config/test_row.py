from __future__ import annotations

import pytest

from strop.algorithms import KINDS, ROWS
from strop.config.load import load
from strop.errors import ConfigError


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_reached_by_its_name_and_its_constant_mean_has_a_length(name: str) -> None:
    config = load(mapping={"algorithm": name, "rollout.max_tokens": 40})
    assert config.row.name == name
    if config.row.aggregation.kind == "constant":
        assert config.row.aggregation.length == (1 if name in ("luspo", "rloo") else 40)


def test_objective_changes_the_row() -> None:
    kl = [{"kind": "kl", "beta": 0.01}]
    row = load(mapping={"objective": {"aggregation": "constant", "length": 9, "regularizers": kl}}).row
    assert (row.aggregation.kind, row.aggregation.length) == ("constant", 9)
    assert [regularizer.beta for regularizer in row.regularizers] == [0.01]
    assert row.trust == ROWS["dapo"].trust


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"algorithm": "daop"}, "algorithm: unknown algorithm 'daop'; did you mean dapo?"),
        (
            {"objective.aggregation": "promt"},
            "objective.aggregation: unknown aggregation 'promt'; did you mean prompt?",
        ),
        ({"objective.trust": {"kind": "clip", "hihg": 1}}, "objective.trust: trust clip has no field 'hihg'"),
        ({"objective.trust": {"high": 1}}, "objective.trust:"),
        ({"objective.regularizers": [{"kind": "kl"}]}, "objective.regularizers:"),
        ({"objective.correction": "tis"}, "objective.correction: unknown correction 'tis'"),
        ({"objective.correction": {"kind": "token_mask", "low": 9}}, "objective.correction: correction token_mask:"),
        ({"objective.regularizers": [{"kind": "kl", "beta": 0.1, "estimator": "k1"}]}, "objective.regularizers:"),
    ],
)
def test_a_wrong_choice_names_its_key_and_the_nearest(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(mapping=settings)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("name", ROWS)
def test_one_completion_under_a_group_relative_advantage_is_refused_naming_both_settings(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(mapping={"algorithm": name, "rollout": {"completions": 1, "filter": "none"}})
    assert "rollout.completions" in str(caught.value)
    assert "objective.advantage" in str(caught.value)


@pytest.mark.parametrize("name", ROWS)
def test_groups_of_older_weights_are_refused_unless_the_ratio_is_taken_against_the_sampler(name: str) -> None:
    settings = {"algorithm": name, "rollout": {"surplus": "carry", "max_staleness": 1}}
    if ROWS[name].anchor == "sampler":
        assert load(mapping=settings).row.anchor == "sampler"
        return
    with pytest.raises(ConfigError, match=r"rollout\.surplus: carry trains groups of older weights"):
        load(mapping=settings)


@pytest.mark.parametrize("kind", list(KINDS["correction"]))
def test_groups_of_older_weights_are_allowed_under_a_correction(kind: str) -> None:
    config = load(mapping={"objective.correction": kind, "rollout": {"surplus": "carry", "max_staleness": 1}})
    assert config.row.correction.kind == kind
    assert config.row.anchor == "old"


def test_a_correction_beside_a_ratio_against_the_sampler_is_refused_naming_its_key() -> None:
    sampler = {"kind": "token", "anchor": "sampler"}
    for settings in ({"algorithm": "scalerl"}, {"objective.ratio": sampler}):
        with pytest.raises(ConfigError, match=r"^objective\.correction: .*: its ratio is taken against the sampler"):
            load(mapping={**settings, "objective.correction": "token_truncate"})


def test_a_top_k_divergence_without_a_sampler_anchor_is_refused_naming_its_key() -> None:
    top = {"kind": "divergence", "measure": "tv", "low": 0.2, "high": 0.2, "topk": 20}
    with pytest.raises(ConfigError, match=r"^objective\.trust: dapo: trust divergence: topk compares with the sampler"):
        load(mapping={"objective.trust": top})
    assert load(mapping={"algorithm": "dppo_tv", "objective.trust": top}).row.trust.topk == 20


def test_a_length_without_a_constant_mean_is_a_warning() -> None:
    [warning] = load(mapping={"objective.length": 9}).warnings
    assert warning.startswith("objective.length has no effect: the mean is token")
