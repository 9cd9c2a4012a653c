from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from strop.bridges.keys_verl import DEFAULTS, NO_DEFAULT, SECTIONS
from strop.config.foreign import read_foreign


def at(tree: Any, key: str) -> Any:
    for name in key.split(".") if key else ():
        tree = tree[name]
    return tree


def test_every_setting_that_is_read_is_a_name_of_its_section() -> None:
    for key in DEFAULTS:
        section, _, name = key.rpartition(".")
        assert name in SECTIONS.get(section, {name})
        assert key.split(".")[0] in SECTIONS[""]
    assert not DEFAULTS.keys() & NO_DEFAULT.keys()


@pytest.mark.peer("verl")
def test_names_and_defaults_are_those_of_the_installed_verl() -> None:
    spec = find_spec("verl")
    assert spec is not None
    assert spec.origin is not None
    files = sorted((Path(spec.origin).parent / "trainer" / "config").glob("_generated_ppo*_trainer.yaml"))
    trees = {file.name: read_foreign(str(file)) for file in files}
    for section, names in SECTIONS.items():
        assert set().union(*(at(tree, section) for tree in trees.values())) == names, section
    plain = trees["_generated_ppo_trainer.yaml"]
    assert {key: at(plain, key) for key in DEFAULTS} == DEFAULTS
