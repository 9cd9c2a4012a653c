"""What a run knows of a reward travels as JSON, and tells a file that has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.rewards.described import Described
from strop.rewards.find import as_reward, find_reward
from tests.rewards.made import reward_file


@pytest.mark.parametrize(
    "function",
    [
        lambda prompt, completion, answer, unit="": 1.0,
        lambda completions, **rest: [1.0],
        lambda solution_str, ground_truth: 1.0,
        lambda *both: 1.0,
    ],
)
def test_the_record_is_read_back_as_it_was(function: object) -> None:
    described = Described.of(as_reward(function))  # type: ignore[arg-type]
    assert Described.read(json.loads(json.dumps(described.record()))) == described


def test_the_hash_of_its_file_changes_with_the_file(tmp_path: Path) -> None:
    text = "def score(prompt, completion):\n    return 1.0\n"
    first = Described.of(find_reward(f"{reward_file(tmp_path, text)}:score"))
    again = Described.of(find_reward(f"{reward_file(tmp_path, text)}:score"))
    other = Described.of(find_reward(f"{reward_file(tmp_path, text + '#')}:score"))
    assert first.source == again.source != other.source
