"""The rewards that strop brings are ordinary ones, named in a table."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from strop.errors import ConfigError
from strop.rewards.builtin import BUILTIN, NEED_GOLD, get_ready, lacking
from strop.rewards.find import find_reward
from strop.rewards.sandbox import bubblewrap
from strop.rewards.scorer import Part, Scoring, make_scorer
from strop.types import Prompt
from tests.rewards.made import scorer_of


@pytest.mark.parametrize("name", BUILTIN)
def test_a_built_in_takes_one_completion_and_whatever_columns_there_are(name: str) -> None:
    signature = find_reward(name).signature
    needs = {"target_length"} if name == "length" else set[str]()
    assert (signature.form, signature.everything, signature.needs) == ("plain", True, needs)


def test_those_that_compare_with_the_right_answer_want_a_row_that_has_one() -> None:
    assert set(BUILTIN) > NEED_GOLD
    for name in NEED_GOLD:
        assert lacking(name, Prompt("p", "", {"level": 1})).startswith(f"{name} needs the right answer, and prompt 'p'")
        assert lacking(name, Prompt("p", "", {"reward_model": {"ground_truth": "4"}})) == ""
    assert lacking("format", Prompt("p", "")) == lacking("mine.py:score", Prompt("p", "")) == ""


BAD_GOLDS = {
    "math": (True, ["3", "4"], {}, r"\boxed{4", "reason #### ", "", float("nan")),
    "boxed": ([], {"text": "4"}),
    "hash": ("####", False),
    "choice": ("Z", True, ["A", "B"], 17, ""),
}


@pytest.mark.parametrize(("name", "right"), [(name, right) for name, rights in BAD_GOLDS.items() for right in rights])
def test_a_right_answer_that_a_built_in_cannot_read_is_found_before_the_run(name: str, right: object) -> None:
    good = Prompt("p", "", {"answer": "A"}, where="rows.jsonl:1")
    bad = Prompt("p", "", {"answer": right}, where="rows.jsonl:8")
    assert lacking(name, good) == ""
    with scorer_of(name, workers=1) as scorer, pytest.raises(ConfigError) as caught:
        scorer.check([good, bad])
    assert str(caught.value).startswith(f"task.reward: {name}: the right answer ")
    assert str(caught.value).endswith("(prompt rows.jsonl:8)")


def test_the_options_of_a_row_are_read_before_the_run() -> None:
    assert lacking("choice", Prompt("p", "", {"answer": "Paris", "choices": ["Rome", "Paris"]})) == ""
    assert "is none of the options" in lacking("choice", Prompt("p", "", {"answer": "Oslo", "choices": ["Rome", "P"]}))
    assert "the options are str" in lacking("choice", Prompt("p", "", {"answer": "A", "choices": "Rome, Paris"}))


def test_code_wants_a_row_with_cases_that_can_be_run() -> None:
    assert "has no test cases" in lacking("code", Prompt("p", "", {"level": 1}))
    assert lacking("code", Prompt("p", "", {"tests": [{"input": "1", "output": "1"}]})) == ""


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"input_output": ""}, "its column input_output is empty (prompt "),
        ({"tests": {"inputs": [], "outputs": []}}, "its column tests is empty (prompt "),
        ({"tests": ["assert f("]}, "is no Python"),
        ({"tests": "[" * 100_000}, "in no known form"),
        ({"tests": ["assert f(1)"], "test_imports": [1, None]}, ""),
    ],
)
def test_a_row_whose_cases_cannot_be_read_is_refused_before_the_run_by_name(
    columns: dict[str, object], says: str
) -> None:
    scorer = make_scorer([Part("code")], Scoring(sandbox="unsafe", workers=1))
    good = Prompt("p.jsonl:1", "", {"tests": [{"input": "1", "output": "1"}]})
    try:
        scorer.check([good] * 3)
        with pytest.raises(ConfigError) if says else nullcontext() as caught:
            scorer.check([good, Prompt("p.jsonl:8", "", columns)])
    finally:
        scorer.close()
    if caught:
        assert says in str(caught.value)
        assert "p.jsonl:8" in str(caught.value)


def test_code_without_a_sandbox_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    bubblewrap.cache_clear()
    try:
        with pytest.raises(ConfigError, match="sandbox"):
            get_ready("code", "auto")
    finally:
        bubblewrap.cache_clear()
    get_ready("code", "unsafe")
    get_ready("mine.py:score", "auto")
