"""strop reward: whether a reward does what a run needs, found out before the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli.tables import make_console, print_json, say, table
from strop.errors import ConfigError, RewardError

if TYPE_CHECKING:
    from collections.abc import Callable

    from strop.config import Config
    from strop.rewards.trial import Line, Report

USAGE = "strop reward test FUNC DATA, such as strop reward test mine.py:score train.jsonl"
HEADS = ("completion", "must score", "n", "right", "scores", "failed", "unlike")
MUST = {"right": "right", "wrong": "wrong", "any": ""}
MADE = 100
"""Prompts that are taken from a task which makes them up."""


def reward(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="test FUNC DATA [CONFIG.yaml|--task.KEY VALUE]")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    bonus: Annotated[bool, typer.Option("--bonus", help="It is no accuracy: right and wrong may score alike.")] = False,
) -> int:
    """Try a reward on the data's own answers, on wrong, empty, huge and hostile ones, each twice.

    FUNC is file.py:function, module.function or a built-in such as math; DATA is a file, a dataset folder or a hub id.
    It runs in the processes that training would use. Exit code 0 only if nothing is wrong, else 5.
    """
    report = tried(configuration(arguments or []), bonus=bonus, quiet=json)
    if json:
        print_json(report.record())
    else:
        show(report)
    return 0 if report.ok else RewardError.exit_code


def configuration(arguments: list[str]) -> Config:
    """The configuration of a run that would train on DATA with FUNC.

    Raises:
        ConfigError: one of them is missing, or a flag is wrong.
    """
    from strop.config.load import SUFFIXES, load
    from strop.config.reader import split_arguments

    paths, flags = split_arguments(arguments)
    files = [path for path in paths if path.lower().endswith(SUFFIXES)]
    names = [path for path in paths if path not in files]
    if not names or names[0] != "test":
        raise ConfigError(f"strop reward has one thing to do: {USAGE}")
    _, *rest = names
    if len(rest) != 2 and not (len(rest) == 1 and files):
        raise ConfigError(f"strop reward test takes a reward and the data it is for: {USAGE}")
    given = dict(zip(("task.reward", "task.file"), rest, strict=False))
    return load(files, [*given.items(), *flags])


def tried(config: Config, *, bonus: bool, quiet: bool) -> Report:
    """The report of a trial. What it goes through is shown unless `quiet`."""
    from strop.rewards.trial import Trial
    from strop.tasks.find import find_task

    task = find_task(config.task, seed=config.seed)
    scorer = getattr(task, "scorer", None)
    if scorer is None:
        task.close()
        raise ConfigError(f"task.kind: a reward is tried on rows of one source, and this task is {config.task.kind}")
    try:
        prompts = task.known() or [task.prompt(draw) for draw in range(MADE)]
        return Trial(scorer, solved=config.task.solved, bonus=bonus).run(prompts, silent if quiet else counted())
    finally:
        task.close()


def silent(done: int, total: int) -> None: ...


def counted() -> Callable[[int, int], None]:
    """A line that counts the rows, on a terminal."""
    console = make_console()

    def tick(done: int, total: int) -> None:
        if console.is_terminal:
            console.print(f"\rtried {done} of {total}", end="" if done < total else "\r")

    return tick


def show(report: Report) -> None:
    """Print what every kind of completion scored, what is wrong, and what it comes to."""
    console = make_console()
    say(console, f"{report.reward} on {report.rows} rows, every completion twice", "bold")
    table(console, list(map(row, report.lines)), heads=HEADS)
    say(console)
    say(console, f"About {report.per_second:,.0f} completions a second.")
    for note in report.notes:
        say(console, note)
    say(console)
    for number, problem in enumerate(report.problems, start=1):
        say(console, f"{number}. {problem}", "red")
    say(console, verdict(report), "bold")


def row(line: Line) -> tuple[str, ...]:
    scored = line.n > line.failed
    reach = f"{line.lowest:g}" if scored and line.lowest == line.highest else f"{line.lowest:g} to {line.highest:g}"
    counts = (str(line.failed or ""), str(line.unlike or ""))
    return line.kind, MUST[line.must], str(line.n), f"{line.share:.0%}", reach if scored else "", *counts


def verdict(report: Report) -> str:
    if report.ok:
        return "Nothing is wrong with it."
    count = len(report.problems)
    return f"{count} things are wrong with it; put them right first." if count > 1 else "Put that right first."
