from __future__ import annotations

import random
import string

import pytest

from strop.config.nearest import ELSEWHERE, REFUSED, nearest_keys, unknown_key
from strop.config.schema import KEYS, LEAVES


def typo(word: str, rng: random.Random) -> str:
    """One edit: a letter dropped, doubled, replaced, inserted, or swapped with the next."""
    at = rng.randrange(len(word) - 1)
    letter = rng.choice(string.ascii_lowercase)
    edits = [
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + letter + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    ]
    return rng.choice(edits)


@pytest.mark.parametrize("seed", range(10))
def test_of_100_single_edit_typos_at_least_95_get_the_right_suggestion(seed: int) -> None:
    rng = random.Random(seed)
    right = tried = 0
    while tried < 100:
        key = LEAVES[tried % len(LEAVES)]
        wrong = typo(key, rng)
        if wrong in KEYS:
            continue
        tried += 1
        right += key in nearest_keys(wrong) and key in unknown_key(wrong)
    assert right >= 95, right


@pytest.mark.parametrize("key", [key for key in LEAVES if "." in key])
def test_a_key_in_the_wrong_section_is_told_where_it_belongs(key: str) -> None:
    name = key.rpartition(".")[2]
    wrong = f"save.{name}"
    if wrong in KEYS:
        wrong = f"task.{name}"
    text = unknown_key(wrong)
    assert f"{name} is a key of" in text
    assert any(home in text for home in KEYS if home.rpartition(".")[2] == name)


def test_a_single_wrong_letter_in_a_section_is_understood() -> None:
    assert nearest_keys("rolout") == ["rollout"]
    assert nearest_keys("eal.prompts")[0] == "eval.prompts"


@pytest.mark.parametrize(("name", "key"), ELSEWHERE.items())
def test_what_other_trainers_call_it_leads_to_the_key(name: str, key: str) -> None:
    assert key in LEAVES
    assert name not in KEYS
    assert key in unknown_key(f"train.{name}")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("prefix", ["", "rollout.", "train.", "eval."])
def test_truncated_sampling_is_refused_with_the_reason(prefix: str, name: str) -> None:
    assert "full distribution" in unknown_key(prefix + name)


def test_a_field_of_a_choice_says_to_give_the_choice_whole() -> None:
    assert "give objective.trust whole" in unknown_key("objective.trust.low")


def test_nothing_near_names_the_sections() -> None:
    assert "the sections are task, rollout" in unknown_key("zzzzzzzz")
