"""The answer stands in the last tags behind the thinking."""

from __future__ import annotations

import time

import pytest

from strop.tasks.tags import answer, is_tagged


@pytest.mark.parametrize(
    ("completion", "found", "tagged"),
    [
        ("so <answer> 4 </answer>.", "4", True),
        ("<answer>1</answer> no: <answer>\n2\n3\n</answer>", "2\n3", True),
        ("<think><answer>1</answer></think><answer>2</answer>", "2", True),
        ("<think><answer>1</answer></think> I give up", "I give up", False),
        ("<answer>1</answer><answer>2", "1", True),
        ("<answer><answer>1</answer>", "1", True),
        ("1</answer>", "1</answer>", False),
        ("<answer>1", "<answer>1", False),
        ("</answer><answer>", "</answer><answer>", False),
        ("<answer></answer>", "", True),
        (" 4 ", "4", False),
        ("", "", False),
    ],
)
def test_the_last_tags_behind_the_thinking_hold_the_answer(completion: str, found: str, tagged: bool) -> None:
    assert answer(completion) == found
    assert is_tagged(completion) is tagged


@pytest.mark.parametrize("piece", ["<answer>", "</answer>", "</think>", "<answer></answer>", "x"])
def test_a_long_completion_takes_no_long_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.perf_counter()
    answer(text)
    assert time.perf_counter() - began < 1.0
