from __future__ import annotations

import json
from typing import Any

import pytest

from strop.bridges.translate import Translation, translate
from strop.errors import ConfigError


def of(**settings: Any) -> Translation:
    """The translation of settings of the actor, beside a grpo advantage."""
    return translate(
        "verl", json.dumps({"actor_rollout_ref": {"actor": settings}, "algorithm": {"adv_estimator": "grpo"}})
    )


def mode(name: str, **settings: Any) -> Translation:
    return of(policy_loss={"loss_mode": name, "dro_beta": 0.5}, **settings)


def trap(made: Translation, key: str) -> str:
    """The one trap of a key of the actor: its text and its link."""
    [note] = [note for note in made.traps if note.key == f"actor_rollout_ref.actor.{key}"]
    assert note.link.startswith("https://")
    return f"{note.text} {note.link}"


def test_dual_clip_is_in_the_row_of_vanilla_and_pointed_out() -> None:
    made = of()
    assert made.config["objective"]["trust"] == {"kind": "clip", "low": 0.2, "high": 0.2, "dual": 3.0}
    assert "always on, here at 3" in trap(made, "clip_ratio_c")
    assert "actor.py#L164" in trap(made, "clip_ratio_c")
    assert of(clip_ratio_c=10).config["objective"]["trust"]["dual"] == 10.0
    with pytest.raises(ConfigError, match="clip_ratio_c is 1; verl needs more than 1"):
        of(clip_ratio_c=1)


def test_clip_ratio_alone_is_not_read_since_both_sides_have_defaults() -> None:
    made = of(clip_ratio=0.4)
    assert made.config["objective"]["trust"]["high"] == 0.2
    assert "0.4 is not read" in trap(made, "clip_ratio")
    made = of(clip_ratio=0.4, clip_ratio_low=None, clip_ratio_high=None)
    assert made.config["objective"]["trust"] == {"kind": "clip", "low": 0.4, "high": 0.4, "dual": 3.0}


def test_cispo_is_two_sided_until_its_lower_bound_is_opened() -> None:
    made = mode("cispo")
    assert made.config["objective"]["trust"] == {"kind": "truncate", "cap": 1.2}
    assert "r held in 0.8 to 1.2" in trap(made, "clip_ratio_low")
    assert "actor_rollout_ref.actor.clip_ratio_low" in {note.key for note in made.missing}
    opened = mode("cispo", clip_ratio_low=1.0, clip_ratio_high=4.0)
    assert opened.config["objective"]["trust"] == {"kind": "truncate", "cap": 5.0}
    assert "actor_rollout_ref.actor.clip_ratio_low" not in {note.key for note in (*opened.traps, *opened.missing)}


def test_dppos_anchor_and_cap_are_pointed_out_and_its_kl_threshold() -> None:
    made = mode("dppo_kl")
    expected = {"kind": "divergence", "measure": "kl", "low": 0.2, "high": 0.2, "cap": 3.0}
    assert made.config["objective"]["trust"] == expected
    assert made.config["objective"]["ratio"]["anchor"] == "old"
    assert "DPPO's anchor is the sampler" in trap(made, "policy_loss.loss_mode")
    assert "finds 3 harmful" in trap(made, "clip_ratio_c")
    assert "the paper has 0.05" in trap(made, "clip_ratio_low")


def test_under_bypass_mode_the_anchor_is_the_sampler() -> None:
    correction = {"bypass_mode": True}
    settings = {"actor_rollout_ref.actor.policy_loss.loss_mode": "dppo_tv", "algorithm.rollout_correction": correction}
    made = translate("verl", json.dumps({**settings, "algorithm.adv_estimator": "grpo"}))
    assert made.config["objective"]["ratio"] == {"kind": "token", "anchor": "sampler"}
    assert "actor_rollout_ref.actor.policy_loss.loss_mode" not in {note.key for note in made.traps}


def test_gspo_is_gspo_token_and_sapo_a_gate() -> None:
    assert mode("gspo").config["objective"]["ratio"] == {"kind": "sequence_token", "anchor": "old"}
    assert mode("sapo").config["objective"]["trust"] == {"kind": "gate", "positive": 1.0, "negative": 1.05}


def test_a_geometric_mean_grows_with_micro_batches() -> None:
    made = mode("geo_mean", clip_ratio_low=0.4, clip_ratio_high=0.4)
    assert made.config["objective"]["trust"] == {"kind": "geometric", "low": 0.4, "high": 0.4}
    assert "issues/7913" in trap(made, "policy_loss.loss_mode")


@pytest.mark.parametrize("name", ["gpg", "dro", "clip_cov", "kl_cov"])
def test_a_loss_that_is_no_row_says_so(name: str) -> None:
    assert "actor_rollout_ref.actor.policy_loss.loss_mode" in {note.key for note in mode(name).missing}


def test_dro_without_its_beta_is_refused_as_verl_refuses_it() -> None:
    with pytest.raises(ConfigError, match="dro_beta is not set, and verl's dro needs it above 0"):
        of(policy_loss={"loss_mode": "dro"})
