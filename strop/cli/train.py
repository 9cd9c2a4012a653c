"""strop train: one run, shown while it goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strop.errors import ConfigError

if TYPE_CHECKING:
    from strop.config import Config

INTERRUPTED = 130
"""The exit code of a run that Ctrl-C ended."""


def train(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="CONFIG.yaml|--KEY VALUE")] = None,
) -> int:
    """Train a policy. Without any argument: the embedded policy on its own task, minutes on a CPU.

    Settings come from YAML files, or an earlier run's folder, and dotted flags such as --rollout.prompts 8; later ones
    win. `strop config` takes the same arguments and shows what they add up to.
    """
    from strop.config.load import load
    from strop.config.reader import split_arguments

    config = load(*split_arguments(arguments or []))
    refuse_taken_name(config)

    from strop.cli.screen import Screen
    from strop.loop import run_training

    with Screen(seed=config.seed) as screen:
        run = run_training(config, screen)
    return INTERRUPTED if run.interrupted else 0


def refuse_taken_name(config: Config) -> None:
    """ConfigError if the run's name is taken: said before the model loads."""
    folder = Path(config.runs) / config.run
    if config.run and folder.exists():
        raise ConfigError(f"run: {folder} is there already; choose another name with --run NAME")
