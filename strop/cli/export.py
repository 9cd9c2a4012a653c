"""strop export: a run's model as a folder that transformers and vLLM open, with a card that says what it is."""

from __future__ import annotations

import json as jsonlib
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strop.errors import ConfigError

if TYPE_CHECKING:
    from strop.policy.export import Exported

FATES = ("generated", "trained", "all_right", "all_wrong", "errored", "dropped")


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or a checkpoint's.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder to write: new, or empty.")],
    step: Annotated[int, typer.Option("--step", help="The checkpoint of this step. Default: the newest.")] = 0,
    adapter: Annotated[bool, typer.Option("--adapter", help="Keep adapters apart, in PEFT's layout.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Write a run's model as a folder that `from_pretrained` and `vllm serve` open, with a model card.

    Adapters are merged into the model that they lie over, unless --adapter keeps them apart.
    """
    target = Path(folder)
    refuse_full(target)
    name, checkpoint = checkpoint_of(run, step)
    done = written(name, checkpoint, target, adapter=adapter)
    report(done, target, checkpoint, json=json)


def refuse_full(target: Path) -> None:
    """ConfigError if the folder to write is there and holds something."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"DIR: {target} is there already and not empty; name a new folder")
    if not target.absolute().parent.is_dir():
        raise ConfigError(f"DIR: there is no folder {target.absolute().parent} to write {target.name} into")


def checkpoint_of(run: str, step: int) -> tuple[str, Path]:
    """The name and the folder of the checkpoint that a run's or a checkpoint's folder means.

    Leave to run code of its own, `remote-code:FOLDER@HASH`, stays with the name.

    Raises:
        ConfigError: there is no such checkpoint.
    """
    from strop.cli.eval import saved
    from strop.config.folders import holds_model
    from strop.policy.name import CODE

    code = run.startswith(CODE)
    place, _, allowed = run.removeprefix(CODE).rpartition("@") if code else (run, "", "")
    folder = Path(place).expanduser()
    if not folder.is_dir():
        raise ConfigError(f"RUN: there is no folder {place}")
    if (folder / "checkpoints").is_dir():
        folder = folder / "checkpoints" / f"step-{step:06d}" if step else saved(folder)
    elif step:
        raise ConfigError(f"--step: {place} is no run; name the run, or leave --step out")
    if not holds_model(folder):
        kept = sorted(int(path.name[5:]) for path in folder.parent.glob("step-*") if holds_model(path))
        steps = f"; it keeps steps {', '.join(map(str, kept))}" if step and kept else ""
        raise ConfigError(f"RUN: {folder} holds no model{steps}")
    return (f"{CODE}{folder}@{allowed}" if code else str(folder)), folder


def written(name: str, checkpoint: Path, target: Path, *, adapter: bool) -> Exported:
    """Write the folder beside its place first: it appears whole or not at all."""
    from strop.policy.card import Card, render
    from strop.policy.export import export_model

    run = checkpoint.resolve().parent.parent
    known = facts(run, checkpoint) if (run / "config.yaml").is_file() else {}
    dtype = known.get("config", {}).get("train.dtype", "float32")
    temporary = target.with_name(f".tmp-{target.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        done = export_model(name, temporary, adapter=adapter, dtype=dtype)
        curves = run / "plots" / "curves.png"
        drawn = bool(known) and curves.is_file() and not curves.is_symlink()
        if drawn:
            shutil.copyfile(curves, temporary / curves.name)
        card = Card(done.kind, rounding=done.rounding, dtype=dtype, curves=drawn, **known)
        (temporary / "README.md").write_text(render(card), encoding="utf-8")
        temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return done


def facts(run: Path, checkpoint: Path) -> dict[str, Any]:
    """What a run's files tell a card about the step of a checkpoint. The settings are not checked again."""
    from strop.config.reader import read_file
    from strop.run.store import read_rows

    step = int(read(checkpoint / "state.json").get("step", 0))
    evaluations = read_rows(run / "evaluations.jsonl") if (run / "evaluations.jsonl").is_file() else []
    ledgers = read_rows(run / "ledger.jsonl") if (run / "ledger.jsonl").is_file() else []
    until = [row for row in ledgers if row["step"] <= step]
    groups: Counter[str] = Counter()
    for row in until:
        groups.update({name: row[name] for name in FATES})
    carried = {"carried": until[-1].get("carried_out", 0)} if until else {}
    return {
        "step": step,
        "config": {key: setting.value for key, setting in read_file(run / "config.yaml").items()},
        "sources": read(run / "provenance.json"),
        "environment": read(run / "environment.json"),
        "before": next((row for row in evaluations if row["step"] == 0), {}),
        "after": next((row for row in reversed(evaluations) if row["step"] == step and step), {}),
        "ledger": {name: groups[name] for name in FATES if until} | carried,
    }


def read(file: Path) -> dict[str, Any]:
    """A JSON file of a run; {} if it is not there."""
    return jsonlib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def report(done: Exported, target: Path, checkpoint: Path, *, json: bool) -> None:
    """Say what was written, and how it is opened."""
    from strop.cli.tables import make_console, print_json, say

    files = [*done.files, *(name for name in ("README.md", "curves.png") if (target / name).is_file())]
    if json:
        told = {"folder": str(target), "checkpoint": str(checkpoint), "kind": done.kind, "files": files}
        print_json(told | {"merge_error": done.merge_error, "rounding": done.rounding})
        return
    console = make_console()
    what = {"model": "the model", "merged": "the model, its adapters merged", "adapter": "the adapters"}[done.kind]
    say(console, f"{target}  {what} of {checkpoint}, {len(files)} files")
    if done.kind == "merged":
        say(console, f"merging and rounding moved a logit by at most {done.rounding:.1e} of the largest", "dim")
    say(console, "README.md is the model card; AutoModelForCausalLM.from_pretrained opens the folder", "dim")
