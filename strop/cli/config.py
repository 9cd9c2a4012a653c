"""strop config: every value of a configuration and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.cli.tables import make_console, print_json, say, table

if TYPE_CHECKING:
    from strop.config import Config


def show(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="CONFIG.yaml|--KEY VALUE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Print every resolved value with its source: default, row, the model's own, a file's line, or a flag."""
    from strop.config.load import load
    from strop.config.reader import split_arguments

    config = load(*split_arguments(arguments or []))
    if json:
        record = {key: {"value": _value(config, key), "source": source} for key, source in config.sources.items()}
        print_json({"keys": record, "warnings": list(config.warnings)})
        return
    console = make_console()
    rows = [[key, _text(config, key), source] for key, source in config.sources.items()]
    table(console, rows, heads=["key", "value", "source"])
    for warning in config.warnings:
        say(console, f"warning: {warning}", "yellow")


def _value(config: Config, key: str) -> Any:
    """The value that counts: where it was left to the row, the row's."""
    from strop.cli.formula import plain_choice

    if config.sources[key] != "row":
        return config.value(key)
    if key == "objective.length":
        return getattr(config.row.aggregation, "length", 0)
    return plain_choice(getattr(config.row, key.removeprefix("objective.")))


def _text(config: Config, key: str) -> str:
    from strop.cli.formula import name_of
    from strop.config.writer import scalar

    if key == "objective.length" or not key.startswith("objective."):
        return scalar(_value(config, key))
    return name_of(getattr(config.row, key.removeprefix("objective.")))
