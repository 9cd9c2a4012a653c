"""The section of a task: one source, or a mixture of several with weights."""

from __future__ import annotations

import re
from typing import Any

import pytest

from strop.config.load import load
from strop.config.schema_task import Mixed, Source, Task
from strop.errors import ConfigError


def test_an_entry_of_a_mixture_has_the_keys_of_a_source_and_a_weight() -> None:
    assert set(Mixed.model_fields) == {*Source.model_fields, "weight"}
    task = Task.model_validate({"mix": [{"kind": "arithmetic"}, {"file": "a.jsonl", "weight": 2.5}]})
    assert [entry.weight for entry in task.mix] == [1.0, 2.5]
    assert task.mix[1].data.split == "train"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([{"knd": "jsonl"}], "task.mix: entry 1, knd: extra inputs are not permitted; did you mean kind?"),
        ([{"kind": "arithmetic"}, {"kind": "jsnl"}], "task.mix: entry 2, kind: input should be 'default'"),
        ([{"weight": 0.0}], "task.mix: entry 1, weight: input should be greater than 0"),
        ([{"data": {"split": 3}}], "task.mix: entry 1, data.split: input should be a valid string"),
        (["math"], "task.mix: entry 1: input should be a valid dictionary or instance of Mixed"),
    ],
)
def test_a_fault_inside_a_mixture_names_the_entry_and_its_key(entries: list[Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        load(mapping={"task": {"kind": "mixture", "mix": entries}})
