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
