r"""What a completion answers: the last of its carriers, whatever stands around it, in one pass."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strop.rewards.extract import USUAL, after_thought, answer_text, gold_text, last_block, last_box, last_number
from tests.rewards.answers import ANY_TEXT, PROSE

PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\\{}"), max_size=8)
ESCAPED = st.sampled_from([r"\{", r"\}", r"\frac", "\\\\", r"\,"])
BALANCED = st.recursive(
    PLAIN | ESCAPED,
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "{" + "".join(parts) + "}"),
    max_leaves=8,
)
CONTENT = st.lists(BALANCED, min_size=1, max_size=4).map("".join)


@given(content=CONTENT, box=st.sampled_from([r"\boxed", r"\fbox"]))
@example(content="x^{2^{3}}", box=r"\boxed")
@example(content=r"\{1,2\}", box=r"\boxed")
def test_a_box_gives_back_what_was_put_in_it(content: str, box: str) -> None:
    """Report B29, https://github.com/modelscope/ms-swift/pull/10147: braces in braces, escaped ones not counted."""
    assert answer_text(f"{box}{{{content}}}") == content.strip()


@given(contents=st.lists(CONTENT, min_size=2, max_size=4), between=PROSE)
@example(contents=["12", "12"], between=". Check. Final ")
@example(contents=["3", "5"], between=". No wait. ")
def test_the_last_box_counts_and_boxes_are_never_read_as_one(contents: list[str], between: str) -> None:
    """Report B28, https://github.com/huggingface/Math-Verify/issues/44."""
    text = between.join(rf"\boxed{{{content}}}" for content in contents)
    assert answer_text(text) == contents[-1].strip()


@given(content=CONTENT, before=PROSE, after=PROSE)
def test_prose_around_a_box_changes_nothing(content: str, before: str, after: str) -> None:
    assert answer_text(f"{before}\\boxed{{{content}}}{after}") == content.strip()


@given(first=CONTENT, cut=CONTENT, prose=PROSE)
def test_a_box_that_is_opened_last_and_not_closed_is_no_answer(first: str, cut: str, prose: str) -> None:
    assert answer_text(rf"\boxed{{{first}}}{prose}\boxed{{{cut}") == ""


def test_a_box_in_a_box_that_is_not_closed_is_still_closed() -> None:
    assert answer_text(r"\boxed{that is \boxed{5}") == "5"
    assert answer_text(r"\boxed{\boxed{5}}") == r"\boxed{5}"
    assert answer_text(r"{ } \boxed{5} } {") == "5"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Final answer: **41**", "41"),
        ("The answer is 42.", "42"),
        ("The final answer is: $\\frac{1}{2}$.", "$\\frac{1}{2}$"),
        ("The answer to the question is 3.14. I am sure.", "3.14"),
        ("**Answer:**\n\n42", "42"),
        ("Answer: 7\nNo. Answer: 8", "8"),
        ("the answer is 42 because 6 * 7 is 42", "42"),
        ("It took 3 days, so **17**", "17"),
        ("First **3**, then **5**.", "5"),
        ("48/2 = 24.\n#### 72", "72"),
        ("#### 72\nDone.", "72"),
        ("<answer>5</answer>", "5"),
        ("<answer>The answer is 5.</answer>", "5"),
        ("<answer> **5** </answer>", "5"),
        (r"<answer>\boxed{5}</answer>", "5"),
        (r"\boxed{3} <answer>5</answer>", "5"),
        (r"<answer>3</answer> \boxed{5}", "5"),
        ("<answer>3</answer><answer>5</answer>", "5"),
        ("<answer>5", ""),
        ("<answer>5</answer> <answer>6", ""),
        (r"<answer>\boxed{5</answer>", ""),
        ("\\boxed {8}", "8"),
        (r"\\boxed{8}", "8"),
        ("x = 5", "x = 5"),
        ("x = 5\nand more", ""),
        ("12 * 13", ""),
        ("12 + 13 = 25", "12 + 13 = 25"),
        (r"12 \cdot 13", ""),
        ("-3/4", "-3/4"),
        (r"1.5 \times 10^{3}", r"1.5 \times 10^{3}"),
        ("1.5 × 10^3", "1.5 × 10^3"),
        ("", ""),
        ("Answer: ", ""),
        ("The answer is 42...", "42..."),
        ("**42...**", "42..."),
        (r"<think>\boxed{3}</think>\boxed{5}", "5"),
        (r"<think>\boxed{3}</think> The answer is 5.", "5"),
        ("<think>#### 3</think>\n#### 5", "5"),
        (r"\boxed{3}</think>**5**", "5"),
        (r"<think>\boxed{3}</think>", ""),
        (r"<think>\boxed{3}", ""),
        (r"\boxed{3}<think>\boxed{5}", ""),
        (r"<think>a</think>\boxed{3}<think>b</think> No.", "No"),
    ],
)
def test_each_carrier_gives_its_answer(text: str, answer: str) -> None:
    """Report B28 (c): bold marks are not part of an answer."""
    assert answer_text(text) == answer


