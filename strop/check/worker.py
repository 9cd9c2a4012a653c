"""One rank of the check: a process that runs layouts over gloo when it is told to, and says how far off they are."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import traceback
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from strop.check.compare import errors_of
from strop.check.files import DTYPES, read_case, read_truth
from strop.check.layouts import Layout
from strop.check.trial import Bench
from strop.config.load import load
from strop.policy.mesh import Mesh

SIZES = (1, 2, 4)
"""How many ranks work together: the first so many of the processes."""


def work(connection: Connection, folder: str, *, rank: int, size: int, patience_s: float, prepare: str) -> None:
    """Serve tasks, each one JSON text, until the other end is closed. What is printed goes to a file of the folder.

    `prepare` is a "module:function" that is called first: how a test plants a fault in every rank.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the check, and the check ends its ranks
    redirect(folder, rank)
    if prepare:
        module, _, name = prepare.partition(":")
        getattr(importlib.import_module(module), name)()
    torch.set_num_threads(1)
    ranks = Rank.join(rank, size, folder, patience_s)
    while True:
        try:
            task = json.loads(connection.recv_bytes())
        except EOFError:
            return
        connection.send_bytes(json.dumps(ranks.answer(task)).encode())


def redirect(folder: str, rank: int) -> None:
    """What this process prints goes to a file of the folder, C++ libraries included."""
    log = os.open(f"{folder}/rank-{rank}.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)


@dataclass(slots=True)
class Rank:
    """This process among the ranks, and the models it holds. Sharded modules stay so: each way has its own."""

    rank: int
    groups: dict[int, Any]
    benches: dict[tuple[str, str, int, bool], Bench] = field(default_factory=dict)

    @classmethod
    def join(cls, rank: int, size: int, folder: str, patience_s: float) -> Rank:
        """Meet the other ranks through a file of the folder, on this machine's loopback."""
        loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
        if loopback:
            os.environ["GLOO_SOCKET_IFNAME"] = loopback[0]
        store = dist.FileStore(f"{folder}/store", size)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=patience_s))
        sizes = [n for n in SIZES if n <= size]
        return cls(rank, {n: dist.new_group(list(range(n))) for n in sizes})

    def answer(self, task: dict[str, Any]) -> dict[str, Any]:
        """The errors of a layout as plain values, or the traceback of what went wrong."""
        try:
            return asdict(self.measured(task))
        except Exception:
            return {"failed": traceback.format_exc()}

    def measured(self, task: dict[str, Any]) -> Any:
        layout = Layout(**task["layout"])
        bench = self.bench(task["case"], task["dtype"], layout)
        found = bench.run(load(mapping=task["config"]).row, layout)
        return errors_of(found.gradient, found.metrics, truth_of(task["truth"]))

    def bench(self, folder: str, dtype: str, layout: Layout) -> Bench:
        key = (folder, dtype, layout.ranks, layout.sharded)
        if key not in self.benches:
            case = read_case(Path(folder))
            mesh = Mesh(self.rank, layout.ranks, layout.sharded, self.groups[layout.ranks])
            self.benches[key] = Bench.of(case, case.models.to(DTYPES[dtype]), mesh)
        return self.benches[key]


@lru_cache(maxsize=4)
def truth_of(file: str) -> Any:
    return read_truth(Path(file))
