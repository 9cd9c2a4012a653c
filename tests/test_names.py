from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strop.names import did_you_mean, likeness, nearest

WORDS = st.text("abcdefgh_", min_size=1, max_size=8)


def test_nearest_is_silent_when_nothing_is_near() -> None:
    assert nearest("zzz", ["mixed", "none"]) == []
    assert nearest("x", []) == []
    assert did_you_mean([]) == ""


def test_the_best_come_first_and_only_with_those_about_as_good() -> None:
    assert nearest("clop", ["gate", "clip", "open"]) == ["clip"]
    assert nearest("prompt", ["prompt_a", "prompt_b", "prompt_c"]) == ["prompt_a", "prompt_b"]
    assert did_you_mean(["a", "b"]) == "; did you mean a or b?"


@given(WORDS, st.lists(WORDS, max_size=6))
def test_a_name_that_is_there_is_its_own_nearest(word: str, others: list[str]) -> None:
    assert nearest(word.upper(), [*others, word])[0].lower() == word
    assert likeness(word, word) == 1
    assert set(nearest(word, others)) <= set(others)
