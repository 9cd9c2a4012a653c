from __future__ import annotations

import math
from dataclasses import replace

import pytest

from strop.cli.lines import (
    duration,
    evaluation_rows,
    gain_line,
    ledger_line,
    number,
    prompt_text,
    sample_lines,
    step_line,
)
from strop.types import Prompt
from tests.cli.fakes import evaluation, group, record, rollout, summary


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (12.4, "12 s"), (59.4, "59 s"), (185, "3 m 05 s"), (4800, "1 h 20 m"), (0, "0.0 s")],
)
def test_a_duration_is_told_in_its_own_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_step_is_one_line_with_everything_that_matters() -> None:
    line = step_line(record(3), 50, left=65)
    assert line == (
        "step  3/50  accuracy 0.30  reward 0.40  length 23.1  entropy 0.200  clip 0.10% below 1.23% above  "
        "groups 64 drawn 32 kept  5.7 s  1 m 05 s left"
    )
    assert "held-out 91.0%" in step_line(record(3, **{"eval/avg": 0.91}), 50)


def test_what_was_not_measured_is_a_dash() -> None:
    line = step_line({"step": 1, "entropy": None}, 1)
    assert "entropy -" in line
    assert "reward -" in line
    assert number(None) == "-"


def test_a_few_completions_are_the_best_the_worst_and_the_longest_of_a_mixed_group() -> None:
    flat = group(rollout("same"), rollout("same"))
    mixed = group(
        rollout("right", score=1.0),
        rollout("also right", score=1.0),
        rollout("wrong"),
        rollout("long", score=0.5, penalty=-0.5, tokens=48, cut=True),
    )
    prompt, best, worst, longest = sample_lines([flat, mixed])
    assert prompt == "4+7-2="
    assert best.split() == ["1.00", "3", "tokens", "right"]
    assert worst.split() == ["0.00", "3", "tokens", "wrong"]
    assert longest.split() == ["0.50", "-0.50", "48", "tokens", "long", "[cut", "off]"]


def test_a_completion_is_shown_once_and_long_ones_are_cut() -> None:
    assert len(sample_lines([group(rollout("only"))])) == 2
    assert sample_lines([]) == []
    assert "(300 more)" in sample_lines([group(rollout("x" * 500))])[1]


def test_a_chat_prompt_is_shown_with_its_roles() -> None:
    prompt = Prompt("a", ({"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}))
    assert prompt_text(prompt) == "user: hi\nassistant: yes"


def test_before_and_after_stand_side_by_side_with_intervals_and_labels_in_natural_order() -> None:
    rows = evaluation_rows({"before": evaluation(0.3), "after": evaluation(0.9, by={"size": {"2": (1.0, 7)}})})
    table = {row[0]: row[1:] for row in rows}
    assert table["avg@8"] == ["30.0% [28.0, 32.0]", "90.0% [88.0, 92.0]"]
    assert table["pass@8"] == ["50.0% [48.0, 52.0]", "110.0% [108.0, 112.0]"]
    assert "pass@1" not in table
    assert table["size 2"] == ["50.0% of 100, greedy 60.0% of 12", "100.0% of 7, greedy 60.0% of 12"]
    assert table["size 10"] == ["40.0% of 30", "-"]
    names = [row[0] for row in rows]
    assert names.index("size 2") < names.index("size 10") < names.index("style direct")


def test_the_ledger_is_a_sum_that_can_be_checked() -> None:
    line = ledger_line(summary()["ledger"])
    drawn, parts = line.split(" groups drawn = ")
    assert int(drawn) == sum(int(part.split()[0]) for part in parts.split(" + "))


def test_the_verdict_tells_the_gain_with_its_interval() -> None:
    assert gain_line(summary()) == "improved: avg@8 +60.0 points [+58.0, +63.0], paired by prompt"
    assert gain_line({"verdict": "interrupted"}) == "interrupted"


def test_what_could_not_be_scored_is_shown_last_with_its_reason_and_has_no_score() -> None:
    failed = replace(rollout("odd", score=math.nan), error="r.py:f raised ValueError: " + "x" * 300)
    prompt, best, last = sample_lines([group(failed, rollout("wrong"))])
    assert best.split() == ["0.00", "3", "tokens", "wrong"]
    assert last.startswith("   none          3 tokens  odd [unscorable: r.py:f raised ValueError: xxx")
    assert last.endswith("(126 more)]")
    assert "  2 unscorable  " in step_line(record(3, **{"rewards/unscorable": 2}), 50)
    assert "unscorable" not in step_line(record(3, **{"rewards/unscorable": 0}), 50)


def test_an_evaluation_tells_how_many_completions_could_not_be_scored_if_any() -> None:
    rows = {row[0]: row[1:] for row in evaluation_rows({"a": evaluation(0.3), "b": evaluation(0.3, unscorable=7)})}
    assert rows["unscorable"] == ["0 of 2304", "7 of 2304"]
    assert "unscorable" not in {row[0] for row in evaluation_rows({"a": evaluation(0.3)})}
