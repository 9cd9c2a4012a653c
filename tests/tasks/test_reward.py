"""A user's reward: found by name, called by its signature, and never believed when it returns no number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strop.errors import ConfigError, RewardError
from strop.tasks.reward import as_reward, find_reward
from strop.types import Completion, Prompt

PROMPT = Prompt("p1", "2+2=", {"answer": "4"})
COMPLETIONS = [Completion((5,), (-1.0,), text, "stop", 0) for text in ("4", "5", "")]


def test_the_single_form_gets_prompt_completion_and_columns() -> None:
    def score(prompt: str, completion: str, *, answer: str) -> float:
        assert prompt == "2+2="
        return float(completion == answer)

    assert as_reward(score)(PROMPT, COMPLETIONS) == [1.0, 0.0, 0.0]


def test_the_batch_form_gets_lists_as_trl_gives_them() -> None:
    def score(prompts: list[str], completions: list[str], answer: list[str], **columns: Any) -> list[float]:
        assert len(prompts) == len(answer) == 3
        return [float(c == a) for c, a in zip(completions, answer, strict=True)]

    assert as_reward(score)(PROMPT, COMPLETIONS) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "0.5", [1.0]])
def test_what_is_no_finite_number_is_refused_by_the_name_of_the_function(value: Any) -> None:
    """Report B38."""

    def bad(prompt: str, completion: str, **columns: Any) -> Any:
        return value

    with pytest.raises(RewardError, match="reward bad returned .* for prompt 'p1'"):
        as_reward(bad)(PROMPT, COMPLETIONS)


@pytest.mark.parametrize("value, number", [(True, 1.0), (np.float32(0.5), 0.5), (1, 1.0)])
def test_other_kinds_of_number_are_numbers(value: Any, number: float) -> None:
    assert as_reward(lambda prompt, completion, **columns: value)(PROMPT, COMPLETIONS) == [number] * 3


@pytest.mark.parametrize("scores, got", [([1.0], 1), ([1.0] * 5, 5)])
def test_the_wrong_number_of_scores_is_refused_and_never_broadcast(scores: list[float], got: int) -> None:
    """Report B36."""

    def short(prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
        return scores

    with pytest.raises(RewardError, match=f"short returned the wrong number of scores: expected 3, got {got}"):
        as_reward(short)(PROMPT, COMPLETIONS)


def test_an_array_of_shape_n_by_1_is_refused() -> None:
    def column(prompts: list[str], completions: list[str], **columns: Any) -> Any:
        return np.ones((3, 1))

    with pytest.raises(RewardError, match="it must return a finite number"):
        as_reward(column)(PROMPT, COMPLETIONS)


def test_a_reward_that_raises_is_named_with_its_prompt_and_its_error() -> None:
    def broken(prompt: str, completion: str, **columns: Any) -> float:
        raise KeyError("gold")

    with pytest.raises(RewardError, match="reward broken raised KeyError: 'gold' .*'p1'"):
        as_reward(broken)(PROMPT, COMPLETIONS)


def test_a_function_is_found_in_a_file_and_a_wrong_name_lists_the_right_ones(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def score(prompt, completion, **columns):\n    return 1.0\n")
    assert find_reward(f"{file}:score")(PROMPT, COMPLETIONS) == [1.0] * 3
    with pytest.raises(ConfigError, match="has no function 'scores'; it has score"):
        find_reward(f"{file}:scores")
    with pytest.raises(ConfigError, match="there is no file"):
        find_reward(f"{tmp_path}/other.py:score")
    file.write_text("import nowhere\n")
    with pytest.raises(ConfigError, match="fails on import: ModuleNotFoundError"):
        find_reward(f"{file}:score")
