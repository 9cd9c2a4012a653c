"""strop init: a commented configuration to begin with, beside what it needs: a small data file, a reward."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest

RECIPES = {
    "math": "math answers, compared exactly and by math-verify",
    "code": "programs against tests, in bubblewrap",
    "jsonl": "your own prompts in a JSONL file, your own reward in Python",
    "real-model": "two steps on a real 135M-parameter model, on a CPU",
}
STORED = ".txt"
"""What a Python file of a recipe ends with inside the package, where it is text and no code of strop."""


def init(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Where to write: here, if left out.")] = ".",
    recipe: Annotated[str, typer.Option("--recipe", help=f"One of {', '.join(RECIPES)}.")] = "",
) -> None:
    """Write a commented starter configuration, with what it needs beside it. Nothing is ever overwritten."""
    if recipe not in RECIPES:
        known = "; ".join(f"{name}: {text}" for name, text in RECIPES.items())
        wrong = f"there is no recipe {recipe!r}" if recipe else "say which: --recipe NAME"
        raise ConfigError(f"{wrong}{did_you_mean(nearest(recipe, RECIPES))}. Recipes are {known}")
    written = write(recipe, Path(folder))
    report(written, Path(folder))


def files_of(recipe: str) -> dict[str, Traversable]:
    """The files of a recipe by the name they are written under, its configuration first."""
    found = resources.files("strop.assets") / "starters" / recipe
    names = {entry.name.removesuffix(STORED): entry for entry in found.iterdir() if entry.is_file()}
    return {name: names[name] for name in sorted(names, key=lambda name: (name != "config.yaml", name))}


def write(recipe: str, folder: Path) -> list[Path]:
    """Write a recipe's files; -> their paths.

    Raises:
        ConfigError: one of them is there already, or the folder cannot be made; nothing is written then.
    """
    files = files_of(recipe)
    taken = [folder / name for name in files if (folder / name).exists()]
    if taken:
        raise ConfigError(f"{taken[0]} is there already, and is left as it is; choose another folder: strop init DIR")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, entry in files.items():
            (folder / name).write_bytes(entry.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot write into {folder}: {error.strerror or error}") from error
    return [folder / name for name in files]


def report(written: list[Path], folder: Path) -> None:
    """Say what was written, and what to type next: the commands at the head of the configuration."""
    from strop.cli.tables import make_console, say

    console = make_console()
    for path in written:
        say(console, f"wrote {path}")
    config = written[0].read_text("utf-8").splitlines()
    say(console)
    say(console, "Next:", "bold")
    if folder != Path():
        say(console, f"  cd {folder}")
    for line in config:
        if line.startswith("#   "):
            say(console, f"  {line.removeprefix('#   ')}")
