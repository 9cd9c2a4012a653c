from __future__ import annotations

import json
from typing import Any

import pytest

from strop.bridges.translate import Translation, translate
from strop.errors import ConfigError

PENALTY = {"enable": True, "len": 128, "penalty_factor": 1.0}


def of(**settings: Any) -> Translation:
    given = {"algorithm.adv_estimator": "grpo", "actor_rollout_ref.rollout.n": 8}
    return translate("verl", json.dumps(given | {key.replace("__", "."): value for key, value in settings.items()}))


def trap(made: Translation, key: str) -> str:
    [note] = [note for note in made.traps if note.key == key]
    assert note.link == "" or note.link.startswith("https://")
    return note.text


def test_the_sizes_are_verls_batch_mini_batch_and_epochs() -> None:
    made = of(data__train_batch_size=64, actor_rollout_ref__actor__ppo_mini_batch_size=16, data__max_response_length=99)
    made = of(
        **{"data__train_batch_size": 64, "data__max_response_length": 99},
        **{"actor_rollout_ref__actor__ppo_mini_batch_size": 16, "actor_rollout_ref__actor__ppo_epochs": 2},
    )
    rollout, train = made.config["rollout"], made.config["train"]
    assert (rollout["prompts"], rollout["completions"], rollout["max_tokens"]) == (64, 8, 99)
    assert (train["updates"], train["passes"], train["adam"]["weight_decay"]) == (4, 2, 0.01)
    assert "actor_rollout_ref.actor.ppo_mini_batch_size" in {note.key for note in made.missing}


def test_a_group_of_one_has_nothing_to_compare() -> None:
    made = of(actor_rollout_ref__rollout__n=1)
    assert "raw reward" in trap(made, "actor_rollout_ref.rollout.n")
    assert "completions" not in made.config["rollout"]


def test_no_filter_is_strops_none_and_a_filter_its_mixed() -> None:
    assert of().config["rollout"]["filter"] == "none"
    made = of(algorithm__filter_groups={"enable": True, "metric": "acc", "max_num_gen_batches": 10})
    assert made.config["rollout"]["filter"] == "mixed"
    assert "1e-17" in trap(made, "algorithm.filter_groups.enable")
    assert "ignored" in trap(made, "algorithm.filter_groups.max_num_gen_batches")
    assert "algorithm.filter_groups.metric" not in {note.key for note in made.traps}


def test_a_filter_on_the_shaped_reward_keeps_groups_that_are_all_wrong() -> None:
    # https://github.com/NVIDIA-NeMo/RL/issues/2431
    reward = {"reward__reward_manager__name": "dapo", "reward__reward_kwargs__overlong_buffer_cfg": PENALTY}
    made = of(algorithm__filter_groups={"enable": True}, **reward)
    assert "acc" in trap(made, "algorithm.filter_groups.metric")


def test_the_length_penalty_counts_only_where_the_manager_reads_it() -> None:
    made = of(reward__reward_manager__name="dapo", reward__reward_kwargs__overlong_buffer_cfg=PENALTY)
    assert made.config["rollout"]["overlong"] == {"buffer": 128, "penalty": 1.0}
    assert dict(made.words)["length penalty"] == "0 to 1 over the last 128 of 512 tokens"
    assert "verl stops without it" in trap(made, "reward.reward_kwargs.max_resp_len")
    made = of(reward__reward_kwargs__overlong_buffer_cfg=PENALTY)
    assert made.config["rollout"]["overlong"] == {"buffer": 0}
    assert "naive" in trap(made, "reward.reward_kwargs.overlong_buffer_cfg.enable")


def test_a_penalty_that_goes_on_falling_is_pointed_out() -> None:
    kwargs = {"overlong_buffer_cfg": PENALTY, "max_resp_len": 256}
    made = of(reward__reward_manager__name="dapo", reward__reward_kwargs=kwargs)
    assert "goes on falling" in trap(made, "reward.reward_kwargs.overlong_buffer_cfg.len")


@pytest.mark.parametrize(("key", "value"), [("top_p", 0.9), ("top_k", 50), ("do_sample", False)])
def test_a_sampler_that_is_not_the_policy_is_said(key: str, value: Any) -> None:
    made = of(**{f"actor_rollout_ref__rollout__{key}": value})
    assert f"actor_rollout_ref.rollout.{key}" in {note.key for note in made.missing}


def test_a_schedule_that_strop_has_not_is_said() -> None:
    made = of(actor_rollout_ref__actor__optim={"lr_scheduler_type": "cosine", "lr_warmup_steps_ratio": 0.1})
    assert {note.key.rpartition(".")[2] for note in made.missing} >= {"lr_scheduler_type", "lr_warmup_steps_ratio"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data__train_batch_size": 8}, "ppo_mini_batch_size 256: verl needs 1 to data.train_batch_size 8"),
        ({"actor_rollout_ref__rollout__n": 0}, "must be 1 or more"),
        ({"actor_rollout_ref__actor__optim__betas": 0.9}, "betas is 0.9; it must be two numbers"),
    ],
)
def test_sizes_that_verl_could_not_train_are_refused_in_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        of(**settings)
