from __future__ import annotations

import dataclasses

import pytest

from strop.bridges.keys_trl import DEFAULTS, OTHERS, SCRIPT


def test_a_name_stands_in_one_table() -> None:
    assert not OTHERS & DEFAULTS.keys()
    assert not SCRIPT & (OTHERS | DEFAULTS.keys())


@pytest.mark.peer("trl")
def test_names_and_defaults_are_those_of_the_installed_trl() -> None:
    from trl import GRPOConfig, ModelConfig
    from trl.scripts.grpo import GRPOScriptArguments

    fields = {field.name: field.default for field in dataclasses.fields(GRPOConfig)}
    assert fields.keys() == DEFAULTS.keys() | OTHERS
    assert {name: fields[name] for name in DEFAULTS} == DEFAULTS
    beside = {field.name for config in (ModelConfig, GRPOScriptArguments) for field in dataclasses.fields(config)}
    assert beside - fields.keys() == SCRIPT
