"""How a reward is called is read from its parameters, whatever they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from strop.errors import ConfigError
from strop.rewards.signature import is_async, read_signature

COLUMNS = {"answer": "4", "level": 3}


def call(function: Callable[..., Any], columns: dict[str, Any] = COLUMNS) -> Any:
    signature = read_signature(function, "f")
    row = {key: columns[key] for key in signature.columns(columns)}
    places, names = signature.arguments([letter for letter, _ in zip("PCITEM", signature.given, strict=False)], row)
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
        (lambda completions, completion_ids: (completions, completion_ids), ("C", "I")),
        (
            lambda completions, trainer_state, log_extra, log_metric: (trainer_state, log_extra, log_metric),
            tuple("TEM"),
        ),
        (partial(lambda a, prompt, completion: (a, prompt, completion), 1), (1, "P", "C")),
        (lambda solution_str, data_source: (solution_str, data_source), ("P", "C")),
        (lambda queries, prompts, labels: (queries, prompts, labels), ("P", "C", "I")),
    ],
)
def test_every_way_to_write_a_reward_gets_its_prompt_completion_and_columns(
    function: Callable[..., Any], got: Any
) -> None:
    assert call(function) == got


def test_trl_and_its_columns_come_as_keywords_and_the_columns_named_like_its_own_stay_behind() -> None:
    columns = {**COLUMNS, "prompt": "c", "completion": "c", "completion_ids": "c", "prompts": "c"}
    found = call(lambda completions, **rest: rest, columns)
    assert found == {**COLUMNS, "prompts": "P", "completion_ids": "I", "trainer_state": "T"} | {
        "log_extra": "E",
        "log_metric": "M",
    }


@pytest.mark.parametrize("function", [lambda prompt, completion, **rest: (prompt, completion), lambda *a, **b: a])
def test_a_column_called_like_the_completion_gives_way(function: Callable[..., Any]) -> None:
    assert call(function, {"prompt": "column", "completion": "column"}) == ("P", "C")


def test_verl_gets_no_column_but_what_it_cannot_do_without() -> None:
    def compute_score(data_source, solution_str, ground_truth, extra_info=None, unit="m", *, level, **rest):  # noqa: ANN001, ANN003, ANN202
        return solution_str, unit, level, rest

    assert call(compute_score, {**COLUMNS, "unit": "column"}) == ("P", "m", 3, {})


@pytest.mark.parametrize(
    "function, form, grouped",
    [
        (lambda prompt, completion: 1, "plain", False),
        (lambda completions, **rest: 1, "batch", True),
        (lambda solution_str, completions: 1, "batch", True),
        (lambda data_source, solution_str, ground_truth, extra_info=None: 1, "verl", False),
        (lambda queries, prompts, labels: 1, "openrlhf", True),
    ],
)
def test_the_form_follows_from_the_names(function: Callable[..., Any], form: str, grouped: bool) -> None:
    signature = read_signature(function, "f")
    assert (signature.form, signature.grouped) == (form, grouped)


def test_what_a_row_must_fill_are_the_parameters_without_default() -> None:
    signature = read_signature(lambda prompt, completion, gold, unit="m", **rest: 1.0, "f")
    assert signature.missing({"unit": 1}) == ["gold"]
    assert signature.missing({"gold": 1}) == []


@pytest.mark.parametrize("row", [{"answer": 1}, {"label": 1}, {"reward_model": {"ground_truth": 1}}])
def test_verl_and_openrlhf_miss_a_right_answer_under_none_of_its_names(row: dict[str, Any]) -> None:
    for function in (lambda solution_str, ground_truth: 1, lambda queries, prompts, labels: 1):
        signature = read_signature(function, "f")
        assert signature.missing(row) == []
        assert len(signature.missing({"prompt": "P", "reward_model": {}})) == 1


def test_what_travels_to_a_reward_is_what_its_call_is_made_of() -> None:
    row = {"answer": 1, "level": 2, "data_source": "s", "extra_info": {}, "reward_model": {}}
    assert read_signature(lambda completion, level: 1, "f").reads(row) == ["level"]
    assert read_signature(lambda completion, **rest: 1, "f").reads(row) == list(row)
    assert set(read_signature(lambda solution_str, ground_truth: 1, "f").reads(row)) == set(row) - {"level"}


@pytest.mark.parametrize("function", [lambda: 1.0, lambda text: 1.0, 3, lambda prompt, *, answer: 1.0])
def test_what_has_no_place_for_a_completion_is_refused(function: Any) -> None:
    with pytest.raises(ConfigError, match=r"task\.reward: .*f"):
        read_signature(function, "f")


@pytest.mark.parametrize(
    "text", ["response", "predict_str", "model_output", "output", "generation", "text", "pred", "prediction"]
)
@pytest.mark.parametrize("right", ["answer", "ground_truth", "label", "gold", "target", "reference", "expected"])
def test_a_text_and_what_is_named_like_a_right_answer_are_a_pair(text: str, right: str) -> None:
    signature = read_signature(of_places(text, right, "extra_info=None"), "f")
    assert (signature.form, signature.given, signature.grouped) == ("pair", (text, right), False)
    assert signature.missing({"level": 1}) == [right]
    assert signature.missing({"solution": "4"}) == signature.missing({right: "4"}) == []
    assert set(signature.reads({right: 1, "solution": 2, "extra_info": 3, "level": 4})) == {
        right,
        "solution",
        "extra_info",
    }


def of_places(*places: str) -> Callable[..., Any]:
    """A function whose parameters these are."""

    def function(*values: Any) -> float:
        return 1.0

    required = [inspect.Parameter(place.partition("=")[0], inspect.Parameter.POSITIONAL_OR_KEYWORD) for place in places]
    parameters = [
        each.replace(default=None) if "=" in place else each for each, place in zip(required, places, strict=True)
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


@pytest.mark.parametrize(
    "places", [("answer", "ground_truth"), ("prompt", "answer"), ("ground_truth", "response"), ("words", "label")]
)
def test_a_right_answer_by_place_beside_anything_else_is_refused(places: tuple[str, str]) -> None:
    said = rf"f has the places \({places[0]}, {places[1]}\) and would get \(prompt, completion\) by place; call its "
    with pytest.raises(ConfigError, match=said + "parameters `completion` and `answer`"):
        read_signature(of_places(*places), "f")
    assert read_signature(of_places("question", "response", "answer"), "f").form == "plain"


def test_a_column_named_like_the_place_of_the_completion_is_seen() -> None:
    signature = read_signature(lambda question, words, **rest: 1, "f")
    assert (signature.taken({"words": 1}), signature.taken({"question": 1})) == ("words", "")
    assert read_signature(lambda text, *more: 1, "f").taken({"completion": 1, "text": 1}) == ""


class Later:
    async def __call__(self, prompt: str, completion: str) -> float:
        return 1.0


async def later(prompt: str, completion: str) -> float:
    return 1.0


@pytest.mark.parametrize("function, found", [(later, True), (Later(), True), (partial(later, ""), True), (len, False)])
def test_an_async_reward_is_known_before_it_is_called(function: Any, found: bool) -> None:
    """Report B36, https://github.com/huggingface/trl/issues/6533: so is an object whose __call__ is async."""
    assert is_async(function) is found
