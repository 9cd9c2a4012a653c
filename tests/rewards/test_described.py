"""What a run knows of a reward travels as JSON, and tells a file that has changed."""

from __future__ import annotations

import json
import sys
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


def test_the_hash_is_of_its_file_as_it_was_when_it_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "hashed", raising=False)
    text = "def score(prompt, completion):\n    return 1.0\n"
    reward = find_reward(f"{reward_file(tmp_path, text, 'hashed.py')}:score")
    first = Described.of(reward)
    use = f"{reward_file(tmp_path, text + '#', 'hashed.py')}:score"
    assert Described.of(reward).source == first.source
    monkeypatch.delitem(sys.modules, "hashed")
    assert Described.of(find_reward(use)).source != first.source
