"""strop explain ROW: a row's formula, where it comes from, and the code of its parts in the order they run.

Under each part stand the functions that it computes with, each once, so that the page is the whole calculation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.cli.tables import make_console, print_json, say
from strop.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from strop.algorithms import Algorithm


def explain(
    row: Annotated[str, typer.Argument(help="A row of `strop algorithms`.")] = "",
    changes: Annotated[list[str] | None, typer.Argument(metavar="--objective.KEY VALUE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
    from_trl: Annotated[str, typer.Option("--from-trl", help="GRPOConfig settings: JSON, YAML or a file.")] = "",
    from_verl: Annotated[str, typer.Option("--from-verl", help="verl settings: JSON, YAML or a file.")] = "",
) -> None:
    """Print a row, its formula, and the source code of its parts in the order they run.

    With --from-trl or --from-verl instead: what that configuration computes, in words and as a row.
    """
    from strop.cli.formula import formula, plain_row
    from strop.cli.translate import explain_foreign

    if explain_foreign({"trl": from_trl, "verl": from_verl}, row, json):
        return
    chosen = changed(row, changes or [])
    if json:
        print_json({**plain_row(chosen), "formula": formula(chosen), "code": parts(chosen)})
        return
    console = make_console()
    say(console, f"{chosen.name}: {chosen.summary}", "bold")
    say(console)
    for line in formula(chosen):
        say(console, f"  {line}")
    say(console)
    say(console, f"source      {chosen.source}")
    for deviation in chosen.deviations:
        say(console, f"deviation   {deviation}")
    say(console, f"reads       logp, {', '.join(sorted(chosen.reads))}")
    for part in parts(chosen):
        say(console)
        say(console, f"{part['choice']}: {part['name']}   {part['file']}:{part['line']}", "bold")
        _print_source(console, part)
        for helper in part["helpers"]:
            say(console)
            say(console, f"  with {helper['name']}   {helper['file']}:{helper['line']}", "bold")
            _print_source(console, helper)


def _print_source(console: Console, part: dict[str, Any]) -> None:
    for line in part["source"].splitlines():
        say(console, f"  {line}")


def changed(name: str, changes: list[str]) -> Algorithm:
    """The row with the choices of `--objective.*` flags in the place of its own."""
    from strop.algorithms import algorithm
    from strop.config.reader import read_flags, split_arguments

    paths, flags = split_arguments(changes)
    if paths:
        raise ConfigError(f"explain takes one row; {paths[0]!r} is one too many")
    other = [key for key, _ in flags if not key.startswith("objective.")]
    if other:
        raise ConfigError(f"--{other[0]}: explain takes --objective.* only")
    choices = {key.removeprefix("objective."): setting.value for key, setting in read_flags(flags).items()}
    return algorithm(name, **choices)


def parts(row: Algorithm) -> list[dict[str, Any]]:
    """Choice, name, file, line and source of each part, in the order they run, and its `helpers`.

    A helper is a function that the part computes with; one that several parts share stands under the first.
    """
    from strop.cli.code import helpers, listing
    from strop.cli.formula import CHOICES, members, name_of

    found: list[dict[str, Any]] = []
    shown: list[Any] = []
    for choice in CHOICES:
        for one in members(getattr(row, choice)):
            new = [helper for helper in helpers(one) if helper not in shown]
            shown += new
            code = {**listing(type(one)), "name": name_of(one), "helpers": [listing(helper) for helper in new]}
            found.append({"choice": choice, **code})
    return found
