"""Which forms of verl's settings are read; in verl's virtualenv the row translated has the gradient of verl's loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.algorithms import filled
from strop.bridges.translate import Translation, translate
from strop.bridges.translate_verl import dotted
from strop.config.load import load
from strop.errors import ConfigError


def of(settings: dict[str, Any]) -> Translation:
    return translate("verl", json.dumps(settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"clip_ratio_high": 0.28, "policy_loss": {"loss_mode": "gspo"}},
        {"actor_rollout_ref": {"actor": {"clip_ratio_high": 0.28, "policy_loss": {"loss_mode": "gspo"}}}},
        {"actor_rollout_ref.actor.clip_ratio_high": 0.28, "actor_rollout_ref.actor": {"policy_loss.loss_mode": "gspo"}},
        {
            "defaults": ["actor", "_self_"],
            "clip_ratio_high": 0.28,
            "policy_loss": {"loss_mode": "gspo"},
            "optim.lr": "${x}",
        },
    ],
)
def test_an_actor_alone_a_whole_tree_and_dotted_keys_are_read_alike(settings: dict[str, Any]) -> None:
    actor = "actor_rollout_ref.actor"
    assert dotted(settings) == {f"{actor}.clip_ratio_high": 0.28, f"{actor}.policy_loss.loss_mode": "gspo"}


def test_a_file_and_the_words_of_a_script_are_read_alike(tmp_path: Path) -> None:
    file = tmp_path / "actor.yaml"
    file.write_text("policy_loss:\n  loss_mode: sapo\n", encoding="utf-8")
    words = "actor_rollout_ref.actor.policy_loss.loss_mode=sapo"
    assert translate("verl", str(file)).config == translate("verl", words).config


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("actor_rollout_ref.actor.clip_ratio_hi", "actor_rollout_ref.actor.clip_ratio_high"),
        ("actor_rollout_ref.actor.policy_loss.loss_mod", "actor_rollout_ref.actor.policy_loss.loss_mode"),
        ("actor_rollout_ref.acter.clip_ratio", "actor_rollout_ref.actor"),
        ("algorithm.adv_estimater", "algorithm.adv_estimator"),
        ("algorithm.filter_groups.metrics", "algorithm.filter_groups.metric"),
        ("algorithm.rollout_correction.rollout_iss", "algorithm.rollout_correction.rollout_is"),
        ("data.train_batchsize", "data.train_batch_size"),
    ],
)
def test_a_name_that_verl_has_not_is_one_line_with_the_nearest(key: str, nearest: str) -> None:
    whole = {"algorithm.lam": 1.0, key: 1}
    with pytest.raises(ConfigError, match=f"^verl has no setting '{key}'; did you mean {nearest}"):
        of(whole)


def test_sections_that_no_formula_reads_are_taken_as_they_are() -> None:
    of({"trainer": {"anything": 1}, "critic": {"x": {"y": 2}}, "actor_rollout_ref": {"ref": {"z": 3}}})
    of({"actor_rollout_ref.actor.fsdp_config.any": 1, "actor_rollout_ref.rollout.engine_kwargs.vllm.x": 2})


def test_old_names_that_verl_takes_over_count_and_one_that_it_does_not_is_a_trap() -> None:
    penalty = {"enable": True, "len": 64, "penalty_factor": 0.5}
    made = of({"reward_model": {"reward_manager": "dapo", "reward_kwargs": {"overlong_buffer_cfg": penalty}}})
    assert made.config["rollout"]["overlong"] == {"buffer": 64, "penalty": 0.5}
    made = of({"reward_model": {"reward_manager": "dapo", "overlong_buffer": penalty}})
    assert made.config["rollout"]["overlong"] == {"buffer": 0}
    assert [note.key for note in made.traps if "nothing in verl" in note.text] == [
        "reward_model.overlong_buffer.enable"
    ]


KL = {"use_kl_loss": True, "kl_loss_coef": 0.3}
ACTORS: list[dict[str, Any]] = [
    {},
    {"clip_ratio_low": 0.1, "clip_ratio_high": 0.28, "clip_ratio_c": 10.0},
    {"clip_ratio": 0.4, "clip_ratio_low": None, "clip_ratio_high": 0.28},
    {"clip_ratio": 0.4},
    {"loss_agg_mode": "seq-mean-token-mean", **KL},
    {"loss_agg_mode": "seq-mean-token-sum", **KL, "kl_loss_type": "mse"},
    {"loss_agg_mode": "seq-mean-token-sum-norm", "loss_scale_factor": 20, **KL, "kl_loss_type": "low_var_kl+"},
    {"policy_loss": {"loss_mode": "dppo_tv"}},
    {"policy_loss": {"loss_mode": "dppo_kl"}, "clip_ratio_low": 0.05, "clip_ratio_high": 0.1, "clip_ratio_c": 20.0},
    {"policy_loss": {"loss_mode": "gspo"}, "clip_ratio_low": 3e-4, "clip_ratio_high": 4e-4},
    {"policy_loss": {"loss_mode": "gspo"}, "loss_agg_mode": "seq-mean-token-mean"},
    {"policy_loss": {"loss_mode": "sapo"}, "tau_neg": 2.0},
    {"policy_loss": {"loss_mode": "geo_mean"}, "clip_ratio_low": 0.4, "clip_ratio_high": 0.4},
    {"policy_loss": {"loss_mode": "cispo"}, "clip_ratio_low": 1.0, "clip_ratio_high": 4.0},
]


@pytest.mark.peer("verl")
@pytest.mark.parametrize("settings", ACTORS, ids=str)
def test_the_row_translated_has_the_gradient_of_verls_own_loss(settings: dict[str, Any]) -> None:
    from strop.bridges.against_verl import WHOLE
    from strop.bridges.hard import exact_gradient
    from strop.bridges.verl_formulas import error, far
    from strop.bridges.verl_step import actor, gradient

    row = filled(load(mapping=of(settings).config).row, 512)
    given = {key: value for key, value in settings.items() if key != "policy_loss"}
    config = actor(**settings.get("policy_loss", {}), **given)
    batch = far(masked=False)
    batch.ref_logp.copy_(batch.logp + 0.3 * (batch.ref_logp - batch.old_logp))
    assert error(gradient(batch, WHOLE, config), exact_gradient(row, batch)) < 1e-6
