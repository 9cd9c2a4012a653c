"""What a sandbox costs: starting a program in one, beside starting it bare, and beside the 50 ms that it may take.

python -m benchmarks.sandbox        prints a table and writes benchmarks/results/sandbox-HARDWARE-DATE.json
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time

from benchmarks.measure import Result, compared, seconds, told
from strop.rewards.code_cases import Inputs
from strop.rewards.code_judge import judge
from strop.rewards.sandbox import Kind, Limits, require, start
from strop.rewards.sandbox_view import python

ALLOWED_S = 0.05
STARTS = 15
CASES = 20
PROGRAM = "print(sum(map(int, input().split())))"


def launch(kind: Kind) -> None:
    """Start a sandbox until it is ready for its program, and end it."""
    start(PROGRAM, kind, limits=Limits(), until=time.monotonic() + 30).close()


def launched() -> Result:
    """Issue: a launch takes at most 50 ms, in the median of so many; the interval is that of its quartiles."""
    launch("auto")
    times = sorted(seconds(lambda: launch("auto")) for _ in range(STARTS))
    low, middle, high = (value / ALLOWED_S for value in statistics.quantiles(times, n=4))
    return Result(
        f"launch of a sandbox / {ALLOWED_S * 1000:.0f} ms (quartiles)", middle, low, high, STARTS, "lower", 1.0
    )


def beside_bare() -> Result:
    """The sandbox beside the same Python started without one."""
    return compared(
        "launch of a sandbox / launch of the same without one",
        lambda: launch("auto"),
        lambda: launch("unsafe"),
        target=3.0,
    )


def cases() -> Result:
    """A program's many inputs in one sandbox, beside a bare Python started for each."""
    pairs = tuple((f"{n} {n}\n", str(2 * n)) for n in range(CASES))

    def ours() -> None:
        judged = judge(PROGRAM, Inputs(pairs), kind="auto", seconds=60)
        if not judged.right:
            raise SystemExit(f"the program is right, and {judged} says otherwise")

    def theirs() -> None:
        for given, _ in pairs:
            subprocess.run([python(), "-S", "-c", PROGRAM], input=given.encode(), capture_output=True, check=True)  # noqa: S603

    return compared(f"{CASES} inputs in a sandbox / {CASES} bare processes", ours, theirs, target=1.5)


def hardware() -> str:
    return f"{platform.machine()}-{os.cpu_count()}-cores"


def main() -> None:
    require("auto")
    results = [launched(), beside_bare(), cases()]
    sys.exit(not told(results, f"sandbox-{hardware()}"))


if __name__ == "__main__":
    main()