def test_a_carrier_that_is_not_asked_for_is_not_read() -> None:
    text = "The answer is 4, #### 5, **6** and 7"
    assert answer_text(text, ("hash",)) == "5, **6** and 7"
    assert answer_text(text, ("bold",)) == "6"
    assert answer_text(text, ("number",)) == "7"
    assert answer_text(text, ("box",)) == ""
    assert "number" not in USUAL


@pytest.mark.parametrize(
    ("text", "number"), [("from 2-3", "3"), ("is -3.", "-3"), ("1,234 and 5,678.50", "5,678.50"), ("or 3/4", "3/4")]
)
def test_the_last_number_is_read_with_its_sign_groups_and_fraction(text: str, number: str) -> None:
    found = last_number(text)
    assert found is not None
    assert found.text == number


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        (r"\frac{1}{2}", r"\frac{1}{2}"),
        (r"So $x = \boxed{\frac{1}{2}}$, as said.", r"\frac{1}{2}"),
        ("She has 3 + 4 = 7.\n#### 7", "7"),
        (" 5 ", "5"),
        ("The answer is 5", "The answer is 5"),
    ],
)
def test_a_right_answer_is_taken_whole_unless_it_is_a_solution(gold: str, text: str) -> None:
    assert gold_text(gold) == text


@given(thought=ANY_TEXT, said=PROSE)
def test_only_what_follows_the_last_thought_is_said(thought: str, said: str) -> None:
    assert after_thought(f"{thought}</think>{said}") == said
    assert after_thought(f"{thought}<think>{said}") == ""
    assert after_thought(said) == said


@given(ANY_TEXT)
def test_any_text_has_an_answer_or_none(text: str) -> None:
    for carriers in (USUAL, ("number",), ("hash", "box")):
        assert isinstance(answer_text(text, carriers), str)
    assert isinstance(gold_text(text), str)


UNITS = [
    "{",
    r"\boxed{",
    "Answer: ",
    "}",
    "\\",
    "**",
    "**a",
    "#### ",
    "<answer>",
    r"\boxed{1}",
    "the answer is ",
    "is ",
    "<think>",
    "</think>",
    ".",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_text_is_read_in_one_pass(unit: str) -> None:
    """Report B34 (b), https://github.com/areal-project/AReaL/pull/1426: four times the text takes four times as long,
    where a reader that starts anew at every sign would take sixteen times."""
    few, many = (cost(unit * (size // len(unit))) for size in (50_000, 200_000))
    assert many <= 8 * few + 0.02


def cost(text: str) -> float:
    """Processor seconds that reading a text takes, the least of three times."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        answer_text(text, (*USUAL, "number"))
        spent.append(time.process_time() - start)
    return min(spent)


def test_what_is_found_says_where_its_carrier_ends() -> None:
    text = r"a \boxed{1} <answer>2</answer> b"
    box, block = last_box(text), last_block(text)
    assert box is not None and block is not None
    assert text[: box.end] == r"a \boxed{1"
    assert text[: block.end].endswith("</answer>")
