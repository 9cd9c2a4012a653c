"""A completion becomes a trace of one turn. (Its scores: test_verifiers_task.)"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.environments import ENVIRONMENTS


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("environments")
    (folder / "toy_sums.py").write_text(ENVIRONMENTS["toy_sums"])
    stand_in = [] if importlib.util.find_spec("verifiers") else [str(Path(__file__).parent / "stand_in")]
    paths = [str(folder), *stand_in]
    sys.path[:0] = paths
    yield importlib.import_module("strop.tasks.verifiers_score")
    for path in paths:
        sys.path.remove(path)
    for name in [n for n in sys.modules if n.startswith(("verifiers", "toy_", "strop.tasks.verifiers"))]:
        del sys.modules[name]


TASK = '{"prompt": "1 + 1?", "system_prompt": "Be short.", "answer": "2"}'


def test_the_reply_is_the_one_sampled_message_and_the_last(reader: Any) -> None:
    problem = reader.task_of("toy-sums", "{}", TASK)
    trace = reader.single_turn(problem, " It is 2. ")
    assert [(node.message.role, node.parent, node.sampled) for node in trace.nodes] == [
        ("system", None, False),
        ("user", 0, False),
        ("assistant", 1, True),
    ]
    assert trace.last_reply == "It is 2."
    assert trace.transcript == "[system]\nBe short.\n\n[user]\n1 + 1?\n\n[assistant]\n It is 2. "
    assert trace.task.data.answer == "2"


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        (None, "no prompt"),
        ([], "no prompt"),
        ([("tool", "3")], "a message of role tool"),
        ([("user", [{"type": "text", "text": "x"}])], "a message of role user that is not a text alone"),
    ],
)
def test_a_problem_that_does_not_open_with_text_is_refused(reader: Any, prompt: Any, says: str) -> None:
    class Message:
        def __init__(self, role: str, content: Any) -> None:
            self.role, self.content = role, content

    class Data:
        system_prompt = None

    data = Data()
    data.prompt = [Message(*each) for each in prompt] if prompt else prompt  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=says):
        reader.messages_of(data)


def test_settings_are_checked_by_the_environments_own_rules(reader: Any) -> None:
    assert reader.config_of("toy-sums", '{"largest": 3}').largest == 3
    with pytest.raises(ValueError, match="larges"):
        reader.config_of("toy-sums", '{"larges": 3}')
