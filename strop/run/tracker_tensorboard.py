"""TensorBoard: event files in the run's folder, whole after every step."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any


class TensorBoard:
    """Writes RUN/tensorboard/events.out.tfevents.*; settings and summary are texts beside the curves.

    A step below the last one, and the first one of a process, come behind a session mark: readers then forget what they
    have from that step on, so that a resumed run overwrites what it trains again.
    """

    def start(self, config: dict[str, Any], name: str, folder: Path) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2  # pyright: ignore[reportMissingImports]
        from tensorboard.summary.writer.record_writer import RecordWriter  # pyright: ignore[reportMissingImports]

        self.events: Any = event_pb2
        self.summaries: Any = summary_pb2
        home = folder / "tensorboard"
        home.mkdir(exist_ok=True)
        # The library's own names hold the host's; a reader asks for "tfevents" and goes by the order of the names.
        self.writer = RecordWriter((home / f"events.out.tfevents.{time.time():.6f}.strop").open("xb"))
        self.last = -1
        self._write(0, file_version="brain.Event:2")
        self._text("config", config)

    def log(self, step: int, metrics: dict[str, float]) -> None:
        if self.last < 0 or step < self.last:
            self._write(step, session_log=self.events.SessionLog(status=self.events.SessionLog.START))
        values = [self.summaries.Summary.Value(tag=tag, simple_value=value) for tag, value in metrics.items()]
        self._write(step, summary=self.summaries.Summary(value=values))
        self.last = step

    def finish(self, summary: dict[str, Any]) -> None:
        self._text("summary", summary)
        self.writer.close()

    def _text(self, tag: str, values: dict[str, Any]) -> None:
        """A table of names and values, under the tab of texts."""
        from tensorboard.plugins.text.metadata import (  # pyright: ignore[reportMissingImports]
            create_summary_metadata,
        )
        from tensorboard.util.tensor_util import make_tensor_proto  # pyright: ignore[reportMissingImports]

        lines = ["| key | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in values.items())]
        tensor, metadata = make_tensor_proto("\n".join(lines)), create_summary_metadata(tag, "")
        value = self.summaries.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)
        self._write(max(self.last, 0), summary=self.summaries.Summary(value=[value]))

    def _write(self, step: int, **what: Any) -> None:
        self.writer.write(self.events.Event(wall_time=time.time(), step=step, **what).SerializeToString())
        self.writer.flush()
