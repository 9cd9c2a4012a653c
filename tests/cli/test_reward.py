"""strop reward test: the table, what is wrong, and an exit code that a script can trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.cli.main import run
from tests.rewards.made import reward_file

GOOD = """
    import re
    def score(completion, answer, **rest):
        found = re.findall(r"boxed\\{(-?[0-9]+)\\}", completion[-5000:])
        return float(bool(found) and found[-1] == answer)
"""
RAISES = "def score(completion, answer):\n    return float(completion.split()[-1] == answer)\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Six sums; the large completions are tried on one of them."""
    monkeypatch.setattr("strop.rewards.trial.FEW", 1)
    rows = [{"prompt": f"What is {number} + 1?", "answer": str(number + 1)} for number in range(6)]
    path = tmp_path / "sums.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_right_reward_leaves_with_0_and_shows_its_table(
    tmp_path: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = reward_file(tmp_path, GOOD)
    assert run(["reward", "test", f"{file}:score", data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{file}:score on 6 rows, every completion twice"
    assert lines[1].split() == ["completion", "must", "score", "n", "right", "scores", "failed", "unlike"]
    cells = {line.split("  ")[0]: line.split() for line in lines[2:] if line}
    assert cells[r"\boxed{}"][1:] == ["right", "6", "100%", "1"]
    assert cells["empty"][1:] == ["wrong", "6", "0%", "0"]
    assert lines[-1] == "Nothing is wrong with it."


def test_a_reward_with_a_fault_leaves_with_5_and_says_what_to_do(
    tmp_path: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reward", "test", f"{reward_file(tmp_path, RAISES)}:score", data]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("1. ") and "raised IndexError" in line and "catch what it raises" in line for line in lines
    )
    assert lines[-1] in ("Put that right first.", "2 things are wrong with it; put them right first.")


def test_json_says_the_same(tmp_path: Path, data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reward", "test", f"{reward_file(tmp_path, RAISES)}:score", data, "--json"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["rows"], len(found["problems"]) > 0) == (False, 6, True)
    assert {"kind", "must", "n", "right", "failed", "unlike", "lowest", "highest"} == set(found["kinds"][0])


def test_a_built_in_and_flags_of_the_task_are_taken(
    tmp_path: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "named.jsonl"
    other.write_text(Path(data).read_text().replace('"prompt"', '"question"').replace('"answer"', '"label"'))
    columns = ["--task.data.columns", "{prompt: question, answer: label}", "--task.scoring.workers", "1"]
    assert run(["reward", "test", "boxed", str(other), *columns]) == 0
    assert "boxed on 6 rows" in capsys.readouterr().out


def test_a_reward_that_is_no_accuracy_is_tried_as_a_bonus(tmp_path: Path, data: str) -> None:
    file = reward_file(tmp_path, "def score(completion, answer):\n    return min(len(completion), 100) / 100\n")
    assert run(["reward", "test", f"{file}:score", data]) == 5
    assert run(["reward", "test", f"{file}:score", data, "--bonus"]) == 0


def test_what_a_hostile_reward_says_is_shown_without_acting(
    tmp_path: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = reward_file(tmp_path, "def score(completion, answer):\n    raise ValueError('\\x1b[2J\\u202e')\n")
    assert run(["reward", "test", f"{file}:score", data]) == 5
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "strop reward has one thing to do: strop reward test FUNC DATA"),
        (["try", "x", "y"], "strop reward has one thing to do"),
        (["test", "math"], "strop reward test takes a reward and the data it is for"),
        (["test", "math", "a", "b"], "strop reward test takes a reward and the data it is for"),
        (["test", "mine.py:score", "nowhere.jsonl"], "there is no file"),
        (["test", "maths", "DATA"], "did you mean math?"),
        (["test", "math", "DATA", "--task.scorin.workers", "1"], "task.scoring.workers"),
    ],
)
def test_what_it_cannot_do_is_one_line_and_no_table(
    arguments: list[str], message: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reward", *(data if argument == "DATA" else argument for argument in arguments)]) in (2, 4)
    shown = capsys.readouterr()
    assert message in shown.err
    assert (len(shown.err.splitlines()), shown.out) == (1, "")
