from __future__ import annotations

from pathlib import Path

import pytest

from strop import assets
from strop.config.check import check, where
from strop.config.load import _validate, load
from strop.config.reader import read_mapping
from strop.config.schema import Config
from strop.errors import ConfigError

ARITHMETIC = {"task.kind": "arithmetic"}


def config(**settings: object) -> Config:
    """A configuration that is well-formed but not yet checked. A double underscore stands for the dot of a key."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return _validate(read_mapping({**ARITHMETIC, **given}))


def refusal(**settings: object) -> str:
    with pytest.raises(ConfigError) as caught:
        check(config(**settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_one_completion_under_dynamic_sampling_is_refused_naming_both_settings() -> None:
    text = refusal(rollout__completions=1)
    assert "rollout.completions" in text
    assert "rollout.filter mixed" in text


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_training_at_temperature_zero_or_less_is_refused_naming_the_key(temperature: float) -> None:
    assert refusal(rollout__temperature=temperature).startswith("rollout.temperature: must be greater than 0")


def test_an_overlong_buffer_longer_than_a_completion_is_refused() -> None:
    text = refusal(rollout__max_tokens=100, rollout__overlong__buffer=120)
    assert text.startswith("rollout.overlong.buffer: 120 exceeds rollout.max_tokens 100")


@pytest.mark.parametrize("buffer", [0, 20, 100])
def test_an_overlong_buffer_up_to_a_whole_completion_is_allowed(buffer: int) -> None:
    assert check(config(rollout__max_tokens=100, rollout__overlong__buffer=buffer)) == ()


def test_more_updates_than_prompts_is_refused() -> None:
    assert refusal(train__updates=9, rollout__prompts=8).startswith("train.updates: 9 exceeds rollout.prompts 8")
    assert check(config(train__updates=8, rollout__prompts=8)) == ()


def test_fewer_draws_than_prompts_is_refused() -> None:
    assert refusal(rollout__max_draws=7, rollout__prompts=8).startswith("rollout.max_draws: 7 is less than")
    assert check(config(rollout__max_draws=8, rollout__prompts=8)) == ()


def test_a_model_without_a_task_of_its_own_needs_one() -> None:
    text = refusal(model="Qwen/Qwen3-0.6B", task__kind="default")
    assert text.startswith("task.kind: model Qwen/Qwen3-0.6B names no task of its own")


def test_a_jsonl_task_needs_files_that_are_there(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    train.touch()
    assert refusal(task__kind="jsonl").startswith("task.file: is empty")
    text = refusal(task__kind="jsonl", task__file=str(tmp_path / "trian.jsonl"))
    assert text == f"task.file: there is no file {tmp_path}/trian.jsonl; did you mean {train}?"
    assert refusal(task__kind="jsonl", task__file=str(train), task__held_out_file="no.jsonl").startswith(
        "task.held_out_file: there is no file no.jsonl"
    )
    assert check(config(task__kind="jsonl", task__file=str(train))) == ()


@pytest.mark.parametrize("reward", ["reward.py", "score", "reward.py:", "a b:c", ":f", "reward.txt:score"])
def test_a_reward_is_named_by_file_and_function(reward: str) -> None:
    assert refusal(task__reward=reward).startswith(f"task.reward: {reward!r} is not of the form")


def test_a_reward_file_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "reward.py").touch()
    assert check(config(task__reward=f"{tmp_path}/reward.py:score")) == ()
    assert check(config(task__reward="package.module.score")) == ()
    assert "did you mean" in refusal(task__reward=f"{tmp_path}/rewards.py:score")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("./nowhere", "there is no folder ./nowhere"),
        ("/no/where", "there is no folder /no/where"),
        ("a/b/c", "there is no folder a/b/c"),
        ("strop:tini", "there is no embedded model strop:tini; did you mean strop:tiny?"),
        ("strop:../tiny", "there is no embedded model"),
        ("remote-code:a/b", "must say which"),
        ("two words", "neither a folder nor a Hugging Face id"),
        ("pyproject.toml", "there is no folder pyproject.toml"),
    ],
)
def test_a_model_that_cannot_be_is_refused_before_anything_loads(
    model: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert expected in refusal(model=model)


@pytest.mark.parametrize(
    "model", ["gpt2", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B@v1", f"remote-code:a/b@{'0' * 40}", "strop:tiny"]
)
def test_a_model_may_be_a_hub_id_or_embedded(model: str) -> None:
    assert check(config(model=model)) == ()


def test_a_model_folder_must_hold_a_model(tmp_path: Path) -> None:
    assert "holds no model" in refusal(model=str(tmp_path))
    for step in (3, 12):
        (tmp_path / "checkpoints" / f"step-{step:06d}").mkdir(parents=True)
        (tmp_path / "checkpoints" / f"step-{step:06d}" / "config.json").touch()
    assert refusal(model=str(tmp_path)).endswith("its newest weights are " + str(tmp_path / "checkpoints/step-000012"))
    (tmp_path / "config.json").touch()
    assert check(config(model=str(tmp_path))) == ()


def test_the_embedded_models_are_found() -> None:
    assert "strop:tiny" in assets.names()
    for name in assets.names():
        assert assets.folder(name).joinpath("config.json").is_file()
        assert "task" in assets.settings(name)
    assert assets.settings("strop:../tiny") == assets.settings("tiny") == ""


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"rollout__max_staleness": 2}, "rollout.max_staleness"),
        ({"rollout__surplus": "carry"}, "rollout.surplus"),
        ({"rollout__filter": "none", "rollout__surplus": "carry"}, "rollout.surplus"),
        ({"rollout__filter": "none", "rollout__exhaustion": "short"}, "rollout.exhaustion"),
        ({"rollout__overlong__penalty": 0.5}, "rollout.overlong.penalty"),
        ({"task__file": "a.jsonl"}, "task.file"),
        ({"task__held_out_file": "x.jsonl"}, "task.held_out_file"),
        ({"train__steps": 5, "train__warmup_steps": 6}, "train.warmup_steps"),
        ({"train__dtype": "bfloat16", "device": "cpu"}, "train.dtype"),
    ],
)
def test_a_key_without_effect_is_a_warning(settings: dict[str, object], key: str) -> None:
    [warning] = check(config(**settings))
    assert warning.startswith(key)


def test_a_default_without_effect_is_no_warning() -> None:
    assert check(config(rollout__max_staleness=0, rollout__overlong__penalty=1.0, task__file="")) == ()


def test_what_the_model_brings_without_effect_is_no_warning() -> None:
    assert load(mapping={"train.steps": 1}).warnings == ()


def test_a_message_starts_with_the_place_of_the_value() -> None:
    assert where("file a.yaml:3") == "a.yaml:3: "
    assert where("strop:tiny") == "strop:tiny: "
    assert where("flag") == where("default") == where("python") == ""
