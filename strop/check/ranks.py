"""The processes that layouts over several ranks run in: started once, told what to run, never waited for in vain."""

from __future__ import annotations

import json
import multiprocessing
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any

from strop.check.worker import work
from strop.errors import StropError

PATIENCE_S = 180.0
"""How long one layout may take, the start of the processes included."""


class Ranks:
    """`size` processes. Use it as a context; leaving it ends them.

    They start as it is made, and the caller need not wait for them. Plain JSON goes through the pipes.
    """

    def __init__(self, folder: Path, size: int = 4, *, patience_s: float = PATIENCE_S, prepare: str = "") -> None:
        self.folder, self.patience_s = folder, patience_s
        spawn = multiprocessing.get_context("spawn")
        self.pipes: list[Connection] = []
        self.processes: list[Any] = []
        for rank in range(size):
            mine, theirs = spawn.Pipe()
            settings = {"rank": rank, "size": size, "patience_s": patience_s, "prepare": prepare}
            process = spawn.Process(target=work, args=(theirs, str(folder)), kwargs=settings, daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(mine)
            self.processes.append(process)

    def __enter__(self) -> Ranks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes:
            process.kill()
        for process, pipe in zip(self.processes, self.pipes, strict=True):
            process.join()
            pipe.close()

    def run(self, task: dict[str, Any], ranks: int) -> list[dict[str, Any]]:
        """The answers of the first `ranks` processes to a task, in rank order.

        Raises:
            StropError: one of them failed, ended, or did not answer in time. The others are of no more use.
        """
        text = json.dumps(task).encode()
        waiting = dict(zip(self.pipes[:ranks], range(ranks), strict=True))
        for pipe, rank in waiting.items():
            self.send(pipe, rank, text)
        answers: dict[int, dict[str, Any]] = {}
        deadline = time.monotonic() + self.patience_s
        while waiting:
            ready = wait(list(waiting), timeout=max(0.0, deadline - time.monotonic()))
            if not ready:
                late = ", ".join(map(str, waiting.values()))
                raise StropError(f"rank {late} of {ranks} did not answer within {self.patience_s:g} s")
            for pipe in ready:
                rank = waiting.pop(pipe)  # type: ignore[call-overload]
                answers[rank] = self.receive(pipe, rank)  # type: ignore[arg-type]
        return [answers[rank] for rank in range(ranks)]

    def send(self, pipe: Connection, rank: int, text: bytes) -> None:
        try:
            pipe.send_bytes(text)
        except OSError as error:
            raise self.ended(rank) from error

    def receive(self, pipe: Connection, rank: int) -> dict[str, Any]:
        try:
            answer = json.loads(pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise self.ended(rank) from error
        if "failed" in answer:
            raise StropError(f"rank {rank} failed: {answer['failed'].strip().splitlines()[-1]}")
        return answer

    def ended(self, rank: int) -> StropError:
        """What to say of a process that is gone."""
        self.processes[rank].join(timeout=5)
        log = self.folder / f"rank-{rank}.txt"
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
        code = self.processes[rank].exitcode
        return StropError(f"rank {rank} ended with exit code {code}" + (f": {said[-1]}" if said else ""))
