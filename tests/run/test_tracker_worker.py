"""What a tracker's process answers, whatever the tracker does."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strop.run import trackers
from strop.run.tracker_tensorboard import TensorBoard
from strop.run.tracker_wandb import Trackio, Wandb
from strop.run.tracker_worker import LONGEST, answer, find, read_beside, serve
from tests.shape.source import ROOT


class Recorder:
    """A tracker that raises what it is given to raise."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.calls: list[tuple[Any, ...]] = []

    def start(self, config: dict[str, Any], name: str, folder: Path) -> None:
        self.calls.append(("start", config, name, folder))

    def log(self, step: int, metrics: dict[str, float]) -> None:
        self.calls.append(("log", step, metrics))
        if self.error:
            raise self.error

    def finish(self, summary: dict[str, Any]) -> None:
        self.calls.append(("finish", summary))


def served(tracker: Recorder, *messages: dict[str, Any]) -> list[Any]:
    answers = io.StringIO()
    serve(tracker, iter([json.dumps(message) + "\n" for message in messages]), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


START = {"start": {"config": {"seed": 1}, "name": "r", "folder": "/runs/r"}}
LOG = {"log": {"step": 3, "metrics": {"loss": 0.5}}}
FINISH = {"finish": {"summary": {"verdict": "improved"}}}


def test_each_message_is_one_call_and_one_answer() -> None:
    tracker = Recorder()
    assert served(tracker, START, LOG, FINISH) == [{}, {}, {}]
    assert tracker.calls == [
        ("start", {"seed": 1}, "r", Path("/runs/r")),
        ("log", 3, {"loss": 0.5}),
        ("finish", {"verdict": "improved"}),
    ]


def test_a_run_that_went_without_a_word_is_finished_once() -> None:
    tracker = Recorder()
    assert served(tracker, START, LOG) == [{}, {}]
    assert [call[0] for call in tracker.calls] == ["start", "log", "finish"]


@pytest.mark.parametrize("error", [ValueError("a\n  b"), SystemExit(2), KeyboardInterrupt(), MemoryError()])
def test_an_error_is_one_short_line_that_names_the_step(error: BaseException) -> None:
    text = answer(Recorder(error), LOG)["error"]
    assert text.startswith(f"log of step 3: {type(error).__name__}: ")
    assert "\n" not in text
    assert len(answer(Recorder(ValueError("x" * 9999)), LOG)["error"]) == LONGEST


def test_lines_are_those_of_the_source_and_their_end_is_told() -> None:
    ended: list[bool] = []
    assert list(read_beside(io.StringIO("1\n2\n"), lambda: ended.append(True))) == ["1\n", "2\n"]
    assert ended == [True]


def test_every_name_of_the_configuration_is_a_tracker() -> None:
    from strop.config.schema import KEYS

    [names] = KEYS["save.trackers"].annotation.__args__
    assert [type(find(name)) for name in names.__args__] == [TensorBoard, Wandb, Trackio]


def test_the_process_of_a_tracker_imports_nothing_of_a_run_that_is_heavy() -> None:
    code = "import strop.run.tracker_worker as w, sys; w.find('wandb'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "numpy", "pyarrow", "wandb", "pydantic"} & set(done.stdout.split())


def test_its_program_is_the_one_that_a_run_starts() -> None:
    assert trackers.command_of("wandb")[1:] == ["-P", "-m", "strop.run.tracker_worker", "wandb"]
