"""strop eval: how good a model, a checkpoint or a run is on held-out prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.errors import ConfigError

if TYPE_CHECKING:
    from strop.config import Config
    from strop.evaluate import Evaluation


def evaluate(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="MODEL_OR_RUN|CONFIG.yaml|--KEY VALUE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Measure avg@k, pass@k, maj@k and greedy accuracy on held-out prompts.

    A run is evaluated at its newest checkpoint, with the run's own settings. A model needs a task: its own, or one
    from a CONFIG.yaml or flags. Several are shown side by side.
    """
    targets = targets_of(arguments or [])
    results: dict[str, Evaluation] = {}
    for name, config in targets.items():
        results[name] = measured(config, quiet=json)
    if json:
        from strop.cli.tables import print_json

        print_json([{"model": name, **result.record()} for name, result in results.items()])
        return
    show(results)


def measured(config: Config, *, quiet: bool) -> Evaluation:
    from strop.cli.screen import Screen
    from strop.evaluate import evaluate_model
    from strop.watch import Watcher

    if quiet:
        return evaluate_model(config, Watcher())
    with Screen() as screen:
        return evaluate_model(config, screen)


def show(results: dict[str, Any]) -> None:
    from strop.cli.lines import evaluation_rows
    from strop.cli.tables import make_console, say, table

    console = make_console()
    first = next(iter(results.values()))
    table(console, evaluation_rows(results), heads=["", *results])
    say(console, f"{first.n} held-out prompts, {first.k} completions each; 95% intervals over prompts", "dim")


def targets_of(arguments: list[str]) -> dict[str, Config]:
    """What to evaluate -> the configuration to do it with; its `model` is the folder or id to load."""
    from strop.config.load import SUFFIXES, load
    from strop.config.reader import split_arguments

    names, flags = split_arguments(arguments)
    files = [name for name in names if Path(name).suffix.lower() in SUFFIXES]
    targets = [name for name in names if name not in files]
    if not targets:
        raise ConfigError("eval needs a model or a run: strop eval MODEL_OR_RUN")
    found: dict[str, Config] = {}
    for target in targets:
        model, run = located(target)
        found[target] = load([*run, *files], [*flags, ("model", model)])
    return found


def located(target: str) -> tuple[str, list[str]]:
    """The weights that a name means, and the run whose settings they are measured with, if it is or is in a run."""
    folder = Path(target)
    if not folder.is_dir():
        return target, []
    if (folder / "checkpoints").is_dir():
        return str(saved(folder)), [target]
    run = folder.resolve().parent.parent
    inside = folder.resolve().parent.name == "checkpoints" and (run / "config.yaml").is_file()
    return target, [str(run)] if inside else []


def saved(run: Path) -> Path:
    """The newest checkpoint of a run; ConfigError if it has saved none."""
    from strop.config.folders import newest_checkpoint
    from strop.names import did_you_mean, nearest

    found = newest_checkpoint(run)
    if found:
        return found
    others = [entry.name for entry in run.parent.iterdir() if (entry / "checkpoints").is_dir() and entry != run]
    raise ConfigError(f"run {run} has saved no checkpoint yet{did_you_mean(nearest(run.name, others))}")
