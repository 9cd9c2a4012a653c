"""A trial finds what is wrong with a reward, says what to do, and has nothing against one that is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from strop.errors import DataError
from strop.rewards import trial
from strop.rewards.scorer import Part, Scoring, make_scorer
from strop.rewards.trial import Report, Trial, alike
from strop.types import Prompt, Verdict
from tests.rewards.made import reward_file

ROWS = [Prompt(str(number), f"What is {number} + 1?", {"answer": f"... #### {number + 1}"}) for number in range(20)]

GOOD = """
    import re
    def score(completion, answer, **rest):
        found = re.findall(r"boxed\\{(-?[0-9]+)\\}", completion[-5000:])
        return float(bool(found) and found[-1] == answer.split()[-1])
"""


@pytest.fixture(autouse=True)
def few_large_completions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row gets the large completions, save in the test that counts them."""
    if "right_reward" not in request.node.name:
        monkeypatch.setattr(trial, "FEW", 1)


def tried(folder: Path, text: str, *, rows: list[Prompt] = ROWS, **how: Any) -> Report:
    given = {key: how.pop(key) for key in ("solved", "bonus") if key in how}
    scorer = make_scorer([Part(f"{reward_file(folder, text)}:score")], Scoring(**how))
    try:
        return Trial(scorer, **given).run(rows)
    finally:
        scorer.close()


def test_a_right_reward_has_nothing_wrong_with_it(tmp_path: Path) -> None:
    report = tried(tmp_path, GOOD)
    assert report.problems == []
    assert report.ok
    assert report.rows == 20
    lines = {line.kind: line for line in report.lines}
    assert (lines[r"\boxed{}"].share, lines["bare"].share, lines["answer of another row"].share) == (1.0, 0.0, 0.0)
    assert lines["1 MB before it"].n == 5
    assert r"\boxed{} 100%" in report.notes[0]
    assert report.record()["kinds"][0] | {"n": 20, "right": 0} == report.record()["kinds"][0]
    assert report.per_second > 0


FAULTS = {
    "raises on an empty one": (
        "def score(completion, answer):\n    return float(completion.split()[-1] == answer.split()[-1])",
        r"exceptions: reward .* raised IndexError: list index out of range .*\(empty\); catch what it raises",
    ),
    "hangs": (
        "import time\ndef score(completion, answer):\n    time.sleep(9 * (completion == ''))\n    return 1.0",
        r"40 time-outs|time-outs: .* took more than 0\.2 s .*raise task\.scoring\.deadline_s",
    ),
    "ends its process": (
        "import os\ndef score(completion, answer):\n    return os._exit(3) if not completion else 1.0",
        r"ended processes: .*exit code 3",
    ),
    "runs out of memory": (
        "def score(completion, answer):\n    return len([0] * 10**12)",
        r"out of memory: .* raised MemoryError.*; task\.scoring\.memory_mb bounds it \(bare\); or hold less at a time",
    ),
    "returns nan": (
        "def score(completion, answer):\n    return float('nan') if not completion else 1.0",
        r"no numbers: .* returned nan",
    ),
    "one for all": (
        "def score(completions, answer):\n    return [1.0]",
        r"wrong lengths: .*expected \d+, got 1.*; return one number for each completion",
    ),
    "draws lots": (
        "import random\ndef score(completion, answer):\n    return random.random()",
        r"completions scored something else the second time; a reward with chance or memory",
    ),
    "remembers": (
        "seen = []\ndef score(completion, answer):\n    seen.append(1)\n    return float(len(seen) % 2)",
        r"scored something else the second time",
    ),
    "says always the same": (
        "def score(completion, answer):\n    return 0.5",
        r"every completion scored 0\.5: nothing can be learned from that",
    ),
    "reads no form": (
        "def score(completion, answer):\n    return float(completion == '\\n')",
        r"every completion scored 0|own answers score right for 0% of the rows at best",
    ),
    "believes anything long": (
        "def score(completion, answer):\n    return float(len(completion) > 3)",
        r"'answer of another row' scores right for 100% of the rows; it must not",
    ),
    "scores beyond": (
        "def score(completion, answer):\n    return 10.0 * (answer.split()[-1] in completion.split())",
        r"scores reach from 0 to 10: an accuracy lies between 0 and 1",
    ),
}


