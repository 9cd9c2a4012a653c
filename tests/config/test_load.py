from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_origin

import pytest

from strop.config.load import FORMS, load, model_layer, resolve
from strop.config.reader import read_flags
from strop.config.schema import KEYS, LEAVES, Config
from strop.errors import ConfigError


@pytest.fixture
def write(tmp_path: Path):
    def _write(text: str, name: str = "a.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return _write


def test_later_layers_win_and_every_value_knows_its_layer(write) -> None:
    first = write("seed: 1\nrollout:\n  prompts: 4\ntrain: {steps: 7}\n")
    second = write("rollout: {prompts: 6}\ntrain: {steps: 8}\n", "b.yaml")
    config = load([first, second], [("train.steps", "9")])
    assert (config.seed, config.rollout.prompts, config.train.steps) == (1, 6, 9)
    assert config.sources["seed"] == f"file {first}:1"
    assert config.sources["rollout.prompts"] == f"file {second}:1"
    assert config.sources["train.steps"] == "flag"
    assert config.sources["task.kind"] == "strop:tiny"
    assert config.sources["save.keep"] == "default"
    assert config.sources["objective.trust"] == "row"
    assert list(config.sources) == list(LEAVES)


def test_the_embedded_model_brings_its_task_and_settings_and_no_other_model_does(tmp_path: Path) -> None:
    layer = model_layer("strop:tiny")
    assert layer["task.kind"].value == "arithmetic"
    assert load().task.kind == "arithmetic"
    assert load(flags=[("task.kind", "default")]).task.kind == "arithmetic"
    (tmp_path / "config.json").touch()
    other = load(flags=[("model", str(tmp_path)), ("task.kind", "arithmetic")])
    assert "strop:tiny" not in other.sources.values()
    assert model_layer("strop:../tiny") == model_layer("gpt2") == {}


def test_a_file_that_names_the_embedded_model_lies_above_what_the_model_brings(write) -> None:
    config = load([write("model: strop:tiny\nrollout: {prompts: 5}")])
    assert config.rollout.prompts == 5


def test_a_run_folder_stands_for_its_config_without_its_name(write) -> None:
    path = write("run: first\nseed: 5\n", "run/config.yaml")
    config = load([path.parent], [("run", "second")])
    assert (config.seed, config.run) == (5, "second")
    assert load([path.parent]).run == ""
    assert load([path]).run == "first"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train: {learning_rate: fast}", "train.learning_rate: must be a number, is 'fast'"),
        ("rollout: {completions: 8.5}", "rollout.completions: must be a whole number, is 8.5"),
        ("rollout: {completions: true}", "rollout.completions: must be a whole number, is true"),
        ("rollout: {completions: '8'}", "rollout.completions: must be a whole number, is '8'"),
        ("seed: 12:30", "seed: must be a whole number, is '12:30'"),
        ("objective: {trust: 3}", "objective.trust: must be a name or {kind: NAME, ...}, is 3"),
        ("objective: {regularizers: [3]}", "objective.regularizers: must be a name or {kind: NAME, ...}, or a list"),
        (
            "task: {data: {columns: a=b}}",
            "task.data.columns: must be a mapping, such as '{prompt: question}', is 'a=",
        ),
        (
            "task: {data: {columns: {prompt: 3}}}",
            "task.data.columns: must be a mapping, such as '{prompt: question}', is",
        ),
        ("task: {data: {settings: [a]}}", "task.data.settings: must be a mapping, such as '{max_terms: 4}', is ['a']"),
        (
            "task: {mix: a.jsonl}",
            "task.mix: must be a list, such as '[{file: a.jsonl}, {file: b.jsonl}]', is 'a.",
        ),
        ("train: {lora: {targets: q_proj}}", "train.lora.targets: must be a list, such as '[q_proj, v_proj]', is 'q_p"),
        ("save: {trackers: wandb}", "save.trackers: must be a list, such as '[tensorboard]', is 'wandb'"),
        (
            "save: {trackers: [wandbb]}",
            "save.trackers: must be a list of tensorboard or wandb or trackio, is ['wandb",
        ),
        ("train: {adam: {weight_decay: None}}", "train.adam.weight_decay: has no value"),
        ("run: null", "run: has no value"),
        ("run:", "run: has no value"),
        ("run: 7", "run: must be text (put quotes around it), is 7"),
        ("run: ../up", "run: must hold letters, digits"),
        ("device: gpu", "device: must be auto, cpu, cuda, cuda:N or mps, is 'gpu'"),
        (
            "rollout: {overlong: {mask_truncated: yes}}",
            "rollout.overlong.mask_truncated: must be true or false, is 'yes'",
        ),
        ("rollout: {overlong: {mask_truncated: 1}}", "rollout.overlong.mask_truncated: must be true or false, is 1"),
        ("rollout: {filter: mixd}", "rollout.filter: must be mixed or none, is 'mixd'; did you mean mixed?"),
        ("rollout: {prompts: 0}", "rollout.prompts: must be greater than 0, is 0"),
        ("rollout: {overlong: {buffer: -5}}", "rollout.overlong.buffer: must be at least 0, is -5"),
        ("train: {adam: {beta1: 1.0}}", "train.adam.beta1: must be less than 1"),
        ("train: {learning_rate: .nan}", "train.learning_rate: must be finite, is nan"),
        ("train: {steps: 1.0e+400}", "train.steps: must be a whole number, is inf"),
        ("model: ''", "model: must be text, is ''"),
        ("rollout: {temperature: 0}", "rollout.temperature: must be greater than 0 in training, is 0"),
    ],
)
def test_a_wrong_value_is_one_line_with_file_line_key_and_remedy(write, text: str, expected: str) -> None:
    path = write(f"# a comment\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load([path])
    assert str(caught.value).startswith(f"{path}:2: {expected}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"), [("1e-6", 1e-6), ("1e-06", 1e-6), ("1.0e-6", 1e-6), ("1", 1.0), (".1", 0.1)]
)
def test_numbers_with_an_exponent_are_numbers_in_files_and_in_flags(write, text: str, expected: float) -> None:
    for config in (load([write(f"train: {{learning_rate: {text}}}")]), load(flags=[("train.learning_rate", text)])):
        assert config.train.learning_rate == expected
        assert isinstance(config.train.learning_rate, float)


