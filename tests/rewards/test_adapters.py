"""A reward called by its signature: TRL's, verl's, OpenRLHF's and plain ones, and none believed without a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from strop.rewards.adapters import Question, Written, values_of
from strop.rewards.find import as_reward
from tests.rewards.made import CHAT, ask, scores, the_error


def test_the_single_form_gets_prompt_completion_and_columns() -> None:
    def score(prompt: str, completion: str, *, answer: str) -> float:
        assert prompt == "2+2="
        return float(completion == answer)

    assert scores(ask(score)) == [1.0, 0.0, 0.0]


def test_the_batch_form_gets_lists_as_trl_gives_them() -> None:
    def score(prompts: list[str], completions: list[str], answer: list[str], **columns: Any) -> list[float]:
        assert prompts == ["2+2="] * 3
        assert columns["completion_ids"] == [[7, 8, 0], [7, 8, 1], [7, 8, 2]]
        assert columns["trainer_state"].global_step == 3
        assert columns["data_source"] == ["sums"] * 3
        return [float(c == a) for c, a in zip(completions, answer, strict=True)]

    assert scores(ask(score)) == [1.0, 0.0, 0.0]


def test_where_the_prompt_is_messages_trl_gets_messages_and_the_others_texts() -> None:
    def trl(prompts: list[Any], completions: list[Any], answer: list[str], **rest: Any) -> list[float]:
        assert prompts == [CHAT] * 3
        return [float(c == [{"role": "assistant", "content": a}]) for c, a in zip(completions, answer, strict=True)]

    def plain(prompt: Any, completion: str, answer: str) -> float:
        assert prompt == CHAT
        return float(completion == answer)

    assert scores(ask(trl, prompt=CHAT)) == scores(ask(plain, prompt=CHAT)) == [1.0, 0.0, 0.0]


def test_none_says_that_a_reward_does_not_apply() -> None:
    assert scores(ask(lambda completions, **rest: [1.0, None, 0.5])) == [1.0, None, 0.5]
    assert scores(ask(lambda prompt, completion: None)) == [None] * 3


def test_what_a_batch_logs_is_told_of_each_completion_if_it_is_a_number() -> None:
    def score(completions: list[str], log_extra: Any, log_metric: Any, **rest: Any) -> list[float]:
        log_extra("length", [len(each) for each in completions])
        log_extra("text", completions)
        log_extra("short", [1.0])
        log_metric("share", 0.25)
        log_metric("nan", math.nan)
        return [1.0] * len(completions)

    values = ask(score)
    assert [value.logged for value in values] == [{"length": n, "share": 0.25} for n in (1.0, 1.0, 0.0)]


RIGHT_NAMES = [
    {"answer": "4"},
    {"solution": "4"},
    {"ground_truth": "4"},
    {"label": "4"},
    {"reward_model": {"style": "rule", "ground_truth": "4"}},
    {"answer": "no", "reward_model": {"ground_truth": "4"}},
]


@pytest.mark.parametrize("row", RIGHT_NAMES)
def test_verl_gets_its_four_arguments_whatever_the_data_calls_the_answer(row: dict[str, Any]) -> None:
    def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> Any:
        assert (data_source, extra_info) == ("sums", {"index": 7})
        right = solution_str == ground_truth
        return {"score": 1.0 if right else -1.0, "acc": right, "pred": solution_str, "length": len(solution_str)}

    values = ask(compute_score, row={"data_source": "sums", "extra_info": {"index": 7}, **row})
    assert [(v.score, v.accuracy, v.answer) for v in values] == [(1.0, 1.0, "4"), (-1.0, 0.0, "5"), (-1.0, 0.0, "")]
    assert values[0].logged == {"acc": 1.0, "length": 1.0}


@pytest.mark.parametrize("row", [*RIGHT_NAMES[:-1], {"answer": "no", "ground_truth": "4"}])
def test_a_text_and_its_right_answer_by_place_are_the_completion_and_the_right_answer(row: dict[str, Any]) -> None:
    def score(response: str, ground_truth: str, level: int = 0) -> float:
        return float(ground_truth in response) + level

    assert scores(ask(score, row=row)) == [1.0, 0.0, 0.0]
    assert scores(ask(score, row={"level": 2, **row})) == [3.0, 2.0, 2.0]


def test_openrlhf_gets_queries_and_gives_a_list_an_array_or_a_dict() -> None:
    def reward_func(queries: list[str], prompts: list[str], labels: list[str]) -> Any:
        assert prompts == ["2+2="] * 3
        right = torch.tensor([float(q == p + a) for q, p, a in zip(queries, prompts, labels, strict=True)])
        return {"rewards": right * 2 - 1, "scores": right, "extra_logs": {"length": right * 0 + 9}}

    values = ask(reward_func)
    assert [(v.score, v.accuracy, dict(v.logged)) for v in values] == [
        (1.0, 1.0, {"length": 9.0}),
        (-1.0, 0.0, {"length": 9.0}),
        (-1.0, 0.0, {"length": 9.0}),
    ]
    assert scores(ask(lambda queries, prompts, labels: torch.ones(len(queries)))) == [1.0] * 3
    assert "a prompt that is a text" in the_error(ask(reward_func, prompt=CHAT))


def test_what_one_call_changes_in_its_row_no_other_sees() -> None:
    seen = []

    def verl(solution_str: str, extra_info: dict[str, Any]) -> float:
        seen.append(dict(extra_info))
        extra_info["mark"] = True
        return 1.0

    def plain(completion: str, extra_info: dict[str, Any], **rest: Any) -> float:
        return verl(completion, extra_info)

    def trl(completions: list[str], extra_info: list[dict[str, Any]]) -> list[float]:
        return [verl(completion, info) for completion, info in zip(completions, extra_info, strict=True)]

    for function in (verl, plain, trl):
        assert scores(ask(function)) == [1.0] * 3
    assert seen == [{"index": 7}] * 9


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "0.5", [1.0], pytest.param(10**400, id="10**400"), np.nan, np.ones(1)]
)
def test_what_is_no_finite_number_is_refused_by_the_name_of_the_function(value: Any) -> None:
    """Report B38, https://github.com/NVIDIA-NeMo/Gym/pull/2015: what is nan, or a text, is not believed."""

    def bad(prompt: str, completion: str, **columns: Any) -> Any:
        return value

    error = the_error(ask(bad))
    assert error.startswith("reward bad returned ")
    assert "for prompt 'p1': it must return a finite number for every completion" in error


