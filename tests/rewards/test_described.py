"""What a run knows of a reward travels as JSON, and tells a file that has changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from strop.rewards.described import Described, blindness
from strop.rewards.find import as_reward, find_reward
from tests.rewards.made import reward_file


@pytest.mark.parametrize(
    "function",
    [
        lambda prompt, completion, answer, unit="": 1.0,
        lambda completions, **rest: [1.0],
        lambda solution_str, ground_truth: 1.0,
        lambda *both: 1.0,
    ],
)
def test_the_record_is_read_back_as_it_was(function: object) -> None:
    described = Described.of(as_reward(function))  # type: ignore[arg-type]
    assert Described.read(json.loads(json.dumps(described.record()))) == described


def test_the_hash_is_of_its_file_as_it_was_when_it_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "hashed", raising=False)
    text = "def score(prompt, completion):\n    return 1.0\n"
    reward = find_reward(f"{reward_file(tmp_path, text, 'hashed.py')}:score")
    first = Described.of(reward)
    use = f"{reward_file(tmp_path, text + '#', 'hashed.py')}:score"
    assert Described.of(reward).source == first.source
    monkeypatch.delitem(sys.modules, "hashed")
    assert Described.of(find_reward(use)).source != first.source


def test_a_decorator_that_hides_the_parameters_is_told_of_with_how_the_reward_is_called() -> None:
    def score(completion: str, answer: str) -> float:
        return 1.0

    def hidden(*args: Any, **kwargs: Any) -> float:
        return score(*args, **kwargs)

    said = blindness(Described.of(as_reward(hidden)))
    assert said.startswith("reward hidden has the parameters (*args, **kwargs), so it is called with prompt and compl")
    assert said.endswith("put functools.wraps(function) on the wrapper")
    others: list[Callable[..., Any]] = [score, wraps(score)(hidden), lambda prompt, completion, /, **rest: 1.0]
    assert [blindness(Described.of(as_reward(each))) for each in others] == ["", "", ""]
