from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from strop.config.schema import KEYS, LEAVES, SECTIONS, Config

EMPTY = '""'
DOCS = Path(__file__).parents[2] / "docs" / "config.md"


def test_a_config_is_frozen_and_takes_no_other_key() -> None:
    config = Config()
    with pytest.raises(ValidationError):
        config.seed = 3  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Config.model_validate({"sed": 3})


def test_there_are_at_most_eighty_keys() -> None:
    assert len(LEAVES) <= 80


@pytest.mark.parametrize("key", LEAVES)
def test_every_key_says_what_it_means(key: str) -> None:
    assert len(KEYS[key].description.split()) >= 3
    assert KEYS[key].description.endswith(".")


@pytest.mark.parametrize("key", LEAVES)
def test_no_key_takes_null_and_no_default_is_null(key: str) -> None:
    assert Config().value(key) is not None
    assert "None" not in str(KEYS[key].annotation)


def test_flat_and_dump_hold_the_same_values() -> None:
    config = Config()
    dump = config.dump()
    for key, value in config.flat().items():
        found = dump
        for name in key.split("."):
            found = found[name]
        assert found == value
    assert not set(config.flat()) & set(SECTIONS)


def documented() -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| `([\w.]+)` \| (.*?) \| (.*?) \|$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {key: (default, meaning) for key, default, meaning in rows}


def test_the_docs_name_every_key_and_no_other() -> None:
    assert list(documented()) == list(LEAVES)


@pytest.mark.parametrize("key", LEAVES)
def test_the_docs_tell_the_default_and_the_meaning(key: str) -> None:
    default, meaning = documented()[key]
    value = Config().value(key)
    shown = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value).lower()
    assert default == f"`{shown or EMPTY}`"
    assert meaning == KEYS[key].description
