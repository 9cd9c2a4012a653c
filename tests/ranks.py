"""Real processes that talk through gloo: a function of a test module, called once in each rank."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATIENCE_S = 240.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def start(ranks: int, *words: str) -> list[subprocess.Popen[str]]:
    """`python WORDS` starts in `ranks` processes, with torchrun's variables set."""
    port = free_port()
    processes = []
    for rank in range(ranks):
        environment = {
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, *words],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return processes


def called(ranks: int, function: str, *arguments: str) -> list[Any]:
    """What the function ("package.module:name") returned in each rank, as JSON."""
    processes = start(ranks, "-m", "tests.ranks", function, *arguments)
    outputs = [finished(process) for process in processes]
    for process, (_, stderr) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, stderr[-3000:]
    return [json.loads(stdout.splitlines()[-1]) for stdout, _ in outputs]


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def wait_for_rows(path: Path, rows: int, processes: Sequence[subprocess.Popen[str]]) -> None:
    """Until the file has so many lines; an AssertionError with what was printed if a process ends before."""
    until = time.monotonic() + PATIENCE_S
    while not path.exists() or len(path.read_text().splitlines()) < rows:
        dead = [process for process in processes if process.poll() is not None]
        assert not dead and time.monotonic() < until, [finished(process) for process in processes]
        time.sleep(0.05)


def main() -> None:
    name, *arguments = sys.argv[1:]
    module, _, function = name.partition(":")
    print("\n" + json.dumps(getattr(importlib.import_module(module), function)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
