"""Two steps of the run itself, in a process and a folder that go away again, and the time that follows from them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strop import errors
from strop.errors import StropError
from strop.plan.algebra import Algebra
from strop.plan.program import resident
from strop.run.tracker_line import with_strop
from strop.watch import Watcher

STEPS = 2


@dataclass(frozen=True, slots=True)
class Probe:
    """What two steps took.

    step_s, sampled_s: seconds of each step, and of its sampling. generated: completions that each sampled. setup_s and
    save_s: before the first evaluation, and for a checkpoint. peak: resident bytes. rollouts: bytes of both files.
    """

    setup_s: float
    step_s: tuple[float, ...]
    sampled_s: tuple[float, ...]
    generated: tuple[int, ...]
    save_s: float
    peak: int
    rollouts: int


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds of a whole run, between the faster and the slower of the two steps, and where they go."""

    low: float
    high: float
    steps: float
    evaluations: float
    saves: float
    setup: float


def estimate(probe: Probe, counts: Algebra, steps: int) -> Time:
    """Steps, evaluations and checkpoints at the pace of the probe: an evaluation samples as fast as a step did."""
    rates = [made / max(1e-9, seconds) for made, seconds in zip(probe.generated, probe.sampled_s, strict=True)]
    evaluated = counts.evaluations * counts.evaluated
    fixed = probe.setup_s + counts.checkpoints * probe.save_s
    mean = sum(probe.step_s) / len(probe.step_s) * steps
    return Time(
        low=fixed + steps * min(probe.step_s) + evaluated / max(rates),
        high=fixed + steps * max(probe.step_s) + evaluated / min(rates),
        steps=mean,
        evaluations=evaluated / (sum(rates) / len(rates)),
        saves=counts.checkpoints * probe.save_s,
        setup=probe.setup_s,
    )


def probe(config: Any) -> Probe:
    """Run two steps of `config`, with one held-out prompt and no tracker.

    Raises:
        StropError: what the run raised.
    """
    runs = Path(config.runs)
    with tempfile.TemporaryDirectory(prefix="strop-plan-", dir=runs if runs.is_dir() else None) as folder:
        path = Path(folder)
        changed = config.dump()
        changed["train"] |= {"steps": STEPS}
        changed["eval"] |= {"every": 0, "prompts": 1, "completions": 1}
        changed["save"] |= {"every": 0, "trackers": []}
        changed |= {"run": "probe", "runs": folder}
        (path / "config.json").write_text(json.dumps(changed))
        command = [sys.executable, "-P", "-m", "strop.plan.probe", str(path / "config.json"), str(path / "result.json")]
        nothing = subprocess.DEVNULL
        done = subprocess.run(  # noqa: S603
            command, env=with_strop(os.environ), stdin=nothing, stdout=nothing, check=False
        )
        if not (path / "result.json").is_file():
            raise StropError(f"the two steps of the probe ended with exit code {done.returncode}, without a word")
        result = json.loads((path / "result.json").read_text())
        if "error" in result:
            raise getattr(errors, result["error"])(f"in the two steps of the probe: {result['text']}")
        files = sum(file.stat().st_size for file in (path / "probe" / "rollouts").iterdir())
    return Probe(
        setup_s=result["setup_s"],
        step_s=tuple(result["step_s"]),
        sampled_s=tuple(result["sampled_s"]),
        generated=tuple(result["generated"]),
        save_s=result["save_s"],
        peak=result["peak"],
        rollouts=files,
    )


class Clock(Watcher):
    """Notes when a run's phases were last told of, and the rows of its steps."""

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()
        self.phase = "setup"
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.rows: list[dict[str, Any]] = []

    def progress(self, phase: str, done: int, total: int) -> None:
        now = time.perf_counter()
        self.seconds[self.phase] += now - self.last
        self.last, self.phase = now, "setup" if phase == "check prompts" else phase

    def stepped(self, record: dict[str, Any], steps: int) -> None:
        self.rows.append(record)


def main(config: Path, result: Path) -> None:
    """Run the configuration of one file, and write to another what it took."""
    clock = Clock()
    from strop.config.load import load
    from strop.loop import run_training

    try:
        settings = load(mapping=json.loads(config.read_text()))
        run_training(settings, clock)
    except StropError as error:
        known = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in vars(errors))
        result.write_text(json.dumps({"error": known, "text": str(error)}))
        return
    found = {
        "setup_s": clock.seconds["setup"],
        "step_s": [row["time/step"] for row in clock.rows],
        "sampled_s": [row["time/sample"] for row in clock.rows],
        "generated": [row["groups/generated"] * settings.rollout.completions for row in clock.rows],
        "save_s": clock.seconds["save"],
        "peak": resident("VmHWM"),
    }
    result.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
