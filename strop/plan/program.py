"""What the program takes before it loads anything: measured, by starting it once.

python -m strop.plan.program MODEL RANK
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from strop.run.tracker_line import with_strop

STATUS = Path("/proc/self/status")
"""Where Linux says it; elsewhere the largest that the process was has to do."""


@dataclass(frozen=True, slots=True)
class Program:
    """Resident bytes of a run that has imported all it needs, and of a process that scores."""

    run: int
    worker: int


def measured(model: str, rank: int) -> Program:
    """Start it, and let it say. Of the model it reads the config alone; `rank` is that of adapters."""
    command = [sys.executable, "-P", "-m", "strop.plan.program", model, str(rank)]
    done = subprocess.run(command, env=with_strop(os.environ), capture_output=True, text=True, check=True)  # noqa: S603
    return Program(**json.loads(done.stdout.splitlines()[-1]))


def resident(key: str = "VmRSS") -> int:
    """Bytes of this process that are in memory now, or (VmHWM) were at its largest."""
    if not STATUS.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [line] = [line for line in STATUS.read_text().splitlines() if line.startswith(f"{key}:")]
    return int(line.split()[1]) * 1024


def main(model: str, rank: int) -> None:
    import_module("strop.rewards.worker")
    worker = resident()
    import torch

    import_module("strop.loop")
    from strop.policy.lora import Lora
    from strop.policy.model import blueprint, load_tokenizer

    load_tokenizer(model)
    with torch.device("meta"):
        blueprint(model, dtype="float32", lora=Lora(rank))
    print(json.dumps({"run": resident(), "worker": worker}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
