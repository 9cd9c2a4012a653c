"""A user's reward: found by name, called by its signature, and never believed when it returns no number."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strop.errors import ConfigError, RewardError
from strop.tasks.reward import Reward, as_reward, find_reward
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


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), None, "0.5", [1.0], pytest.param(10**400, id="10**400"), np.nan, np.ones(1)]
)
def test_what_is_no_finite_number_is_refused_by_the_name_of_the_function(value: Any) -> None:
    """Report B38."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015

    def bad(prompt: str, completion: str, **columns: Any) -> Any:
        return value

    with pytest.raises(RewardError, match="reward bad returned .* for prompt 'p1'"):
        as_reward(bad)(PROMPT, COMPLETIONS)


@pytest.mark.parametrize(
    "value, number",
    [(True, 1.0), (np.float32(0.5), 0.5), (1, 1.0), (np.True_, 1.0), (np.bool_(False), 0.0), (np.int8(2), 2.0)],
)
def test_other_kinds_of_number_are_numbers(value: Any, number: float) -> None:
    """Report B38."""
    # https://github.com/NVIDIA-NeMo/Gym/pull/2015
    assert as_reward(lambda prompt, completion, **columns: value)(PROMPT, COMPLETIONS) == [number] * 3
    assert as_reward(lambda completions, **columns: [value] * 3)(PROMPT, COMPLETIONS) == [number] * 3
    assert as_reward(lambda completions, **columns: np.array([value] * 3))(PROMPT, COMPLETIONS) == [number] * 3


@pytest.mark.parametrize("scores", [np.array(1.0), 1.0, None, {"a": 1.0}])
def test_a_batch_that_is_no_list_is_refused(scores: Any) -> None:
    with pytest.raises(RewardError, match="expected a list of 3 numbers"):
        as_reward(lambda completions, **columns: scores)(PROMPT, COMPLETIONS)


@pytest.mark.parametrize("scores, got", [([1.0], 1), ([1.0] * 5, 5)])
def test_the_wrong_number_of_scores_is_refused_and_never_broadcast(scores: list[float], got: int) -> None:
    """Report B36."""
    # https://github.com/huggingface/trl/issues/6533

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


class AsyncScorer:
    """Report B36: an object whose __call__ is async."""

    async def __call__(self, prompts: list[str], completions: list[str], **columns: Any) -> list[float]:
        await asyncio.sleep(0)
        return [float(c == a) for c, a in zip(completions, columns["answer"], strict=True)]


async def one_by_one(prompt: str, completion: str, answer: str) -> float:
    await asyncio.sleep(0)
    return float(completion == answer)


async def all_at_once(completions: list[str], answer: list[str]) -> Any:
    return np.array([c == a for c, a in zip(completions, answer, strict=True)])


ASYNC = [AsyncScorer(), one_by_one, all_at_once]


@pytest.mark.parametrize("function", ASYNC)
def test_an_async_reward_is_awaited(function: Any) -> None:
    """Report B36."""
    # https://github.com/huggingface/trl/issues/6533
    assert as_reward(function)(PROMPT, COMPLETIONS) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("function", ASYNC)
def test_an_async_reward_is_awaited_under_a_loop_that_is_running_as_in_a_notebook(function: Any) -> None:
    async def cell() -> list[float]:
        return as_reward(function)(PROMPT, COMPLETIONS)

    assert asyncio.run(cell()) == [1.0, 0.0, 0.0]


def test_the_single_async_form_waits_for_all_completions_side_by_side_on_one_loop() -> None:
    waiting: list[str] = []
    loops = set()

    async def score(prompt: str, completion: str) -> float:
        waiting.append(completion)
        loops.add(asyncio.get_running_loop())
        while len(waiting) % 3:
            await asyncio.sleep(0)
        return 1.0

    mine = as_reward(score)
    assert mine(PROMPT, COMPLETIONS) == mine(PROMPT, COMPLETIONS) == [1.0] * 3
    assert len(loops) == 1


def test_an_async_reward_that_raises_is_named() -> None:
    async def broken(prompt: str, completion: str) -> float:
        raise TimeoutError("judge")

    with pytest.raises(RewardError, match="reward broken raised TimeoutError: judge"):
        as_reward(broken)(PROMPT, COMPLETIONS)


def test_a_reward_gets_the_columns_it_names_and_no_others() -> None:
    row = Prompt("p", "2+2=", {"answer": "4", "level": 3, "completion": "a column"})

    def score(completion: str, answer: str) -> float:
        return float(completion == answer)

    assert as_reward(score)(row, COMPLETIONS) == [1.0, 0.0, 0.0]


def test_a_parameter_that_no_column_fills_is_named_before_any_completion() -> None:
    def score(prompt: str, completion: str, gold: str, unit: str = "m") -> float:
        return 1.0

    with pytest.raises(ConfigError, match="task.reward: score has the parameter 'gold', and prompt 'p1' has no such"):
        as_reward(score).check([PROMPT])
    as_reward(score).check([Prompt("p", "", {"gold": "4"})])


def voting(tmp_path: Path, answer: str) -> Reward:
    file = tmp_path / "mine.py"
    file.write_text(f"def score(prompt, completion):\n    return 1.0\n\n{answer}\n")
    return find_reward(f"{file}:score")


def test_an_answer_beside_the_reward_is_what_votes(tmp_path: Path) -> None:
    mine = voting(tmp_path, "def answer(completion):\n    return completion.split()[0]")
    assert mine.answer(Completion((5,), (-1.0,), "B because", "stop", 0)) == "B"
    assert mine.answer(Completion((5,), (-1.0,), "B bec", "length", 0)) == ""
    with pytest.raises(RewardError, match="answer, beside reward .*mine.py:score, raised IndexError"):
        mine.answer(COMPLETIONS[2])


def test_an_answer_that_is_no_text_or_takes_more_than_the_completion_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RewardError, match="returned 7: expected a text"):
        voting(tmp_path, "def answer(completion):\n    return 7").answer(COMPLETIONS[0])
    with pytest.raises(ConfigError, match="it must take one text"):
        voting(tmp_path, "def answer(completion, gold):\n    return gold")


def test_a_reward_called_answer_or_without_an_answer_beside_it_names_no_vote(tmp_path: Path) -> None:
    assert voting(tmp_path, "answer = 'forty-two'").voted is None
    file = tmp_path / "other.py"
    file.write_text("def answer(prompt, completion):\n    return 1.0\n")
    assert find_reward(f"{file}:answer").voted is None


def test_a_module_that_fails_on_import_is_a_config_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strop_broken_reward.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="cannot import strop_broken_reward: ZeroDivisionError"):
        find_reward("strop_broken_reward.score")
