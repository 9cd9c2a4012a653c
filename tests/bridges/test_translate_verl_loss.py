from __future__ import annotations

import json
from typing import Any

import pytest

from strop.bridges.translate import Translation, translate
from strop.errors import ConfigError

ACTOR = "actor_rollout_ref.actor"


def of(settings: dict[str, Any], **algorithm: Any) -> Translation:
    given = {f"{ACTOR}.{key}": value for key, value in settings.items()}
    chosen = {f"algorithm.{key}": value for key, value in ({"adv_estimator": "grpo"} | algorithm).items()}
    return translate("verl", json.dumps(given | chosen))


def keys(made: Translation) -> tuple[set[str], set[str]]:
    return {note.key for note in made.traps}, {note.key for note in made.missing}


@pytest.mark.parametrize(
    ("algorithm", "advantage"),
    [
        ({}, {"kind": "standardized", "ddof": 1, "eps": 1e-6}),
        ({"norm_adv_by_std_in_grpo": False}, {"kind": "centered"}),
        ({"adv_estimator": "rloo"}, {"kind": "leave_one_out"}),
    ],
)
def test_an_estimator_that_strop_has_is_its_own(algorithm: dict[str, Any], advantage: dict[str, Any]) -> None:
    made = of({}, **algorithm)
    assert made.config["objective"]["advantage"] == advantage
    assert "algorithm.adv_estimator" not in keys(made)[1]


@pytest.mark.parametrize("kind", ["gae", "opo", "reinforce_plus_plus", "remax", "gdpo", "grpo_passk", "gpg"])
def test_an_estimator_that_strop_has_not_is_said_plainly(kind: str) -> None:
    made = of({}, adv_estimator=kind)
    [note] = [note for note in made.missing if note.key == "algorithm.adv_estimator"]
    assert note.text.startswith(kind)
    assert dict(made.words)["advantage"].startswith(f"{kind}: ")


def test_verls_default_estimator_needs_a_value_model() -> None:
    made = translate("verl", "{algorithm: {gamma: 1.0}}")
    [note] = [note for note in made.missing if note.key == "algorithm.adv_estimator"]
    assert note.text.startswith("gae, verl's default, needs a value model")
    alone = translate("verl", "{clip_ratio_high: 0.28}")
    assert "not among these settings" in dict(alone.words)["advantage"]


@pytest.mark.parametrize(
    ("mode", "factor", "mean"),
    [
        ("token-mean", None, "token"),
        ("seq-mean-token-mean", None, "sequence"),
        ("seq-mean-token-sum", None, {"kind": "constant", "length": 1}),
        ("seq-mean-token-sum-norm", 2048, {"kind": "constant", "length": 2048}),
    ],
)
def test_a_loss_agg_mode_is_one_of_strops_means(mode: str, factor: int | None, mean: Any) -> None:
    made = of({"loss_agg_mode": mode, "loss_scale_factor": factor})
    assert made.config["objective"]["aggregation"] == mean
    assert not any("loss" in key.rpartition(".")[2] for key in keys(made)[1])


def test_no_factor_is_the_padded_width_and_a_sum_is_no_mean() -> None:
    made = of({"loss_agg_mode": "seq-mean-token-sum-norm"})
    [note] = [note for note in made.traps if note.key == f"{ACTOR}.loss_scale_factor"]
    assert "padded width" in note.text
    assert "pull/5366" in note.link
    assert f"{ACTOR}.loss_agg_mode" in keys(of({"loss_agg_mode": "token-sum"}))[1]