@pytest.mark.parametrize("text, problem", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_and_told_with_what_to_do(text: str, problem: str, tmp_path: Path) -> None:
    report = tried(tmp_path, text, rows=ROWS[:6], deadline_s=0.2)
    assert not report.ok
    assert any(re.search(problem, line) for line in report.problems), report.problems


def test_a_trial_that_fails_too_often_stops_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MOST_FAILURES", 3)
    report = tried(tmp_path, "def score(completion, answer):\n    return 1 / 0")
    assert len(report.lines) < 10
    assert report.notes[0].startswith("It was stopped after ")
    assert len(report.problems) == 1


def test_a_bonus_need_not_tell_right_from_wrong(tmp_path: Path) -> None:
    text = "def score(completion, answer):\n    return min(len(completion), 100) / 100"
    assert not tried(tmp_path, text).ok
    assert tried(tmp_path, text, bonus=True).problems == []


def test_what_counts_as_right_is_the_task_s_own_bound(tmp_path: Path) -> None:
    text = GOOD.replace("return float(", "return 0.5 * (")
    assert not tried(tmp_path, text).ok
    assert tried(tmp_path, text, solved=0.5).ok


def test_a_hedge_is_noted(tmp_path: Path) -> None:
    report = tried(tmp_path, GOOD.replace("found[-1] == answer.split()[-1]", "answer.split()[-1] in found"))
    assert report.problems == []
    assert any("then withdrawn scores right for 100%" in note for note in report.notes)


def test_a_bonus_that_reads_only_the_form_is_no_hedge(tmp_path: Path) -> None:
    text = "def score(completion, answer):\n    return float('answer' in completion or '####' in completion)"
    hedged = "then withdrawn scores right"
    assert any(hedged in note for note in tried(tmp_path, text).notes)
    assert not any(hedged in note for note in tried(tmp_path, text, bonus=True).notes)


def test_a_pair_by_place_is_tried_as_what_it_is(tmp_path: Path) -> None:
    text = GOOD.replace("completion, answer, **rest", "response, ground_truth").replace(
        "answer.split", "str(ground_truth).split"
    )
    text = text.replace("completion[", "response[")
    assert tried(tmp_path, text).problems == []


def test_what_a_built_in_raises_comes_without_advice_on_how_to_write_rewards() -> None:
    scorer = make_scorer([Part("boxed")], Scoring(workers=1))
    try:
        problems = Trial(scorer).run([Prompt("p", "", {"answer": True})]).problems
    finally:
        scorer.close()
    assert any("exceptions: reward boxed raised DataError" in problem for problem in problems)
    assert not any("catch what it raises" in problem for problem in problems)


def test_rows_are_spread_over_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "ROWS", 4)
    many = [Prompt(str(number), "", {"answer": str(number)}) for number in range(400)]
    text = """
        def score(completion, answer):
            assert answer in ("0", "100", "200", "300")
            return float(answer == completion)
    """
    report = tried(tmp_path, text, rows=many)
    assert (report.rows, report.problems) == (4, [])


def test_no_rows_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows"):
        tried(tmp_path, GOOD, rows=[])


def test_two_verdicts_are_alike_if_they_say_the_same() -> None:
    assert alike(Verdict(1.0, 0.5, answer="x"), Verdict(1.0, 0.5, {"a": 1.0}, answer="x"))
    assert not alike(Verdict(1.0), Verdict(1.0, 0.5))
    assert not alike(Verdict(1.0, answer="x"), Verdict(1.0, answer="y"))
    assert alike(Verdict.unscorable("a"), Verdict.unscorable("b"))
    assert not alike(Verdict.unscorable("a"), Verdict(0.0))
