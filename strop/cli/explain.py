"""strop explain ROW: a row's formula, where it comes from, and the code of its five parts in the order they run."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.cli.tables import make_console, print_json, say
from strop.errors import ConfigError

if TYPE_CHECKING:
    from strop.algorithms import Algorithm


def explain(
    row: Annotated[str, typer.Argument(help="A row of `strop algorithms`.")],
    changes: Annotated[list[str] | None, typer.Argument(metavar="--objective.KEY VALUE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Print a row, its formula, and the source code of its five parts in the order they run."""
    from strop.cli.formula import formula, plain_row

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
    """Choice, name, file, line and source of each part, in the order they run."""
    from strop.cli.formula import CHOICES, name_of

    found: list[dict[str, Any]] = []
    for choice in CHOICES:
        value = getattr(row, choice)
        for one in value if isinstance(value, tuple) else (value,):
            lines, line = inspect.getsourcelines(type(one))
            file = Path(inspect.getfile(type(one)))
            where = "/".join(file.parts[-3:])
            record = {"choice": choice, "name": name_of(one), "file": where, "line": line, "source": "".join(lines)}
            found.append(record)
    return found
