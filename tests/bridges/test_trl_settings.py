from __future__ import annotations

import dataclasses
import types
import warnings
from typing import Any

import pytest

import strop
from strop.bridges.trl_settings import DECIDED, REFUSALS, SAMPLING, check, check_model, warn
from strop.errors import ConfigError


@dataclasses.dataclass
class Arguments:
    """The settings that are looked at, with TRL's defaults."""

    loss_type: str = "dapo"
    epsilon: float = 0.2
    epsilon_high: float | None = None
    delta: float | None = None
    importance_sampling_level: str = "token"
    scale_rewards: str = "group"
    sapo_temperature_neg: float = 1.05
    sapo_temperature_pos: float = 1.0
    use_bias_correction_kl: bool = True
    vespo_k_pos: float = 2.0
    vespo_lambda_pos: float = 3.0
    vespo_k_neg: float = 3.0
    vespo_lambda_neg: float = 2.0
    beta: float = 0.0
    entropy_coef: float = 0.0
    use_adaptive_entropy: bool = False
    top_entropy_quantile: float = 1.0
    off_policy_mask_threshold: float | None = None
    multi_objective_aggregation: str = "sum_then_normalize"
    parallelism_config: Any = None
    deepspeed: Any = None
    fsdp: Any = None
    use_vllm: bool = False
    vllm_importance_sampling_correction: bool = True
    top_p: float = 1.0
    top_k: int = 0
    min_p: float | None = None
    repetition_penalty: float = 1.0
    generation_kwargs: Any = None
    use_transformers_continuous_batching: bool = False
    max_completion_length: int | None = 512
    gradient_accumulation_steps: int = 1
    steps_per_generation: int | None = None


def checked(row: str | strop.Algorithm, given: dict[str, Any] | None = None, **settings: Any) -> None:
    check(strop.algorithm(row) if isinstance(row, str) else row, Arguments(**settings), given or {})


REFUSED = {
    "entropy_coef": 0.01,
    "use_adaptive_entropy": True,
    "top_entropy_quantile": 0.2,
    "off_policy_mask_threshold": 0.5,
    "multi_objective_aggregation": "normalize_then_sum",
    "parallelism_config": "cp",
    "deepspeed": "zero.json",
    "fsdp": "full_shard",
}
SAMPLED_OTHERWISE = {
    "top_p": 0.9,
    "top_k": 50,
    "min_p": 0.1,
    "repetition_penalty": 1.1,
    "generation_kwargs": {"num_beams": 2},
    "use_transformers_continuous_batching": True,
}


@pytest.mark.parametrize("row", ["dapo", "dapo_prompt", "dr_grpo", "gspo_token", "dppo_tv", "scalerl", "cispo"])
def test_a_row_without_a_kl_trains_under_trls_defaults(row: str) -> None:
    checked(row)


def test_every_refusal_is_tried() -> None:
    assert set(REFUSED) == {refusal.name for refusal in REFUSALS}
    assert set(SAMPLED_OTHERWISE) == {refusal.name for refusal in SAMPLING}


@pytest.mark.parametrize(("name", "value"), REFUSED.items())
def test_what_would_add_to_the_loss_is_refused_by_name_in_one_line(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}=.* is refused: ") as caught:
        checked("dapo", **{name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), SAMPLED_OTHERWISE.items())
def test_a_truncated_distribution_is_refused_only_where_rescored_completions_pass_for_the_sampler(
    name: str, value: Any
) -> None:
    checked("dapo", **{name: value})
    checked("dppo_tv", {"rollout_func": print}, **{name: value})
    with pytest.raises(ConfigError, match=rf"^{name}=.*\(dppo_tv reads the sampler's log-probs"):
        checked("dppo_tv", **{name: value})


@pytest.mark.parametrize("name", ["tools", "environment_factory"])
def test_completions_of_several_turns_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} is refused"):
        checked("dapo", {name: [print]})


def test_trls_own_correction_is_refused_and_vllm_without_it_is_not() -> None:
    with pytest.raises(ConfigError, match="^vllm_importance_sampling_correction=True multiplies the loss"):
        checked("dapo", use_vllm=True)
    checked("dppo_tv", use_vllm=True, vllm_importance_sampling_correction=False)