@pytest.mark.parametrize(
    "value, number",
    [(True, 1.0), (np.float32(0.5), 0.5), (1, 1.0), (np.True_, 1.0), (np.bool_(False), 0.0), (np.int8(2), 2.0)],
)
def test_other_kinds_of_number_are_numbers(value: Any, number: float) -> None:
    """Report B38, https://github.com/NVIDIA-NeMo/Gym/pull/2015: True is 1.0 and a numpy scalar is its number."""
    assert scores(ask(lambda prompt, completion, **columns: value)) == [number] * 3
    assert scores(ask(lambda completions, **columns: [value] * len(completions))) == [number] * 3
    assert scores(ask(lambda completions, **columns: np.array([value] * len(completions)))) == [number] * 3
    assert scores(ask(lambda prompt, completion: {"score": value})) == [number] * 3


@pytest.mark.parametrize("found", [np.array(1.0), 1.0, None, {"a": 1.0}, (x for x in [1.0])])
def test_a_batch_that_is_no_list_is_refused(found: Any) -> None:
    assert "expected a list of 3 numbers" in the_error(ask(lambda completions, **columns: found))


@pytest.mark.parametrize("found, got", [([1.0], 1), ([1.0] * 5, 5), (np.ones((1, 3)), 1)])
def test_the_wrong_number_of_scores_is_refused_and_never_broadcast_nor_asked_again(found: Any, got: int) -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: asked about each alone [1.0] would seem right."""
    asked = []

    def short(prompts: list[str], completions: list[str], **columns: Any) -> Any:
        asked.append(len(completions))
        return found

    assert the_error(ask(short)) == f"reward short returned the wrong number of scores: expected 3, got {got}"
    assert asked == [3]


def test_an_array_of_shape_n_by_1_is_refused() -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: it never becomes a square."""
    assert "must return a finite number" in the_error(
        ask(lambda completions, **rest: np.ones((len(completions), 1)))[:1]
    )


