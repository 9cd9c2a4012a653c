"""What `strop train` and `strop eval` show while they run: bars with the time left, or plain lines off a terminal.

Off a terminal there is one line a step, and one every ten seconds inside a phase that takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from strop.cli.lines import duration, estimate, evaluation_rows, gain_line, ledger_line, sample_lines, step_line
from strop.cli.tables import make_console, say, table
from strop.config.folders import newest_checkpoint
from strop.types import Group
from strop.watch import Watcher

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from strop.evaluate import Evaluation

QUIET_S = 10.0
"""The longest silence off a terminal."""
RECENT = 10
"""Steps that the time left is reckoned from."""
SHOWINGS = 6
"""Times in a run that a few completions are printed."""


class Screen(Watcher):
    """Prints a run. Use it as a context, so that the bars are taken away whatever happens.

    `seed` is the run's: training on from its weights is suggested with the next one, which draws other prompts.
    """

    def __init__(
        self, console: Console | None = None, *, seed: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.console = console or make_console()
        self.seed = seed
        self.clock = clock
        self.bars = Bars(self.console) if self.console.is_terminal else Notes(self.console, clock)
        self.times = [clock()]
        self.groups: Sequence[Group] = ()
        self.results: dict[str, Evaluation] = {}

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()

    def started(self, folder: Path, facts: dict[str, str]) -> None:
        table(self.console, [*facts.items(), ("folder", str(folder))])
        say(self.console, "Ctrl-C ends the run at a whole step, with what was learned saved.", "dim")
        self.times = [self.clock()]

    def progress(self, phase: str, done: int, total: int) -> None:
        self.bars.phase(phase, done, total)

    def evaluated(self, name: str, result: Evaluation) -> None:
        self.results[name] = result
        text = f"{name}: avg@{result.k} {estimate(result.avg)}  greedy {estimate(result.greedy)}  on {result.n} prompts"
        self.line(text, "bold")
        self.times = [self.clock()] if name == "before" else self.times

    def sampled(self, groups: Sequence[Group]) -> None:
        self.groups = groups

    def stepped(self, record: dict[str, Any], steps: int) -> None:
        self.times = [*self.times[-RECENT:], self.clock()]
        step = record["step"]
        pace = (self.times[-1] - self.times[0]) / (len(self.times) - 1)
        left = pace * (steps - step)
        self.line(step_line(record, steps, left if step < steps else None))
        if step == 1 or step % max(1, steps // SHOWINGS) == 0:
            for line in sample_lines(self.groups):
                self.line(f"    {line}", "dim")
        self.bars.run(step, steps, left)

    def warned(self, text: str) -> None:
        self.line(f"warning: {text}", "yellow")

    def finished(self, folder: Path, summary: dict[str, Any]) -> None:
        self.bars.stop()
        say(self.console)
        compared = {name: result for name, result in self.results.items() if name in ("before", "after")}
        if compared:
            table(self.console, evaluation_rows(compared), heads=["", *compared])
            say(self.console)
        saved = newest_checkpoint(folder)
        rows = [
            ("verdict", gain_line(summary)),
            ("ledger", ledger_line(summary["ledger"])),
            ("steps", f"{summary['steps']} in {duration(summary['seconds'])}, evaluations included"),
            ("folder", str(folder)),
            *([("saved", str(saved))] if saved else []),
            *[("curves", str(path)) for path in sorted((folder / "plots").glob("*.png"))],
            ("next", f"strop eval {folder}"),
            ("", f"strop config {folder}"),
            *([("", f"strop train {folder} --model {saved} --seed {self.seed + 1}")] if saved else []),
        ]
        table(self.console, rows)

    def line(self, text: str, style: str = "") -> None:
        say(self.console, text, style)
        self.bars.spoke()


class Bars:
    """Two bars at the foot of a terminal: the phase that is under way, and the run."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress: Progress | None = None
        self.tasks: dict[str, Any] = {}

    def phase(self, phase: str, done: int, total: int) -> None:
        progress = self._started()
        if self.tasks.get("name") != phase or done < self.tasks.get("done", 0):
            progress.reset(self.tasks["phase"], description=phase, total=total)
        progress.update(self.tasks["phase"], completed=done, total=total)
        self.tasks |= {"name": phase, "done": done}

    def run(self, step: int, steps: int, left: float) -> None:
        progress = self._started()
        progress.update(self.tasks["run"], completed=step, total=steps, visible=True, left=f"{duration(left)} left")

    def spoke(self) -> None:
        """A line was printed: the bars need nothing."""

    def stop(self) -> None:
        if self.progress is not None:
            self.progress.stop()
            self.progress = None

    def _started(self) -> Progress:
        if self.progress is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description:>12}", markup=False), BarColumn(), MofNCompleteColumn())
            left = TextColumn("{task.fields[left]}", markup=False)
            self.progress = Progress(
                *columns, TimeRemainingColumn(compact=True), left, console=self.console, transient=True
            )
            self.tasks = {
                "phase": self.progress.add_task("", total=None, left=""),
                "run": self.progress.add_task("run", total=None, visible=False, left=""),
            }
            self.progress.start()
        return self.progress


class Notes:
    """The same for a file or a pipe: a line every ten seconds of a phase that lasts that long."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self.console = console
        self.clock = clock
        self.last = clock()
        self.began = self.last
        self.name = ""
        self.done = 0

    def phase(self, phase: str, done: int, total: int) -> None:
        now = self.clock()
        if phase != self.name or done < self.done:
            self.name, self.began = phase, now
        self.done = done
        if now - self.last < QUIET_S or done >= total:
            return
        left = (now - self.began) / done * (total - done) if done else 0.0
        say(self.console, f"  {phase} {done}/{total}" + (f", about {duration(left)} left" if left else ""))
        self.last = now

    def run(self, step: int, steps: int, left: float) -> None:
        """The line of a step has said it."""

    def spoke(self) -> None:
        self.last = self.clock()

    def stop(self) -> None:
        """Nothing is drawn, so nothing is taken away."""