def test_beta_is_one_number_and_loads_the_reference() -> None:
    checked("grpo", beta=0.04)
    with pytest.raises(ConfigError, match=r"^grpo has a KL of beta 0\.04 and GRPOConfig has beta=0\.0: "):
        checked("grpo")
    with pytest.raises(ConfigError, match=r"^grpo has a KL of beta 0\.04 and GRPOConfig has beta=0\.1: "):
        checked("grpo", beta=0.1)
    with pytest.raises(ConfigError, match=r"^beta=0\.04 loads a reference model, and dapo has no KL: "):
        checked("dapo", beta=0.04)


def test_a_stream_that_trl_does_not_have_is_named() -> None:
    row = dataclasses.replace(strop.algorithm("dapo"), regularizers=(Reads(),))
    with pytest.raises(ConfigError, match="^dapo reads masked_logp, which TRL does not have"):
        check(row, Arguments(), {})


@dataclasses.dataclass(frozen=True)
class Reads:
    kind = "perception"
    reads = frozenset({"masked_logp"})


def test_a_constant_mean_needs_a_length_from_one_of_the_two() -> None:
    with pytest.raises(ConfigError, match="^dr_grpo divides by a fixed length: set max_completion_length"):
        checked("dr_grpo", max_completion_length=None)
    checked(strop.algorithm("dr_grpo", length=64), max_completion_length=None)


@pytest.mark.parametrize("name", ["aux_loss_enabled", "_is_vlm", "is_deepspeed_enabled", "is_fsdp_enabled"])
def test_a_model_or_a_way_to_spread_it_that_was_not_verified_is_refused(name: str) -> None:
    state = dict.fromkeys(("aux_loss_enabled", "_is_vlm", "is_deepspeed_enabled", "is_fsdp_enabled"), False)
    check_model(types.SimpleNamespace(**state))
    with pytest.raises(ConfigError):
        check_model(types.SimpleNamespace(**{**state, name: True}))


def warned(row: strop.Algorithm, given: dict[str, Any] | None = None, **settings: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(row, Arguments(**{"steps_per_generation": 1, **settings}), given or {})
    return [str(one.message) for one in caught]


def test_settings_that_no_longer_mean_anything_are_one_warning() -> None:
    row = strop.algorithm("dapo_prompt")
    assert warned(row, beta=0.3) == []
    [told] = warned(row, loss_type="grpo", epsilon_high=0.3)
    assert told == "the row dapo_prompt decides the loss: loss_type='grpo', epsilon_high=0.3 has no effect"
    assert {field.name for field in dataclasses.fields(Arguments)} >= set(DECIDED)


def test_a_correction_without_log_probs_of_a_sampler_is_a_warning() -> None:
    row = strop.algorithm("dapo", correction="token_truncate")
    [told] = warned(row)
    assert told.startswith("the correction token_truncate has no effect")
    assert warned(row, {"rollout_func": print}) == []
    assert warned(row, use_vllm=True) == []


def test_a_prompt_mean_over_parts_of_groups_is_a_warning_and_over_whole_groups_none() -> None:
    row = strop.algorithm("dapo_prompt")
    for accumulate, generate in ((2, 2), (4, 2), (4, 1)):
        assert warned(row, gradient_accumulation_steps=accumulate, steps_per_generation=generate) == []
    for accumulate, generate in ((2, 4), (3, 2)):
        [told] = warned(row, gradient_accumulation_steps=accumulate, steps_per_generation=generate)
        assert f"steps_per_generation={generate} does not divide gradient_accumulation_steps={accumulate}: " in told
        assert warned(strop.algorithm("dapo"), gradient_accumulation_steps=2, steps_per_generation=4) == []


@pytest.mark.peer("trl")
def test_the_defaults_tried_here_are_trls() -> None:
    from trl import GRPOConfig

    theirs = {field.name: field for field in dataclasses.fields(GRPOConfig)}
    for field in dataclasses.fields(Arguments):
        default = theirs[field.name].default
        assert default == field.default, field.name
