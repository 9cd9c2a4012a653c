"""Two programs timed in turn, A B A B, and the ratio of their times with its spread."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

T95 = {5: 2.776, 7: 2.447, 9: 2.306, 11: 2.228, 15: 2.145}
"""Student's t for a 95% interval of the mean of n pairs."""


@dataclass(frozen=True, slots=True)
class Result:
    """A ratio of times with its 95% interval over n pairs; met only if the whole interval clears the target."""

    name: str
    ratio: float
    low: float
    high: float
    n: int
    better: Literal["higher", "lower"]
    target: float

    @property
    def met(self) -> bool:
        return self.high <= self.target if self.better == "lower" else self.low >= self.target

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def compared(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    target: float,
    n: int = 9,
    scale: float = 1.0,
    better: Literal["higher", "lower"] = "lower",
) -> Result:
    """time(ours) / time(theirs) * scale over n pairs, after one untimed pair. `scale`: theirs did so large a part."""
    ours()
    theirs()
    ratios = []
    for _ in range(n):
        mine = seconds(ours)
        ratios.append(scale * mine / seconds(theirs))
    mean = statistics.fmean(ratios)
    half = T95[n] * statistics.stdev(ratios) / n**0.5
    return Result(name, mean, mean - half, mean + half, n, better, target)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def told(results: Sequence[Result], name: str) -> bool:
    """Print the results and write them to results/NAME-DATE.json; -> whether every target was met."""
    for one in results:
        word = "met" if one.met else "MISSED"
        print(f"{one.ratio:10.5f} [{one.low:.5f}, {one.high:.5f}]  target {one.target:g}  {word:6}  {one.name}")
    file = Path(__file__).parent / "results" / f"{name}-{time.strftime('%Y-%m-%d')}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps([one.record() for one in results], indent=2) + "\n")
    print(f"written to {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")
    return all(one.met for one in results)
