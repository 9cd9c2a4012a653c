r"""Math verdicts: a table of pairs, each right, in time, with its reason; where math-verify alone errs is marked.

The pairs are judged in a process of their own, so that one that hangs fails and does not hang the tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import DataError
from strop.rewards import maths
from strop.rewards.find import find_reward
from tests.rewards.answers import ANY_TEXT, NOTATIONS, PROSE, RATIONALS

TABLE = Path(__file__).with_name("math_verdicts.toml")
DEADLINE_S = 10.0
"""The default of task.scoring.deadline_s; what one pair may cost, in seconds of a processor."""

KINDS = (
    "whole numbers, commas, fractions, decimals, percent, mixed numbers, units, sets, intervals, matrices, boxes, "
    "equations, inequalities, expressions, complex numbers, text, choices, hostile, long"
)
JUDGED = """
import json, sys, time
from strop.rewards import maths
for gold, completion in json.load(sys.stdin):
    start = time.process_time()
    found = maths.verdict(gold, completion)
    print(json.dumps([*found, time.process_time() - start]), flush=True)
"""
ALONE = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
for gold, completion, limit in json.load(sys.stdin):
    right, given = (parse(text, parsing_timeout=limit) for text in (gold, completion))
    print(json.dumps(bool(verify(right, given, timeout_seconds=limit))), flush=True)
"""


def pairs() -> list[dict[str, Any]]:
    found = tomllib.loads(TABLE.read_text(encoding="utf-8"))["pair"]
    for pair in found:
        if not isinstance(pair["completion"], str):
            pair["completion"] = "".join(text * times for text, times in pair["completion"])
    return found


PAIRS = pairs()


def answers(program: str, asked: list[tuple[Any, ...]], limit_s: float) -> list[Any]:
    """What a program of its own says of each pair of texts."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=limit_s,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@cache
def judged() -> list[Any]:
    found = answers(JUDGED, [(pair["gold"], pair["completion"]) for pair in PAIRS], 20 * DEADLINE_S)
    assert len(found) == len(PAIRS)
    return found


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=lambda place: f"{PAIRS[place]['kind']}-{place}")
def test_a_pair_has_its_right_verdict_in_time(place: int) -> None:
    """Reports B28, B29, B31, B32 and B34: their pairs are in the table, with these names in their reasons."""
    pair = PAIRS[place]
    right, reason, by, seconds = judged()[place]
    assert (right, by) == (pair["right"], pair.get("by", "exact")), f"{pair['gold']} | {pair['reason']}: {reason}"
    assert seconds < DEADLINE_S


@pytest.mark.parametrize("by", ["exact", "nobody", "math-verify"])
def test_the_score_is_that_of_the_verdict_and_says_who_gave_it(by: str) -> None:
    for pair in [pair for pair in PAIRS if pair.get("by", "exact") == by][:20]:
        scored = maths.score(pair["completion"], ground_truth=pair["gold"])
        assert (scored["score"], scored["undecided"]) == (float(pair["right"]), float(by == "nobody"))
        assert scored["math_verify"] == float(by == "math-verify")


@pytest.mark.slow
def test_math_verify_alone_errs_where_it_is_marked_and_nowhere_else() -> None:
    """Its limits are the 5 seconds that it is installed with, but 1 for hostile pairs: it says no after either."""
    limits = {"hostile": 1, "long": 1}
    asked = [(as_math_verify_takes_it(p["gold"]), p["completion"], limits.get(p["kind"], 5)) for p in PAIRS]
    alone = answers(ALONE, asked, 250)
    errs = [place for place, pair in enumerate(PAIRS) if alone[place] is not pair["right"]]
    assert errs == [place for place, pair in enumerate(PAIRS) if pair.get("math_verify_errs", False)]


@pytest.mark.slow
@pytest.mark.soak
def test_answers_of_one_class_are_the_same_and_of_two_are_not() -> None:
    classes = tomllib.loads(TABLE.with_name("answer_classes.toml").read_text(encoding="utf-8"))["classes"]
    texts = [(text, number) for number, some in enumerate(classes) for text in some]
    asked = [(gold, rf"\boxed{{{text}}}") for gold, _ in texts for text, _ in texts]
    expected = [one == other for _, one in texts for _, other in texts]
    found = [right for right, *_ in answers(JUDGED, asked, 250)]
    assert [pair for pair, right, wanted in zip(asked, found, expected, strict=True) if right is not wanted] == []


def as_math_verify_takes_it(gold: str) -> str:
    """The right answer in dollars, unless it has its own or is a solution or a box."""
    return gold if re.search(r"(?<!\\)\$|####|\\boxed", gold) else f"${gold}$"


def test_the_table_holds_what_it_should() -> None:
    assert len(PAIRS) >= 150
    assert {kind for kind in KINDS.split(", ") if not any(kind in pair["kind"] for pair in PAIRS)} == set()
    assert all(pair["reason"] for pair in PAIRS)
    assert {key for pair in PAIRS for key in pair} <= {
        *("kind", "gold", "completion", "right", "reason", "by", "math_verify_errs")
    }
    assert len({(pair["gold"], pair["completion"]) for pair in PAIRS}) == len(PAIRS)
    assert sum(pair["right"] is False for pair in PAIRS) >= 100


@given(a=RATIONALS, b=RATIONALS, one=st.sampled_from(NOTATIONS), other=st.sampled_from(NOTATIONS), prose=PROSE)
def test_the_score_is_one_exactly_if_the_last_answer_is_the_right_number(
    a: Any, b: Any, one: Any, other: Any, prose: str
) -> None:
    """Report B32: for any two numbers in any notation, with prose around and an earlier answer withdrawn."""
    completion = rf"{prose}\boxed{{{one(a)}}}{prose}\boxed{{{other(b)}}}{prose}"
    assert maths.score(completion, answer=one(a))["score"] == float(a == b)
    assert maths.score(completion, solution=rf"So \boxed{{{one(b)}}}.")["score"] == 1.0
    assert maths.score(f"{prose}\nFinal answer: **{other(b)}**", answer=one(a))["score"] == float(a == b)


@given(ANY_TEXT)
def test_no_text_breaks_it(text: str) -> None:
    found = maths.score(text, answer="5")
    assert found["score"] in (0.0, 1.0)
    assert isinstance(maths.answer(text), str)


def test_a_row_whose_right_answer_is_missing_is_an_error() -> None:
    for columns in ({}, {"answer": ""}, {"answer": r"\boxed{5"}, {"question": "1+1"}):
        with pytest.raises(DataError, match="right answer"):
            maths.score(r"\boxed{5}", **columns)


def test_it_is_found_by_its_name_and_votes_by_value() -> None:
    reward = find_reward("math")
    assert reward.function is maths.score
    assert reward.voted is maths.answer
    assert maths.answer(r"\boxed{0.5}") == maths.answer(r"The answer is $\frac{1}{2}$.") == "1/2"
    assert maths.answer("I am not sure\nof it.") == ""


def test_without_math_verify_it_is_refused_before_anything_is_scored() -> None:
    program = (
        "import sys; sys.modules['math_verify'] = None; from strop.rewards.find import find_reward; find_reward('math')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("strop.errors.ConfigError: task.reward: math needs math-verify")
    assert "pip install 'strop[math]'" in last
