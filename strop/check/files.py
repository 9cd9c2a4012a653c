"""A case and its right answers as files, so that other processes can work on them: JSON and safetensors, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from strop.check.cases import Case, Models, blank
from strop.check.oracle import Truth
from strop.metrics import packed, unpacked
from strop.policy.lora import Lora
from strop.types import Completion, Group, Prompt, Rollout

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


def write_case(folder: Path, case: Case) -> None:
    """The case in a new folder. A module that plays two parts is written once."""
    folder.mkdir(parents=True)
    modules = list({id(module): module for module in case.models}.values())
    record: dict[str, Any] = {name: getattr(case, name) for name in ("name", "temperature", "updates")}
    record |= {"mask_truncated": case.mask_truncated, "model": case.model, "lora": asdict(case.lora)}
    record["groups"] = [asdict(group) | {"prompt": group.prompt.id} for group in case.groups]
    record["parts"] = [modules.index(module) for module in case.models]
    (folder / "case.json").write_text(json.dumps(record), encoding="utf-8")
    for number, module in enumerate(modules):
        save_file(plain(dict(module.named_parameters())), weights(folder, number))


def read_case(folder: Path) -> Case:
    record = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    held = record.pop("lora")
    lora = Lora(**{**held, "targets": tuple(held["targets"])})
    parts = record.pop("parts")
    modules = [filled(blank(record["model"], lora=lora), weights(folder, n)) for n in range(1 + max(parts))]
    models = Models(*(modules[n] for n in parts))
    groups = tuple(group_of(group) for group in record.pop("groups"))
    return Case(groups=groups, models=models, lora=lora, **record)


def plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def weights(folder: Path, number: int) -> Path:
    return folder / f"weights-{number}.safetensors"


def filled(module: nn.Module, file: Path) -> nn.Module:
    """The module with the weights of a file, in their dtype."""
    kept = load_file(file)
    module.to(next(iter(kept.values())).dtype)
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.copy_(kept[name])
    return module


def group_of(record: dict[str, Any]) -> Group:
    rollouts = [Rollout(completion_of(r["completion"]), r["score"], r["penalty"]) for r in record["rollouts"]]
    return Group(record["draw"], Prompt(record["prompt"], ""), tuple(record["prompt_ids"]), tuple(rollouts))


def completion_of(record: dict[str, Any]) -> Completion:
    lists = {name: tuple(record[name]) for name in ("ids", "sampler_logp")}
    return Completion(**{**record, **lists})


def write_truth(file: Path, truth: Truth) -> None:
    save_file(plain(truth.gradient), file)
    beside = {"metrics": packed(truth.metrics), "scale": truth.scale}
    file.with_suffix(".json").write_text(json.dumps(beside), encoding="utf-8")


def read_truth(file: Path) -> Truth:
    beside = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    gradient: dict[str, Tensor] = load_file(file)
    return Truth(gradient, unpacked(beside["metrics"]), beside["scale"])
