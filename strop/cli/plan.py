"""strop plan: what a run will ask of the machine, before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from strop.cli.lines import duration
from strop.cli.tables import make_console, print_json, say, table
from strop.errors import DoesNotFit

if TYPE_CHECKING:
    from rich.console import Console

    from strop.plan.memory import Side
    from strop.plan.plan import Plan


def plan(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="CONFIG.yaml|--KEY VALUE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Leave out the two steps, and with them time.")] = False,
) -> int:
    """What a run will take: batches, memory, disk, and after two steps of it, time. Exit code 3 if it cannot fit.

    Takes what `strop train` takes. No weights are loaded before it is known that they fit.
    """
    from strop.config.load import load
    from strop.config.reader import split_arguments
    from strop.plan.plan import make, probed
    from strop.plan.probe import probe

    config = load(*split_arguments(arguments or []))
    console = make_console()
    made = make(config)
    if not json:
        show(console, made)
    if not made.refusal and not no_probe:
        if not json:
            say(console, "two steps of the run, for its time ...", "dim")
        made = probed(made, probe(config))
    if json:
        print_json(made.record())
    elif not made.refusal:
        show_end(console, made)
    if made.refusal:
        raise DoesNotFit(made.refusal)
    return 0


def show(console: Console, made: Plan) -> None:
    """Print the counts, the memory by part and phase, and the disk."""
    for warning in made.warnings:
        say(console, f"warning: {warning}", "yellow")
    say(console, "batch", "bold")
    table(console, batch_rows(made), indent=2)
    for side in made.memory:
        say(console)
        say(console, f"{side.name}, in MiB", "bold")
        table(console, memory_rows(side), indent=2)
    say(console)
    say(console, "disk", "bold")
    table(console, disk_rows(made), indent=2)
    say(console)


def batch_rows(made: Plan) -> list[tuple[str, str]]:
    """The counts in words."""
    counts, lengths, config = made.counts, made.lengths, made.config
    of = f"all {lengths.listed}" if lengths.looked_at > lengths.listed > 0 else f"of {lengths.looked_at} looked at"
    return [
        ("prompts", f"at most {lengths.longest} tokens, {lengths.mean:.1f} on average, {of}"),
        (
            "step",
            f"{counts.groups} groups of {config.rollout.completions} = {counts.completions} completions, at most "
            f"{counts.tokens} tokens of them; to get these, up to {counts.most_groups} groups are drawn",
        ),
        (
            "update",
            f"{counts.updates} in a step, each of {counts.sequences} sequences, at most {counts.longest} tokens long; "
            f"then in {many(counts.micro_batches, 'micro-batch')} of {counts.rows}",
        ),
        (
            "run",
            f"{many(config.train.steps, 'step')}, {counts.evaluations} evaluations of {counts.evaluated} completions, "
            f"{many(counts.checkpoints, 'checkpoint')}",
        ),
    ]


def many(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}{'es' if thing.endswith('h') else 's'}"


def memory_rows(side: Side) -> list[list[str]]:
    """A row for each part, a column for each phase; then what they come to, and what is free."""
    from strop.plan.memory import PHASES

    def row(name: str, sizes: Sequence[int]) -> list[str]:
        return [name, *(f"{size / 2**20:,.1f}" if size else "" for size in sizes)]

    rows = [row(part.name, [part.size if phase in part.phases else 0 for phase in PHASES]) for part in side.parts]
    rows.append(row("together", [side.of(phase) for phase in PHASES]))
    rows.append(row("free now", [side.free] * len(PHASES)))
    rows.insert(0, ["", *PHASES])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[name, *map(str.rjust, cells, widths[1:])] for name, *cells in rows]


def disk_rows(made: Plan) -> list[tuple[str, str]]:
    """Checkpoints and rollouts."""
    from strop.plan.plan import shown

    disk = made.disk
    return [
        ("checkpoints", f"{shown(disk.checkpoint)} each, at most {disk.checkpoints} at once"),
        ("rollouts", f"{shown(disk.rollouts)} a step, more where more groups are drawn; {disk.steps} steps"),
        ("together", f"{shown(disk.needed)}; {shown(disk.free)} are free where {made.config.runs} is"),
    ]


def show_end(console: Console, made: Plan) -> None:
    """Print the time, if two steps were taken, and the verdict."""
    from strop.plan.plan import most_rows, most_tokens, shown

    side = made.memory[0]
    if (time := made.time) and (probe := made.probe):
        groups = sum(probe.generated) / len(probe.generated) / made.config.rollout.completions
        rows = [
            ("a step", f"{' and '.join(duration(each) for each in probe.step_s)}; {groups:g} groups drawn on average"),
            ("steps", duration(time.steps)),
            ("evaluations", duration(time.evaluations)),
            ("checkpoints", duration(time.saves)),
            ("together", f"{duration(time.low)} to {duration(time.high)}"),
            ("memory then", f"{shown(probe.peak)} at most, of {shown(side.peak)} reckoned above"),
        ]
        say(console, "time", "bold")
        table(console, rows, indent=2)
        say(console)
    room = f"about rollout.rows {most_rows(made)} or train.tokens_per_micro_batch {most_tokens(made)} would too"
    say(console, f"fits: {shown(side.peak)} of {shown(side.free)} {side.name} while {side.peak_phase}; {room}", "bold")
