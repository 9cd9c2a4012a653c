"""strop algorithms: the table of rows."""

from __future__ import annotations

from typing import Annotated

import typer

from strop.cli.tables import make_console, print_json, say, table

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def algorithms(json: Json = False) -> None:
    """List the algorithms: every row with its five choices."""
    from strop.algorithms import ROWS
    from strop.cli.formula import CHOICES, name_of, plain_row

    if json:
        print_json([plain_row(row) for row in ROWS.values()])
        return
    console = make_console()
    shown = [choice for choice in CHOICES if choice != "correction"]  # which no row has: it is asked for
    rows = [[name, *(name_of(getattr(row, choice)) for choice in shown)] for name, row in ROWS.items()]
    table(console, rows, heads=["row", *shown])
    say(console)
    say(console, "strop explain ROW prints a row's formula, source and code. Every choice can be exchanged:")
    say(
        console,
        "strop train --algorithm dapo --objective.aggregation prompt --objective.trust '{kind: clip, high: 0.3}'",
    )
