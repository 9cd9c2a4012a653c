"""strop check: whether every layout of a batch gives the gradient and the metrics of the formula."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli.tables import make_console, print_json, say, table
from strop.errors import ConfigError, StropError

if TYPE_CHECKING:
    from strop.bridges.against import Row
    from strop.check.compare import Line
    from strop.check.gradient import Report
    from strop.config import Config

CHECKS = ("gradient",)
SHOWN = 20
"""Failing lines that are printed; --json lists them all."""
HEADS = ("layout", "runs", "gradient error", "worst parameter", "in row", "metric error", "worst metric", "verdict")
PEER_HEADS = ("loss", "layout", "is", "gradient error", "cosine", "norm ratio", "")


def check(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[gradient] [CONFIG.yaml|--KEY VALUE]")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    layouts: Annotated[bool, typer.Option("--layouts", help="Print every layout, not only kinds of them.")] = False,
    against: Annotated[str, typer.Option("--against", help="Run a peer's own loss code instead: trl or verl.")] = "",
) -> int:
    """Prove that no layout of a batch changes its gradient or its metrics; exit code 0 only if all hold.

    Without a configuration: every row of the table on a hard made batch, in one process and over ranks. With one, or
    with flags: a small batch of your own run, your model, your data, your row.
    """
    names = [name for name in arguments or [] if name not in CHECKS]
    if against:
        return compared(against, names, json=json)
    config = configuration(names)
    report = measured(config, quiet=json)
    if json:
        print_json(report.record())
    else:
        show(report, every=layouts)
    return 0 if report.ok else StropError.exit_code


def configuration(names: list[str]) -> Config | None:
    """The configuration that files and flags add up to; None where there are none."""
    from strop.config.load import SUFFIXES, load
    from strop.config.reader import split_arguments

    paths, flags = split_arguments(names)
    for path in paths:
        if not path.lower().endswith(SUFFIXES) and "/" not in path and not Path(path).exists():
            raise ConfigError(f"there is no check {path!r}, nor a run of that name; strop check has {CHECKS[0]}")
    return load(paths, flags) if names else None


def measured(config: Config | None, *, quiet: bool) -> Report:
    """Run the check, shown while it goes."""
    from strop.check.gradient import plan
    from strop.cli.screen import Screen
    from strop.watch import Watcher

    if quiet:
        return plan(config, Watcher()).run(Watcher())
    with Screen() as screen:
        for warning in config.warnings if config else ():
            screen.warned(warning)
        planned = plan(config, screen)
        table(screen.console, list(planned.facts.items()))
        return planned.run(screen)


def show(report: Report, *, every: bool) -> None:
    """Print the report: layouts, rows, how far the means lie apart, and what it comes to."""
    console = make_console()
    for dtype, lines in grouped(report.lines, lambda line: line.dtype).items():
        say(console)
        say(console, f"{dtype}: what is off by at most {lines[0].bound:.2g} holds", "bold")
        kinds = grouped(lines, (lambda line: f"{line.layout}{of_ranks(line)}") if every else kind)
        table(console, [layout_row(name, some) for name, some in kinds.items()], heads=HEADS)
    say(console)
    rows = grouped(report.lines, lambda line: line.row)
    dtypes = list(grouped(report.lines, lambda line: line.dtype))
    heads = ["row", *(head for dtype in dtypes for head in (dtype, "metrics")), "verdict"]
    table(console, [row_row(name, some, dtypes) for name, some in rows.items()], heads=heads)
    say(console)
    say(console, f"What another mean would have given on this batch, beside {report.means[0].row}'s own:", "bold")
    means = [(m.mean, f"{m.cosine:.4f}", f"{m.norm_ratio:.3f}") for m in report.means]
    table(console, means, heads=("mean", "cosine", "norm ratio"))
    say(console)
    for text in failures(report.lines):
        say(console, text, "red")
    say(console, verdict(report.lines), "bold")


def grouped(lines: Iterable[Line], name: Callable[[Line], str]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(name(line), []).append(line)
    return found


def kind(line: Line) -> str:
    """What a layout is one of: 'micro-batches', 'shuffled', '2 ranks, FSDP2'."""
    if line.ranks == 1:
        return re.split(r" of |, | \(", line.layout)[0]
    if line.layout.startswith("a rank without work"):
        return f"{line.ranks} ranks, one of them without work"
    return f"{line.ranks} ranks, {line.layout.rsplit(', ', 1)[-1]}"


def of_ranks(line: Line) -> str:
    return f", {line.ranks} ranks" if line.ranks > 1 else ""


def layout_row(name: str, lines: Sequence[Line]) -> list[str]:
    """The worst of what was run under one kind of layout."""
    gradient, metric = worst(lines)
    return [
        name,
        str(len(lines)),
        f"{gradient.errors.gradient_error:.1e}",
        gradient.errors.worst_parameter,
        gradient.row,
        f"{metric.errors.metric_error:.1e}",
        metric.errors.worst_metric,
        said(lines),
    ]


def row_row(name: str, lines: Sequence[Line], dtypes: Sequence[str]) -> list[str]:
    """The worst of a row in each dtype."""
    cells = [name]
    for dtype in dtypes:
        some = [line for line in lines if line.dtype == dtype]
        errors = [w.errors for w in worst(some)] if some else []
        cells += [f"{errors[0].gradient_error:.1e}", f"{errors[1].metric_error:.1e}"] if errors else ["-", "-"]
    return [*cells, said(lines)]


def worst(lines: Sequence[Line]) -> tuple[Line, Line]:
    """The line whose gradient is furthest off, and the one whose metrics are."""
    gradient = max(lines, key=lambda line: line.errors.gradient_error)
    return gradient, max(lines, key=lambda line: line.errors.metric_error)


def said(lines: Sequence[Line]) -> str:
    wrong = sum(not line.ok for line in lines)
    return f"{wrong} of {len(lines)} off" if wrong else "holds"


def failures(lines: Sequence[Line]) -> list[str]:
    """A sentence for each line that does not hold, the first SHOWN of them."""
    wrong = [line for line in lines if not line.ok]
    texts = [
        f"off: {line.row}, {line.layout}{of_ranks(line)}, {line.dtype}: gradient {line.errors.gradient_error:.1e} "
        f"({line.errors.worst_parameter}), metrics {line.errors.metric_error:.1e} ({line.errors.worst_metric})"
        for line in wrong[:SHOWN]
    ]
    return texts + ([f"... and {len(wrong) - SHOWN} more: --json lists them"] if len(wrong) > SHOWN else [])


def verdict(lines: Sequence[Line]) -> str:
    """One sentence: what was run, and whether it holds."""
    rows, layouts = len({line.row for line in lines}), len({(line.layout, line.ranks) for line in lines})
    ran = f"{len(lines)} runs of {rows} row{'s' if rows > 1 else ''} under {layouts} layouts"
    wrong = [line for line in lines if not line.ok]
    if not wrong:
        return f"All hold: {ran} gave the gradient and the metrics of the formula."
    names = list(dict.fromkeys(f"{line.layout}{of_ranks(line)}" for line in wrong))
    which = "; ".join(names[:SHOWN]) + ("; ..." if len(names) > SHOWN else "")
    return f"NOT right: {len(wrong)} of {ran} are off. Layouts: {which}"


def compared(peer: str, names: list[str], *, json: bool) -> int:
    """Print what a peer's own losses compute; -> 0: the report has no verdict."""
    if names:
        raise ConfigError(
            f"check --against compares a batch of its own; {names[0]!r} has no effect there, leave it out"
        )
    from strop.bridges.against import compare

    report = compare(peer)
    if json:
        print_json(report.as_json())
        return 0
    console = make_console()
    say(console, f"{report.peer} {report.version}: its own loss code, on one batch cut in several ways", "bold")
    table(console, [peer_row(row) for row in report.rows], heads=PEER_HEADS)
    notes: dict[str, list[str]] = {}
    for row in report.rows:
        if row.note and row.name not in notes.setdefault(row.note, []):
            notes[row.note].append(row.name)
    say(console)
    for note, losses in notes.items():
        say(console, f"{note}:")
        say(console, f"    {'; '.join(losses)}")
    return 0


def peer_row(row: Row) -> list[str]:
    numbers = [f"{row.gradient_error:.1e}", f"{row.cosine:.4f}", f"{row.norm_ratio:.3f}"]
    return [row.name, row.layout, row.agrees_with or "-", *numbers, "the same" if row.same else "differs"]