def test_sapo_takes_the_sequence_mean_whatever_is_set_and_gspo_what_is_set() -> None:
    made = of({"policy_loss.loss_mode": "sapo"})
    assert made.config["objective"]["aggregation"] == "sequence"
    [note] = [note for note in made.traps if note.key == f"{ACTOR}.loss_agg_mode"]
    assert "core_algos.py#L1545" in note.link
    gspo = of({"policy_loss.loss_mode": "gspo"})
    assert gspo.config["objective"]["aggregation"] == "token"
    assert f"{ACTOR}.loss_agg_mode" in keys(gspo)[0]
    both = {"loss_agg_mode": "seq-mean-token-mean"}
    for mode in ("sapo", "gspo"):
        assert f"{ACTOR}.loss_agg_mode" not in keys(of({"policy_loss.loss_mode": mode, **both}))[0]


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [("low_var_kl", "k3"), ("k3", "k3"), ("mse", "k2"), ("k2", "k2"), ("low_var_kl+", "k2"), ("k1+", "k2")],
)
def test_a_kl_is_named_by_the_gradient_that_it_has(kind: str, estimator: str) -> None:
    made = of({"use_kl_loss": True, "kl_loss_type": kind, "kl_loss_coef": 0.01})
    assert made.config["objective"]["regularizers"] == [{"kind": "kl", "beta": 0.01, "estimator": estimator}]


def test_k1_in_the_loss_is_a_trap_and_not_in_the_row() -> None:
    made = of({"use_kl_loss": True, "kl_loss_type": "kl"})
    assert made.config["objective"]["regularizers"] == []
    [note] = [note for note in made.traps if note.key == f"{ACTOR}.kl_loss_type"]
    assert "mean zero" in note.text
    assert f"{ACTOR}.kl_loss_type" in keys(made)[1]


def test_entropy_is_by_the_same_mean_and_a_kl_coefficient_of_the_reward_may_do_nothing() -> None:
    made = of({"entropy_coeff": 0.001}, **{"kl_ctrl.kl_coef": 0.01})
    assert made.config["objective"]["regularizers"] == [{"kind": "entropy", "beta": 0.001}]
    assert "algorithm.kl_ctrl.kl_coef" in keys(made)[0]
    assert "algorithm.use_kl_in_reward" in keys(of({}, use_kl_in_reward=True))[1]


@pytest.mark.parametrize(
    ("level", "threshold", "correction"),
    [
        ("token", 2.0, {"kind": "token_truncate", "cap": 2.0}),
        ("sequence", "5", {"kind": "sequence_truncate", "cap": 5.0}),
        ("token", "0.5_5", {"kind": "token_mask", "low": 0.5, "high": 5.0}),
    ],
)
def test_a_rollout_correction_is_one_of_strops(level: str, threshold: Any, correction: dict[str, Any]) -> None:
    made = of({}, rollout_correction={"rollout_is": level, "rollout_is_threshold": threshold})
    assert made.config["objective"]["correction"] == correction


def test_rejection_leaves_the_counts_and_is_said() -> None:
    made = of({}, rollout_correction={"rollout_rs": "seq_mean_k1"})
    [note] = [note for note in made.missing if note.key == "algorithm.rollout_correction.rollout_rs"]
    assert "issues/4852" in note.link
    with pytest.raises(ConfigError, match="rollout_is_threshold is 'two'; verl takes a number, or LOW_HIGH"):
        of({}, rollout_correction={"rollout_is": "token", "rollout_is_threshold": "two"})


def test_bypass_of_the_classic_trainer_runs_another_loss() -> None:
    settings = {"algorithm.adv_estimator": "grpo", "algorithm.rollout_correction.bypass_mode": True}
    made = translate(
        "verl", json.dumps({**settings, f"{ACTOR}.policy_loss.loss_mode": "cispo", "trainer.use_v1": False})
    )
    assert made.config["objective"]["trust"]["kind"] == "clip"
    [note] = [note for note in made.traps if note.key == f"{ACTOR}.policy_loss.loss_mode"]
    assert "ppo_clip instead of cispo" in note.text


def test_a_row_of_strop_registered_with_verl_is_itself() -> None:
    made = of({"policy_loss.loss_mode": "strop_cispo"})
    assert made.config["algorithm"] == "cispo"
    assert "trust" not in made.config["objective"]
    with pytest.raises(ConfigError, match="loss_mode is 'strop_cispos'; did you mean strop_cispo"):
        of({"policy_loss.loss_mode": "strop_cispos"})
