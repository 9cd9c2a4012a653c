"""The embedded task: seeded, held-out problems kept apart, answers checked by the rule alone."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.assets.tiny.demonstrations import DONE_TWICE, LEFT_OUT, SHARES, SIZES, WRONG, chain, demonstration
from strop.errors import ConfigError
from strop.tasks import arithmetic
from strop.tasks.arithmetic import FIELD, Arithmetic, held_out_sums, is_held_out, problem, solve, sum_of, terms_of
from strop.types import Completion, Finish


def completion(text: str, finish: Finish = "stop") -> Completion:
    return Completion((5,), (-1.0,), text, finish, 0)


@given(seed=st.integers(0, 5), draw=st.integers(0, 10_000))
def test_the_stream_is_a_pure_function_of_seed_and_draw_and_never_held_out(seed: int, draw: int) -> None:
    prompt = Arithmetic(seed=seed).prompt(draw)
    assert prompt == Arithmetic(seed=seed).prompt(draw)
    assert not is_held_out(str(prompt.content))


def test_held_out_problems_are_the_same_for_every_seed_and_cover_the_sizes_evenly() -> None:
    held = Arithmetic(seed=3).held_out(64)
    assert held == Arithmetic(seed=4).held_out(64)
    assert all(is_held_out(str(prompt.content)) for prompt in held)
    sizes = [prompt.columns["size"] for prompt in held]
    assert all(sizes.count(size) == 8 for size in arithmetic.SIZES)


def test_held_out_problems_are_different_sums_and_a_size_that_is_used_up_leaves_its_turns_to_the_others() -> None:
    held = Arithmetic().held_out(400)
    assert len({sum_of(str(prompt.content)) for prompt in held}) == 400
    sizes = [prompt.columns["size"] for prompt in held]
    assert sizes.count(2) == held_out_sums(2) == 40
    assert {sizes.count(size) for size in arithmetic.SIZES[1:]} <= {51, 52}
    assert held[:64] == Arithmetic().held_out(64)


def test_more_held_out_problems_than_there_are_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "SIZES", range(2, 4))
    there = held_out_sums(2) + held_out_sums(3)
    assert len(Arithmetic().held_out(there)) == there
    with pytest.raises(ConfigError, match=f"eval.prompts: {there + 1} asked for, and arithmetic has {there} held-out"):
        Arithmetic().held_out(there + 1)


@given(st.integers(0, 10_000))
def test_the_answer_is_the_last_digit_of_the_sum(seed: int) -> None:
    rng = random.Random(seed)
    text = problem(rng, rng.choice(arithmetic.SIZES), held_out=False)
    assert len(text) == FIELD + 1
    assert solve(text) == str(sum(int(term) for term in terms_of(text)) % 10)


@pytest.mark.parametrize(
    "text, finish, score",
    [
        ("#9", "stop", 1.0),
        ("4+7=1-2=9#9", "stop", 1.0),
        ("#8", "stop", 0.0),
        ("#9", "length", 0.0),
        ("9", "stop", 0.0),
        ("#9#8", "stop", 0.0),
        ("#9 ", "stop", 0.0),
        ("", "stop", 0.0),
    ],
)
def test_a_completion_is_right_if_it_ends_with_the_right_digit_after_a_mark(
    text: str, finish: Finish, score: float
) -> None:
    task = Arithmetic()
    prompt = arithmetic.as_prompt("4+7-2".ljust(FIELD, ".") + "=")
    [verdict] = task.score(prompt, [completion(text, finish)])
    assert (verdict.score, verdict.answer) == (score, arithmetic.answer(completion(text, finish)))
    task.close()


def test_styles_are_told_apart() -> None:
    task, prompt = Arithmetic(), arithmetic.as_prompt("4+7-2".ljust(FIELD, ".") + "=")
    texts = {"#9": "direct", "4+7=1-2=9#9": "steps", "4+7=1-2=9?4+7=1-2=9#9": "verbose"}
    for text, style in texts.items():
        assert task.labels(prompt, completion(text)) == {"size": "3", "style": style}
    assert task.labels(prompt, completion("4+7=1", "length"))["style"] == "unfinished"


def test_no_demonstration_reaches_the_size_beyond_and_chains_are_careless_as_stated() -> None:
    assert SIZES[-1] == arithmetic.SIZES[-1] - 1
    rng = random.Random(0)
    text = "..4+7-2".ljust(FIELD, ".") + "="
    chains = [chain(rng, text) for _ in range(4000)]
    faultless = ((1 - LEFT_OUT - DONE_TWICE) * (1 - WRONG)) ** 2
    assert sum(c == "4+7=1-2=9" for c in chains) / 4000 == pytest.approx(faultless, abs=0.02)
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_no_demonstrated_style_alone_is_right_more_than_seventy_percent_of_the_time() -> None:
    rng = random.Random(1)
    task = Arithmetic()
    right: dict[str, list[float]] = {}
    for _ in range(6000):
        prompt = arithmetic.as_prompt(problem(rng, rng.choice(SIZES), held_out=False))
        shown, ends = demonstration(rng, str(prompt.content), prompt.columns["answer"])
        made = completion(shown, "stop" if ends else "length")
        right.setdefault(task.labels(prompt, made)["style"], []).append(task.score(prompt, [made])[0].score)
    assert set(right) == set(SHARES)
    assert all(sum(scores) / len(scores) < 0.70 for scores in right.values())


def test_a_held_out_sum_is_held_out_wherever_it_stands() -> None:
    for sum_ in ("4+7-2", "1+1", "9-3+4"):
        placed = {("." * indent + sum_).ljust(FIELD, ".") + "=" for indent in range(5)}
        assert len({is_held_out(text) for text in placed}) == 1
