"""How a reward is called is read from its parameters, whatever they are called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from strop.errors import ConfigError
from strop.tasks.signature import read_signature

COLUMNS = {"answer": "4", "level": 3}


def call(function: Callable[..., Any], columns: dict[str, Any] = COLUMNS) -> Any:
    places, names = read_signature(function, "f").arguments("P", "C", columns)
    return function(*places, **names)


@pytest.mark.parametrize(
    "function, got",
    [
        (lambda prompt, completion, **rest: (prompt, completion, rest), ("P", "C", COLUMNS)),
        (lambda completion, prompt: (prompt, completion), ("P", "C")),
        (lambda completion, answer: (completion, answer), ("C", "4")),
        (lambda question, text, *, level: (question, text, level), ("P", "C", 3)),
        (lambda prompt, completion, /, **rest: (prompt, completion, rest), ("P", "C", COLUMNS)),
        (lambda *both, **rest: (both, rest), (("P", "C"), COLUMNS)),
        (lambda **all_: all_, {"prompt": "P", "completion": "C", **COLUMNS}),
        (lambda prompts, completions, answer: (prompts, completions, answer), ("P", "C", "4")),
        (lambda completions, **rest: (completions, rest), ("C", {"prompts": "P", **COLUMNS})),
        (partial(lambda a, prompt, completion: (a, prompt, completion), 1), (1, "P", "C")),
    ],
)
def test_every_way_to_write_a_reward_gets_its_prompt_completion_and_columns(
    function: Callable[..., Any], got: Any
) -> None:
    assert call(function) == got


@pytest.mark.parametrize("function", [lambda prompt, completion, **rest: (prompt, completion), lambda *a, **b: a])
def test_a_column_called_like_the_completion_gives_way(function: Callable[..., Any]) -> None:
    assert call(function, {"prompt": "column", "completion": "column"}) == ("P", "C")


def test_what_a_row_must_fill_are_the_parameters_without_default() -> None:
    signature = read_signature(lambda prompt, completion, gold, unit="m", **rest: 1.0, "f")
    assert signature.missing(["unit"]) == ["gold"]
    assert signature.missing(["gold"]) == []


@pytest.mark.parametrize("function", [lambda: 1.0, lambda text: 1.0, 3, lambda prompt, *, answer: 1.0])
def test_what_has_no_place_for_a_completion_is_refused(function: Any) -> None:
    with pytest.raises(ConfigError, match=r"task\.reward: .*f"):
        read_signature(function, "f")
