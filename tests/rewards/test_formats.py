"""The format is followed or not: tags once and in order, something in each, nothing around."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.rewards import formats
from strop.rewards.find import find_reward
from strop.rewards.formats import blocks, follows
from tests.rewards.answers import ANY_TEXT

RIGHT = "<think>\na\n</think>\n<answer>4</answer>"
CONTENT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(
    lambda text: text.strip() and "<" not in text
)
SPACE = st.text(" \t\n", max_size=3)


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        (RIGHT, 1.0),
        (f"{RIGHT}\n", 1.0),
        ("<think>a</think><think>b</think><answer>4</answer>", 0.0),
        ("<think>a</think><answer>4</answer> more", 0.0),
        ("<think>a<answer>4</answer>", 0.0),
        (f"Well. {RIGHT}", 0.0),
        ("<think>a</think> and <answer>4</answer>", 0.0),
        ("<answer>4</answer><think>a</think>", 0.0),
        ("<think>a<answer>4</think></answer>", 0.0),
        ("<think>a</think><answer> </answer>", 0.0),
        ("<think></think><answer>4</answer>", 0.0),
        ("<think>a</think><answer>4</answer></answer>", 0.0),
        ("<think>a<think>b</think><answer>4</answer>", 0.0),
        ("<think>a</think><answer>3<answer>4</answer>", 0.0),
        ("<think>a <answer>3</answer></think><answer>4</answer>", 0.0),
        ("", 0.0),
    ],
)
def test_strictly_this_format_scores_one(completion: str, score: float) -> None:
    """Report B35, https://github.com/huggingface/open-r1/issues/237: line breaks may be in it, and no block twice."""
    assert formats.score(completion, answer="4") == score


@given(tags=st.lists(st.sampled_from(["plan", "think", "code", "answer"]), min_size=1, unique=True), data=st.data())
def test_blocks_put_in_come_out_and_any_other_order_does_not_follow(tags: list[str], data: st.DataObject) -> None:
    contents = [data.draw(CONTENT) for _ in tags]
    parts = [
        f"{data.draw(SPACE)}<{tag}>{text}</{tag}>{data.draw(SPACE)}" for tag, text in zip(tags, contents, strict=True)
    ]
    text = "".join(parts)
    assert blocks(text, tags) == contents
    assert blocks(text.lstrip().removeprefix(f"<{tags[0]}>"), tags, opened=True) == contents
    assert not follows(text + data.draw(CONTENT), tags)
    assert not follows(text + parts[0], tags)
    if len(tags) > 1:
        assert not follows("".join(parts[::-1]), tags)
        assert not follows("".join(parts[1:]), tags)


@given(ANY_TEXT)
def test_no_text_breaks_it(text: str) -> None:
    assert formats.score(text) in (0.0, 1.0)
    assert isinstance(formats.answer(text), str)


@pytest.mark.parametrize("unit", ["<think>", "<think>a</think>", "<", "</answer>", "\n"])
def test_a_text_of_any_length_takes_one_pass(unit: str) -> None:
    few, many = (cost(unit * (size // len(unit))) for size in (100_000, 400_000))
    assert many <= 8 * few + 0.02


def cost(text: str) -> float:
    spent = []
    for _ in range(3):
        start = time.process_time()
        formats.score(f"<think>{text}</think><answer>4</answer>")
        formats.score(text)
        spent.append(time.process_time() - start)
    return min(spent)


def test_it_is_found_by_its_name_and_votes_on_the_answer_block() -> None:
    reward = find_reward("format")
    assert reward.function is formats.score
    assert reward.voted is formats.answer
    assert formats.answer(RIGHT) == "4"
    assert formats.answer("4") == ""
