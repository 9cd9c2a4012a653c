from __future__ import annotations

import json
from typing import Any

import pytest

from strop.bridges.keys_trl import DEFAULTS
from strop.bridges.translate import Settings, Translation, translate
from strop.bridges.translate_trl_batch import micro_steps, on_policy
from strop.errors import ConfigError


def of(**settings: Any) -> Translation:
    return translate("trl", json.dumps(settings))


@pytest.mark.parametrize(
    ("settings", "micro"),
    [
        ({}, (1, 1)),
        ({"gradient_accumulation_steps": 4}, (4, 4)),
        ({"gradient_accumulation_steps": 2, "steps_per_generation": 4}, (4, 2)),
        ({"gradient_accumulation_steps": 2, "generation_batch_size": 64}, (8, 2)),
    ],
)
def test_a_generation_batch_is_cut_into_the_micro_steps_that_trl_cuts_it_into(
    settings: dict[str, Any], micro: tuple[int, int]
) -> None:
    assert micro_steps(Settings(settings, DEFAULTS)) == micro


@pytest.mark.parametrize(
    ("settings", "fresh"),
    [
        ({}, True),
        ({"gradient_accumulation_steps": 4}, True),
        ({"gradient_accumulation_steps": 4, "steps_per_generation": 2}, True),
        ({"gradient_accumulation_steps": 2, "steps_per_generation": 4}, False),
        ({"num_iterations": 2}, False),
        ({"use_vllm": True}, False),
        ({"use_vllm": True, "vllm_importance_sampling_correction": False}, True),
    ],
)
def test_the_ratio_is_1_where_a_generation_batch_is_trained_in_one_step(settings: dict[str, Any], fresh: bool) -> None:
    assert on_policy(Settings(settings, DEFAULTS)) is fresh
    assert ("exactly 1" in dict(of(**settings).words)["ratio"]) is fresh


@pytest.mark.parametrize(
    ("settings", "prompts", "updates", "passes"),
    [
        ({}, 1, 1, 1),
        ({"per_device_train_batch_size": 32, "gradient_accumulation_steps": 2}, 8, 1, 1),
        ({"steps_per_generation": 4, "gradient_accumulation_steps": 2, "num_iterations": 3}, 4, 2, 3),
        ({"steps_per_generation": 2, "gradient_accumulation_steps": 8}, 8, 1, 1),
    ],
)
def test_the_sizes_are_those_of_what_is_sampled_and_of_what_a_step_sees(
    settings: dict[str, Any], prompts: int, updates: int, passes: int
) -> None:
    config = of(**settings).config
    assert config["rollout"]["prompts"] == prompts
    assert (config["train"]["updates"], config["train"]["passes"]) == (updates, passes)


@pytest.mark.parametrize("key", ["top_p", "min_p", "repetition_penalty"])
def test_a_sampler_that_is_not_the_policy_is_said(key: str) -> None:
    [note] = [note for note in of(**{key: 0.9}).missing if note.key == key]
    assert "issues/4159" in note.link


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"steps_per_generation": 3, "gradient_accumulation_steps": 2}, "steps_per_generation"),
        ({"steps_per_generation": 2, "gradient_accumulation_steps": 8, "num_iterations": 2}, "num_iterations"),
        ({"steps_per_generation": 4, "gradient_accumulation_steps": 1, "num_generations": 32}, "steps_per_generation"),
        ({"warmup_steps": 0.1}, "warmup_steps"),
        ({}, "lr_scheduler_type"),
    ],
)
def test_a_window_or_schedule_that_strop_has_not_is_said(settings: dict[str, Any], missing: str) -> None:
    assert missing in {note.key for note in of(**settings).missing}


def test_a_constant_rate_with_a_warm_up_is_strops() -> None:
    made = of(lr_scheduler_type="constant_with_warmup", warmup_steps=20, learning_rate=3e-6)
    assert made.missing == ()
    assert (made.config["train"]["warmup_steps"], made.config["train"]["learning_rate"]) == (20, 3e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"generation_batch_size": 12}, "^generation_batch_size 12 is no multiple of per_device_train_batch_size 8"),
        ({"generation_batch_size": 8, "steps_per_generation": 1}, "TRL takes one of them, not both"),
        ({"num_generations": 3}, "^num_generations 3: .* a generation batch of 8 rows that is a multiple"),
        ({"num_generations": 1}, "^num_generations 1: TRL needs 2 or more"),
        ({"gradient_accumulation_steps": 0}, "must be 1 or more"),
    ],
)
def test_sizes_that_trl_refuses_are_refused_in_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        of(**settings)
