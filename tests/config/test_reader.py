from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.config.reader import Loader, Setting, read_file, read_flags, read_mapping, read_text, split_arguments
from strop.errors import ConfigError, StropError


def value(text: str) -> object:
    return Loader(text).get_single_data()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-6", 1e-6),
        ("1E5", 1e5),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("-3", -3),
        ("+3", 3),
        ("010", 10),
        ("0x10", 16),
        ("0o17", 15),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
        ("true", True),
        ("False", False),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "text", ["12:30", "yes", "on", "off", "n", "2026-01-01", "1_000", "1e", "0b11", "<<", "e5", "'1'"]
)
def test_what_yaml_1_1_would_turn_into_something_else_stays_text(text: str) -> None:
    assert value(text) == text.strip("'")


@pytest.mark.parametrize("text", ["null", "None", "~", ""])
def test_no_value_is_no_text(text: str) -> None:
    assert value(text) is None


@given(st.floats(allow_nan=False))
def test_every_float_that_python_writes_is_read_back(number: float) -> None:
    text = repr(number).replace("inf", ".inf")
    assert value(text) == number


def test_each_value_keeps_its_file_and_line() -> None:
    found = read_text("seed: 1\n\nrollout:\n  prompts: 8\n  overlong: {buffer: 2}\n", name="a.yaml")
    assert found == {
        "seed": Setting(1, "file a.yaml:1"),
        "rollout.prompts": Setting(8, "file a.yaml:4"),
        "rollout.overlong.buffer": Setting(2, "file a.yaml:5"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seed: 1\nseed: 2", "a.yaml:2: seed is given twice, first in line 1"),
        ("train: {steps: 1}\nrollout: {}\ntrain: {updates: 1}", "a.yaml:3: train is given twice, first in line 1"),
        ("rollout: {prompts: 3}\nrollout.prompts: 4", "a.yaml:2: rollout.prompts is given twice, first in line 1"),
        ("objective:\n  trust: {low: 1,\n   low: 2}", "a.yaml:3: low is given twice, first in line 2"),
        ("model: &m x\nrun: *m", "a.yaml:2: aliases (*name) are not read"),
        ("model: !!python/object:os.system x", "a.yaml:1: could not determine a constructor"),
        ("rollout: 3", "a.yaml:1: rollout is a section: write `key: value` lines"),
        ("- seed", "a.yaml:1: a configuration is a list of keys"),
        ("seed: [", "a.yaml:1:"),
        ("a: b: c", "a.yaml:1: mapping values are not allowed here"),
        ("seed: 1\n---\nseed: 2", "a.yaml:2: but found another document"),
        ("\x00", "a.yaml: not YAML"),
        ("rolout: {}", "a.yaml:1: there is no key rolout; did you mean rollout?"),
        ("? {a: b}\n: c", "a.yaml:1:"),
    ],
)
def test_what_is_no_configuration_is_one_line_with_its_place(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_text(text, name="a.yaml")
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_a_bomb_of_nested_lists_is_refused() -> None:
    with pytest.raises(ConfigError, match="too deep"):
        read_text("seed: " + "[" * 5000, name="a.yaml")


@given(st.text(max_size=40))
def test_any_text_is_settings_or_a_config_error(text: str) -> None:
    try:
        read_text(text, name="a.yaml")
    except StropError as error:
        assert "\n" not in str(error)


def test_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("# nothing\n")
    assert read_file(file) == {}


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"seed: \xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8 text, at byte 6"):
        read_file(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(tmp_path)


def test_a_mapping_may_be_nested_and_dotted() -> None:
    found = read_mapping({"rollout": {"prompts": 8}, "train.steps": 3, "model": PurePosixPath("a/b")})
    assert {key: setting.value for key, setting in found.items()} == {
        "rollout.prompts": 8,
        "train.steps": 3,
        "model": "a/b",
    }
    assert {setting.source for setting in found.values()} == {"python"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"rollout": 3}, "rollout is a section"),
        ({"rolout": {}}, "did you mean rollout"),
        ({"rollout": {"prompts": 3}, "rollout.prompts": 4}, "rollout.prompts is given twice"),
        ({1: 2}, "there is no key 1"),
    ],
)
def test_a_wrong_mapping_is_refused(values: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read_mapping(values)


def test_arguments_are_files_and_flags_in_any_order() -> None:
    paths, flags = split_arguments(["a.yaml", "--seed", "-3", "b.yaml", "--run=x=y", "--rollout.max-tokens", "7"])
    assert paths == ["a.yaml", "b.yaml"]
    assert flags == [("seed", "-3"), ("run", "x=y"), ("rollout.max_tokens", "7")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--rollout.promts", "3"], "--rollout.promts: there is no key rollout.promts; did you mean rollout.prompts?"),
        (["--rollout", "3"], "--rollout: rollout is a section; give one of its keys, such as --rollout.prompts"),
        (["--seed"], "--seed needs a value: --seed VALUE"),
        (["--seed", "--run"], "--seed needs a value: --seed VALUE"),
        (["-x"], "-x: a setting is given as --key value"),
    ],
)
def test_a_wrong_flag_is_named(arguments: list[str], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        split_arguments(arguments)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("train.learning_rate", "1e-6", 1e-6),
        ("rollout.overlong.mask_truncated", "False", False),
        ("run", "7", "7"),
        ("run", "1e-6", "1e-6"),
        ("run", "", ""),
        ("run", "None", None),
        ("task.file", "a: b: c", "a: b: c"),
        ("objective.regularizers", "[{kind: kl, beta: 1e-2}]", [{"kind": "kl", "beta": 0.01}]),
        ("objective.regularizers", "[]", []),
        ("seed", "", ""),
    ],
)
def test_a_flag_is_read_as_its_key_wants(key: str, text: str, expected: object) -> None:
    assert read_flags([(key, text)]) == {key: Setting(expected, "flag")}


def test_the_later_flag_counts() -> None:
    assert read_flags([("seed", "1"), ("seed", "2")])["seed"].value == 2


def test_a_flag_that_cannot_be_read_says_to_quote_it() -> None:
    with pytest.raises(ConfigError, match=r"--objective.trust: cannot read '\{kind'"):
        read_flags([("objective.trust", "{kind")])
