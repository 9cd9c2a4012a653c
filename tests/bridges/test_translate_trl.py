"""Facts of TRL 1.16 by the translation; in TRL's virtualenv the row translated has the gradient of TRL's own loss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strop.algorithms import filled
from strop.bridges.translate import Translation, translate
from strop.config.load import load
from strop.errors import ConfigError


def of(**settings: Any) -> Translation:
    return translate("trl", json.dumps(settings))


def keys(made: Translation) -> tuple[set[str], set[str]]:
    """The keys of the traps, and of what is missing; the schedule, which TRL has by default, left out."""
    return {note.key for note in made.traps}, {note.key for note in made.missing} - {"lr_scheduler_type"}


def test_the_defaults_are_a_symmetric_clip_by_a_token_mean_without_kl_or_filter() -> None:
    made = of()
    assert made.config["algorithm"] == "dapo"
    assert made.config["objective"] == {
        "advantage": {"kind": "standardized", "ddof": 1, "eps": 1e-4},
        "ratio": {"kind": "token", "anchor": "old"},
        "trust": {"kind": "clip", "low": 0.2, "high": 0.2},
        "aggregation": "token",
        "regularizers": [],
    }
    assert made.config["rollout"]["filter"] == "none"
    assert keys(made) == ({"epsilon_high", "loss_type"}, set())
    assert "exactly 1" in dict(made.words)["ratio"]


@pytest.mark.parametrize(
    ("settings", "trap", "link"),
    [
        ({"loss_type": "cispo"}, "epsilon_high", "grpo_trainer.py#L3080"),
        ({"steps_per_generation": 4, "gradient_accumulation_steps": 2}, "steps_per_generation", "issues/5619"),
        ({"loss_type": "bnpo"}, "loss_type", "pull/5828"),
        ({"loss_type": "dr_grpo"}, "scale_rewards", "2503.20783"),
        ({"importance_sampling_level": "sequence"}, "importance_sampling_level", "issues/3823"),
        ({"loss_type": "luspo"}, "importance_sampling_level", "2602.05261"),
        ({"loss_type": "grpo"}, "beta", "2402.03300"),
        ({"use_vllm": True}, "vllm_importance_sampling_mode", "grpo_trainer.py#L2581"),
        (
            {"use_vllm": True, "loss_type": "vespo", "vllm_importance_sampling_mode": "token_mask"},
            "vllm_importance_sampling_mode",
            "grpo_trainer.py#L2943",
        ),
        ({"loss_type": "grpo", "mask_truncated_completions": True}, "mask_truncated_completions", "issues/6369"),
    ],
)
def test_a_trap_is_pointed_out_with_where_it_was_reported(settings: dict[str, Any], trap: str, link: str) -> None:
    [note] = [note for note in of(**settings).traps if note.key == trap and link in note.link]
    assert note.link.startswith("https://")
    assert "\n" not in note.text


@pytest.mark.parametrize(
    "settings",
    [
        {"loss_type": "cispo", "epsilon_high": 5.0},
        {"loss_type": "dr_grpo", "scale_rewards": "none"},
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "beta": 0.04, "use_bias_correction_kl": False},
        {"loss_type": "luspo", "importance_sampling_level": "sequence"},
        {"loss_type": "sapo", "steps_per_generation": 4, "gradient_accumulation_steps": 2, "num_generations": 8},
    ],
)
def test_no_trap_where_a_configuration_is_what_it_seems(settings: dict[str, Any]) -> None:
    assert keys(of(**settings))[0] == set()


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"scale_rewards": "batch"}, "scale_rewards"),
        ({"multi_objective_aggregation": "normalize_then_sum"}, "multi_objective_aggregation"),
        ({"delta": 1.1}, "delta"),
        ({"top_entropy_quantile": 0.2}, "top_entropy_quantile"),
        ({"off_policy_mask_threshold": 0.5}, "off_policy_mask_threshold"),
        ({"entropy_coef": 0.01}, "entropy_coef"),
        ({"use_adaptive_entropy": True}, "use_adaptive_entropy"),
        ({"beta": 0.1, "sync_ref_model": True}, "sync_ref_model"),
        ({"beta": 0.1, "importance_sampling_level": "sequence"}, "use_bias_correction_kl"),
        (
            {"use_vllm": True, "loss_type": "vespo", "vllm_importance_sampling_mode": "token_mask"},
            "vllm_importance_sampling_mode",
        ),
        (
            {
                "use_vllm": True,
                "vllm_importance_sampling_mode": "token_truncate",
                "vllm_importance_sampling_clip_min": 0.5,
            },
            "vllm_importance_sampling_clip_min",
        ),
    ],
)
def test_what_strop_does_not_compute_is_said_and_not_passed_over(settings: dict[str, Any], missing: str) -> None:
    assert missing in keys(of(**settings))[1]


@pytest.mark.parametrize(
    ("settings", "correction"),
    [
        ({}, None),
        ({"use_vllm": True}, {"kind": "sequence_mask", "low": 0.0, "high": 3.0}),
        ({"use_vllm": True, "vllm_importance_sampling_correction": False}, None),
        (
            {
                "use_vllm": True,
                "vllm_importance_sampling_mode": "token_truncate",
                "vllm_importance_sampling_clip_max": 2,
            },
            {"kind": "token_truncate", "cap": 2.0},
        ),
        (
            {
                **{"use_vllm": True, "vllm_importance_sampling_mode": "token_mask"},
                **{"vllm_importance_sampling_clip_max": None, "vllm_importance_sampling_clip_min": 0.5},
            },
            {"kind": "token_mask", "low": 0.5, "high": float("inf")},
        ),
    ],
)
def test_vllms_correction_is_one_of_strops(settings: dict[str, Any], correction: dict[str, Any] | None) -> None:
    assert of(**settings).config["objective"].get("correction") == correction


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"los_type": "dapo"}, "^TRL's GRPOConfig has no setting 'los_type'; did you mean loss_type"),
        ({"loss_type": "dppo"}, "^loss_type is 'dppo'; did you mean"),
        ({"scale_rewards": "std"}, "^scale_rewards is 'std'; use group, batch, none"),
        ({"epsilon": "0,2"}, "^epsilon is '0,2'; it must be a number"),
        ({"use_vllm": "yes"}, "^use_vllm is 'yes'; it must be true or false"),
    ],
)
def test_what_trl_would_not_take_is_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        of(**settings)


CLIPPED = {"epsilon": 0.1, "epsilon_high": 0.3}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"loss_type": "grpo", "epsilon_high": 0.28, "beta": 0.04, "use_bias_correction_kl": False},
    {"loss_type": "grpo", "beta": 0.1},
    {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4},
    {"loss_type": "dr_grpo", "scale_rewards": "none", **CLIPPED},
    {"loss_type": "dapo", **CLIPPED, "delta": 1.5},
    {"loss_type": "dapo", "epsilon": 1.2},
    {"loss_type": "bnpo", **CLIPPED},
    {"loss_type": "cispo"},
    {"loss_type": "cispo", "epsilon_high": 5.0},
    {"loss_type": "cispo", "epsilon_high": 5.0, "importance_sampling_level": "sequence"},
    {"loss_type": "sapo", "sapo_temperature_neg": 2.0},
    {"loss_type": "luspo", "importance_sampling_level": "sequence", "epsilon": 2e-3, "epsilon_high": 2.5e-3},
    {"loss_type": "luspo"},
    {"loss_type": "vespo", "vespo_k_neg": 2.5},
]


@pytest.mark.peer("trl")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_row_translated_has_the_gradient_of_trls_own_loss(settings: dict[str, Any]) -> None:
    from strop.bridges import against_trl
    from strop.bridges.hard import LONGEST, exact_gradient
    from strop.bridges.trl_step import Cut

    made = of(**settings, max_completion_length=LONGEST)
    row = filled(load(mapping=made.config).row, LONGEST)
    [step] = against_trl.trl(settings, against_trl.batch(), Cut())
    assert against_trl.error(step.gradient, exact_gradient(row, against_trl.batch().rows(step.rows))) < 1e-6
