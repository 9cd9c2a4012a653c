from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from strop.bridges.peers import PEERS
from strop.bridges.translate import MODULES, Draft, Settings, Translation, translate
from strop.config.load import load
from strop.errors import ConfigError

NONE_OR_SMALL = some.none() | some.floats(0.01, 3)
TRL = some.fixed_dictionaries(
    {},
    optional={
        "loss_type": some.sampled_from(["grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo"]),
        "beta": some.sampled_from([0.0, 0.04]),
        "epsilon": some.floats(0.01, 1.5),
        "epsilon_high": NONE_OR_SMALL,
        "delta": NONE_OR_SMALL,
        "importance_sampling_level": some.sampled_from(["token", "sequence"]),
        "scale_rewards": some.sampled_from([True, False, "group", "batch", "none"]),
        "entropy_coef": some.sampled_from([0.0, 0.01]),
        "use_bias_correction_kl": some.booleans(),
        "mask_truncated_completions": some.booleans(),
        "num_generations": some.sampled_from([2, 4, 8]),
        "num_iterations": some.integers(1, 3),
        "steps_per_generation": some.none() | some.integers(1, 9),
        "gradient_accumulation_steps": some.integers(1, 9),
        "use_vllm": some.booleans(),
        "vllm_importance_sampling_mode": some.sampled_from(
            ["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"]
        ),
        "vllm_importance_sampling_clip_max": some.none() | some.floats(1.0, 5.0),
        "warmup_steps": some.sampled_from([0, 5, 0.1]),
        "top_p": some.sampled_from([1.0, 0.9]),
    },
)
ACTOR = some.fixed_dictionaries(
    {},
    optional={
        "clip_ratio": some.floats(0.1, 0.5),
        "clip_ratio_low": some.none() | some.floats(0, 1.5),
        "clip_ratio_high": some.none() | some.floats(0, 5),
        "clip_ratio_c": some.floats(1.5, 20),
        "loss_agg_mode": some.sampled_from(
            ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
        ),
        "loss_scale_factor": some.none() | some.integers(1, 4096),
        "use_kl_loss": some.booleans(),
        "kl_loss_type": some.sampled_from(["kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "low_var_kl+", "k1+"]),
        "entropy_coeff": some.sampled_from([0, 0.001]),
        "ppo_epochs": some.integers(1, 3),
        "policy_loss": some.fixed_dictionaries(
            {"dro_beta": some.just(0.5)},
            optional={
                "loss_mode": some.sampled_from(
                    [
                        *("vanilla", "dppo_tv", "dppo_kl", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean"),
                        *("dro", "cispo", "bypass_mode", "strop_dapo", "strop_luspo"),
                    ]
                )
            },
        ),
    },
)
VERL = some.fixed_dictionaries(
    {"actor_rollout_ref": some.fixed_dictionaries({"actor": ACTOR, "rollout": some.just({"n": 4})})},
    optional={
        "algorithm": some.fixed_dictionaries(
            {},
            optional={
                "adv_estimator": some.sampled_from(
                    ["gae", "grpo", "rloo", "opo", "grpo_vectorized", "reinforce_plus_plus"]
                ),
                "norm_adv_by_std_in_grpo": some.booleans(),
                "use_kl_in_reward": some.booleans(),
                "filter_groups": some.fixed_dictionaries({"enable": some.booleans()}),
                "rollout_correction": some.fixed_dictionaries(
                    {},
                    optional={
                        "rollout_is": some.sampled_from([None, "token", "sequence"]),
                        "rollout_is_threshold": some.sampled_from([2.0, "2.0", "0.5_5.0"]),
                        "bypass_mode": some.booleans(),
                    },
                ),
            },
        ),
    },
)


def accepted(name: str, values: dict[str, Any], folder: Path) -> Translation:
    """The translation, whose YAML is a configuration that strop reads, to the row that is meant."""
    made = translate(name, json.dumps(values))
    file = folder / "translated.yaml"
    file.write_text(made.to_yaml(), encoding="utf-8")
    config = load([file])
    row = load(mapping=made.config).row
    assert config.row == row
    for choice, value in made.config["objective"].items():
        chosen = getattr(row, choice)
        kinds = [one["kind"] for one in value] if isinstance(value, list) else value
        if isinstance(value, list):
            assert [one.kind for one in chosen] == kinds
        else:
            assert chosen.kind == (value if isinstance(value, str) else value["kind"])
    return made


@settings(max_examples=60, deadline=None)
@given(values=TRL)
def test_every_grpo_config_becomes_a_configuration_of_strop(
    values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = 8 * (values.get("steps_per_generation") or values.get("gradient_accumulation_steps", 1))
    assert rows % values.get("num_generations", 8) == 0
    made = accepted("trl", values, tmp_path_factory.getbasetemp())
    assert {"advantage", "ratio", "trust", "mean", "kl", "correction", "data", "steps"} <= {
        part for part, _ in made.words
    }


@settings(max_examples=60, deadline=None)
@given(values=VERL)
def test_every_actor_of_verl_becomes_a_configuration_of_strop(
    values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = accepted("verl", values, tmp_path_factory.getbasetemp())
    assert {"advantage", "kl", "correction", "data", "filter", "steps"} <= {part for part, _ in made.words}


@pytest.mark.parametrize(("peer", "given"), [("trl", "{}"), ("verl", "actor_rollout_ref.rollout.n=4")])
def test_nothing_that_an_embedded_model_brings_is_left_in_a_translation(peer: str, given: str) -> None:
    sources = load(mapping=translate(peer, given).config).sources
    brought = {key for key, source in sources.items() if source == "strop:tiny"}
    of_the_run = {key for key in brought if key.startswith(("task.", "eval.", "save.")) or key == "train.steps"}
    assert brought - of_the_run <= {"rollout.overlong.penalty"}  # of no effect beside a buffer of 0


def test_every_peer_has_a_translator() -> None:
    assert set(MODULES) == set(PEERS)
    with pytest.raises(ConfigError, match="^unknown peer 'tlr'; did you mean trl"):
        translate("tlr", "{}")


def test_a_translation_is_plain_json_with_its_yaml() -> None:
    told = json.loads(json.dumps(translate("trl", "{loss_type: cispo}").as_json()))
    assert told["peer"] == "TRL"
    assert told["words"]["trust"].startswith("min(r, 0.2)")
    assert told["config"]["objective"]["trust"] == {"kind": "truncate", "cap": 0.2}
    assert "trust: {kind: truncate, cap: 0.2}\n" in told["yaml"]
    assert {note["key"] for note in told["traps"]} == {"epsilon_high"}


def test_nested_sections_are_written_as_yaml_and_a_choice_in_one_line() -> None:
    made = Draft()
    made.put("objective.trust", {"kind": "clip", "low": 0.2})
    made.put("rollout.overlong.buffer", 3)
    made.put("seed", 1)
    text = Translation("X", "1", (), made.config, (), ()).to_yaml()
    assert text.splitlines() == [
        *("objective:", "  trust: {kind: clip, low: 0.2}"),
        *("rollout:", "  overlong:", "    buffer: 3", "seed: 1"),
    ]


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        ("number", "x", "^key is 'x'; it must be a number$"),
        ("number", True, "^key is True; it must be a number$"),
        ("whole", 1.5, "^key is 1.5; it must be a whole number, 0 or more$"),
        ("whole", -1, "^key is -1; it must be a whole number, 0 or more$"),
        ("flag", "yes", "^key is 'yes'; it must be true or false$"),
    ],
)
def test_a_value_that_cannot_be_meant_is_one_line(read: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        getattr(Settings({"key": value}, {}), read)("key")


def test_a_setting_is_the_one_given_and_its_default_otherwise() -> None:
    settings = Settings({"a": None}, {"a": 1, "b": 2})
    assert (settings["a"], settings["b"]) == (None, 2)
    assert settings.has("a")
    assert not settings.has("b", "c")
    with pytest.raises(ConfigError, match="^b is 2; use one, two$"):
        settings.one_of("b", ("one", "two"))
