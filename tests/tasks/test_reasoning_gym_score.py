"""reasoning-gym's own score, of what stands in the tags."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import pytest

from strop.errors import ConfigError
from strop.rewards.inside import packed

pytestmark = pytest.mark.slow


def entry_of(name: str, index: int = 0, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A problem, and the columns that a task hands to the reward for it."""
    from strop.tasks.reasoning_gym_score import dataset_of

    entry = dataset_of(name, json.dumps(settings), 7)[index]
    columns = {"dataset": name, "settings": json.dumps(settings), "entry": json.dumps(packed(entry, []))}
    return entry, columns


@pytest.mark.parametrize(
    ("completion", "tagged", "right"),
    [
        ("<answer>{}</answer>", True, 1.0),
        ("<think><answer>0</answer></think>\n<answer> {} </answer> indeed", True, 1.0),
        ("{}", True, 0.0),
        ("{}", False, 1.0),
        ("It is <answer>{}</answer>", False, 1.0),
        ("", True, 0.0),
        ("<answer>x</answer>", True, 0.0),
    ],
)
def test_the_right_answer_scores_one_where_it_may_stand(completion: str, tagged: bool, right: float) -> None:
    from strop.tasks.reasoning_gym_score import score

    entry, columns = entry_of("chain_sum")
    assert score(completion.format(entry["answer"]), tagged=tagged, **columns) == right


def test_a_problem_with_many_right_answers_is_scored_by_the_library() -> None:
    """rush_hour names no answer: its dataset plays the moves."""
    from strop.tasks.reasoning_gym_score import score

    entry, columns = entry_of("countdown")
    numbers = entry["metadata"]["numbers"]
    assert score(f"<answer>{entry['answer']}</answer>", tagged=True, **columns) == 1.0
    assert 0.0 < score(f"<answer>{numbers[0]}</answer>", tagged=True, **columns) < 1.0


def test_a_composite_dataset_scores_by_the_dataset_that_a_problem_is_from() -> None:
    from strop.tasks.reasoning_gym_score import score

    parts = [{"name": "chain_sum"}, {"name": "leg_counting", "weight": 3.0, "config": {"min_animals": 2}}]
    for index in range(4):
        entry, columns = entry_of("composite", index, datasets=parts)
        assert score(f"<answer>{entry['answer']}</answer>", tagged=True, **columns) == 1.0


def test_without_the_library_the_error_is_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "strop.tasks.reasoning_gym_score", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "reasoning_gym"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ConfigError, match=r"pip install 'strop\[tasks\]'"):
        importlib.import_module("strop.tasks.reasoning_gym_score")
