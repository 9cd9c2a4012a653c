"""What a file or a flag holds becomes a value of its key's own type, or one line that names the key: for every key.

Report B59, https://github.com/hiyouga/LlamaFactory/issues/4014: numbers with an exponent came as text and failed late,
and the text "False" was true.
"""

from __future__ import annotations

from typing import Any

import pytest

from strop.config.load import _validate
from strop.config.reader import read_flags, read_text
from strop.config.schema import KEYS, LEAVES
from strop.errors import ConfigError


def keys_of(kind: type) -> list[str]:
    return [key for key in LEAVES if KEYS[key].annotation is kind]


NUMBERS = [*keys_of(int), *keys_of(float)]
TYPED = [*NUMBERS, *keys_of(bool)]


def file_of(key: str, text: str) -> str:
    """A YAML file that holds this text for this key, in the sections that it stands in."""
    names = key.split(".")
    return "\n".join(f"{'  ' * depth}{name}:" for depth, name in enumerate(names)) + f" {text}\n"


def read(key: str, text: str, *, flag: bool) -> Any:
    settings = read_flags([(key, text)]) if flag else read_text(file_of(key, text), name="a.yaml")
    return _validate(settings).value(key)


WAYS = pytest.mark.parametrize("flag", [False, True], ids=["file", "flag"])


@WAYS
@pytest.mark.parametrize("key", keys_of(int))
def test_a_whole_number_with_an_exponent_is_a_whole_number(key: str, flag: bool) -> None:
    """Report B59."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in ("1e3", "1E3", "1.0e+3", "1000"):
        found = read(key, text, flag=flag)
        assert found == 1000 and type(found) is int


@WAYS
@pytest.mark.parametrize("key", keys_of(float))
def test_a_number_with_an_exponent_is_a_number(key: str, flag: bool) -> None:
    """Report B59."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in ("1e-06", "1e-6", "1.0E-6", ".000001"):
        found = read(key, text, flag=flag)
        assert found == 1e-6 and type(found) is float


@WAYS
@pytest.mark.parametrize("key", keys_of(bool))
def test_false_is_false_however_it_is_written(key: str, flag: bool) -> None:
    """Report B59."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in ("False", "false", "FALSE"):
        assert read(key, text, flag=flag) is False
    assert read(key, "True", flag=flag) is True


NO_NUMBERS = ("true", "False", "12:30", "None", "null", "~", "fast", "'8'", "[8]", "{a: 8}", ".nan")


@WAYS
@pytest.mark.parametrize("key", NUMBERS)
def test_what_is_no_number_is_refused_by_the_name_of_its_key(key: str, flag: bool) -> None:
    """Report B59: a time of day is not 750, and true is not 1."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in NO_NUMBERS:
        with pytest.raises(ConfigError, match=f"^(a.yaml:[1-3]: )?{key}: ") as caught:
            read(key, text, flag=flag)
        assert "\n" not in str(caught.value)


@WAYS
@pytest.mark.parametrize("key", keys_of(int))
def test_a_fraction_is_no_whole_number(key: str, flag: bool) -> None:
    """Report B59."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in ("8.5", "1e-6"):
        with pytest.raises(ConfigError, match=f"{key}: must be a whole number, is {float(text)}"):
            read(key, text, flag=flag)


@WAYS
@pytest.mark.parametrize("key", keys_of(bool))
def test_a_switch_is_true_or_false_and_nothing_like_it(key: str, flag: bool) -> None:
    """Report B59."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in ("yes", "off", "0", "1", "None", "'False'", "nope"):
        with pytest.raises(ConfigError, match=f"{key}: (must be true or false, is|has no value)"):
            read(key, text, flag=flag)


@WAYS
@pytest.mark.parametrize("key", [key for key in LEAVES if key not in TYPED])
def test_no_value_is_never_the_text_none(key: str, flag: bool) -> None:
    """Report B59."""
    # https://github.com/hiyouga/LlamaFactory/issues/4014
    for text in ("None", "null", "~"):
        with pytest.raises(ConfigError, match=f"{key}: has no value"):
            read(key, text, flag=flag)