def test_a_whole_number_may_have_an_exponent() -> None:
    config = load(flags=[("train.steps", "1e3")])
    assert config.train.steps == 1000
    assert isinstance(config.train.steps, int)


@pytest.mark.parametrize("text", ["False", "false", "FALSE"])
def test_false_on_the_command_line_is_false(text: str) -> None:
    assert load(flags=[("rollout.overlong.mask_truncated", text)]).rollout.overlong.mask_truncated is False


def test_every_key_of_a_mapping_or_a_list_says_how_one_is_written() -> None:
    assert set(FORMS) == {key for key in LEAVES if get_origin(KEYS[key].annotation) in (dict, list)}
    flags = [(key, form.partition("'")[2].removesuffix("'")) for key, form in FORMS.items()]
    values = {key: setting.value for key, setting in read_flags(flags).items()}
    assert {type(values[key]) for key in FORMS if "mapping" in FORMS[key]} == {dict}
    assert {type(values[key]) for key in FORMS if "list" in FORMS[key]} == {list}


def test_several_wrong_values_are_counted_in_the_line_of_the_first() -> None:
    with pytest.raises(ConfigError, match=r"^rollout\.prompts: .* \(and 1 more: save\.keep\)$"):
        load(flags=[("save.keep", "0"), ("rollout.prompts", "-1")])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train.yam", "neither a .yaml file nor a run folder"),
        ("aa.yaml", "did you mean a.yaml?"),
        (".", "so it is no run"),
    ],
)
def test_a_path_that_is_no_configuration_is_refused(
    write, path: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write("seed: 1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=expected):
        load([path])


def test_a_mapping_goes_through_the_same_checks() -> None:
    config = load(mapping={"rollout": {"prompts": 5}, "train.steps": 2})
    assert config.sources["rollout.prompts"] == "python"
    with pytest.raises(ConfigError, match=r"^rollout\.prompts: must be a whole number"):
        load(mapping={"rollout": {"prompts": True}})


def test_resolve_takes_whatever_means_a_config(write) -> None:
    path = write("seed: 4")
    config = resolve(path)
    again = resolve(config)
    assert again.seed == resolve(str(path)).seed == resolve({"seed": 4}).seed == 4
    assert again.sources == config.sources
    with pytest.raises(ConfigError, match="names no task"):
        resolve(Config(model="gpt2"))


def test_the_warnings_are_those_of_the_keys_and_of_the_row() -> None:
    config = load(mapping={"rollout.max_staleness": 1, "objective.length": 3})
    assert [warning.split()[0] for warning in config.warnings] == ["rollout.max_staleness", "objective.length"]


def test_a_wrong_value_is_found_before_torch_is_imported() -> None:
    code = (
        "import sys; from strop.config.load import load; from strop.errors import ConfigError\n"
        "try: load([], [('rollout.temperature', '0')])\n"
        "except ConfigError: sys.exit(3 if 'torch' in sys.modules else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