def test_a_reward_that_raises_is_named_with_its_prompt_and_its_error() -> None:
    def broken(prompt: str, completion: str, **columns: Any) -> float:
        raise KeyError("gold")

    error = the_error(ask(broken))
    assert error.startswith("reward broken raised KeyError: 'gold' (prompt 'p1'); a reward must return a number")


def test_a_batch_that_raises_over_one_completion_loses_only_that_one() -> None:
    asked = []

    def batch(completions: list[str], **rest: Any) -> list[float]:
        asked.append(list(completions))
        return [float(1 / len(completion)) for completion in completions]

    values = ask(batch)
    assert [value.score for value in values] == [1.0, 1.0, None]
    assert "ZeroDivisionError" in values[2].error
    assert asked == [["4", "5", ""], ["4"], ["5"], [""]]


def test_an_exit_is_an_error_and_ctrl_c_is_not() -> None:
    def leave(prompt: str, completion: str) -> float:
        raise SystemExit("done")

    def stop(prompt: str, completion: str) -> float:
        raise KeyboardInterrupt

    assert "raised SystemExit: done" in the_error(ask(leave))
    with pytest.raises(KeyboardInterrupt):
        ask(stop)


def test_a_reward_gets_the_columns_it_names_and_no_others() -> None:
    def score(completion: str, answer: str) -> float:
        return float(completion == answer)

    row = {"answer": "4", "level": 3, "completion": "a column"}
    assert scores(ask(score, row=row)) == [1.0, 0.0, 0.0]


def test_a_column_called_prompt_or_completion_gives_way_to_the_parameter() -> None:
    row = {"prompt": "a column", "completion": "another"}
    for function in (
        lambda prompt, completion, **rest: rest == {},
        lambda completion, **rest: rest == {"prompt": "2+2="},
    ):
        assert scores(ask(function, row=row)) == [1.0] * 3
    assert scores(ask(lambda completion, prompt: (prompt, completion) == ("2+2=", "4"), row=row)) == [1.0, 0.0, 0.0]


def voting(answer: Any) -> Callable[..., Any]:
    def score(prompt: str, completion: str) -> float:
        return 1.0

    score.answer = answer  # type: ignore[attr-defined]
    return score


def test_an_answer_beside_the_reward_is_what_votes_and_a_cut_off_completion_has_none() -> None:
    mine = as_reward(voting(lambda completion: completion.split()[0]))
    written = [Written("B because"), Written("B bec", truncated=True)]
    assert [value.answer for value in values_of(mine, Question("", {}, ""), written)] == ["B", ""]


def test_a_pred_that_the_reward_gives_itself_votes_and_spares_the_call_of_its_answer() -> None:
    def score(prompt: str, completion: str) -> Any:
        return {"score": 1.0, "pred": completion[:1]}

    asked = []
    score.answer = lambda completion: asked.append(completion) or "beside"  # type: ignore[attr-defined]
    written = [Written("B because"), Written("B bec", truncated=True), Written("")]
    values = values_of(as_reward(score), Question("", {}, ""), written)
    assert ([value.answer for value in values], asked) == (["B", "", "beside"], [""])


def test_an_answer_that_fails_is_the_completions_error() -> None:
    values = ask(voting(lambda completion: completion.split()[0]))
    assert [value.answer for value in values] == ["4", "5", ""]
    assert values[2].error.startswith("answer, beside reward score, raised IndexError: list index out of range")
    assert "returned 7: expected a text" in the_error(ask(voting(lambda completion: 7)))
