"""TensorBoard's own reader finds what was sent."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from strop.run.tracker_tensorboard import TensorBoard

pytestmark = pytest.mark.slow


def sent(folder: Path, rows: list[tuple[int, dict[str, float]]]) -> None:
    tracker = TensorBoard()
    tracker.start({"seed": 1, "model": "strop:tiny"}, "r", folder)
    for step, metrics in rows:
        tracker.log(step, metrics)
    tracker.finish({"verdict": "improved"})


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder / "tensorboard"))
    reader.Reload()
    return reader


def curve(reader: Any, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in reader.Scalars(tag)]


def test_every_value_is_read_back_at_its_step(tmp_path: Path) -> None:
    sent(tmp_path, [(0, {"eval/avg": 0.25}), (1, {"loss": 0.5}), (2, {"loss": -1.5}), (2, {"eval/avg": 0.75})])
    reader = read(tmp_path)
    assert curve(reader, "loss") == [(1, 0.5), (2, -1.5)]
    assert curve(reader, "eval/avg") == [(0, 0.25), (2, 0.75)]
    texts = {tag: reader.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in ("config", "summary")}
    assert "| model | strop:tiny |" in texts["config"]
    assert "| verdict | improved |" in texts["summary"]


def test_a_resumed_run_overwrites_what_is_trained_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Report B58: a crash at step 43, a resume from the save of step 40: one final value for each step, none lost."""
    with caplog.at_level(logging.ERROR):
        sent(tmp_path, [(step, {"loss": float(step)}) for step in (39, 40, 41, 42, 43)])
        sent(tmp_path, [(step, {"loss": step + 0.5}) for step in (41, 42, 43, 44)])
        after = curve(read(tmp_path), "loss")
    assert after == [(39, 39.0), (40, 40.0), (41, 41.5), (42, 42.5), (43, 43.5), (44, 44.5)]


def test_an_older_step_in_the_same_run_overwrites_too(tmp_path: Path) -> None:
    sent(tmp_path, [(step, {"loss": float(place)}) for place, step in enumerate((1, 2, 3, 2, 3, 4))])
    assert curve(read(tmp_path), "loss") == [(1, 0.0), (2, 3.0), (3, 4.0), (4, 5.0)]


def test_a_step_is_on_disk_once_it_is_logged_and_no_file_names_the_host(tmp_path: Path) -> None:
    tracker = TensorBoard()
    tracker.start({}, "r", tmp_path)
    tracker.log(1, {"loss": 0.5})
    assert curve(read(tmp_path), "loss") == [(1, 0.5)]
    tracker.finish({})
    [file] = (tmp_path / "tensorboard").iterdir()
    assert socket.gethostname() not in file.name
