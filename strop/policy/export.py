"""A checkpoint as a folder for others: what `from_pretrained` and vLLM open, nothing of its training or this machine.

A whole model is copied byte for byte. Adapters are merged into the model that they lie over, or copied as PEFT's files.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from strop.errors import ConfigError, NumericsError
from strop.policy.folder import ADAPTER, CONFIG, check_adapter, check_model, picked, read_json
from strop.policy.lora import bare, merge
from strop.policy.model import load, load_tokenizer, write
from strop.policy.name import CODE, is_adapters, parse, shown

TOKENIZER = (
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges.txt",
    "*.model",
    "*.tiktoken",
    "chat_template*",
)
MODEL = (CONFIG, "generation_config.json", "model*.safetensors", "model.safetensors.index.json", "*.py", *TOKENIZER)
ADAPTERS = (ADAPTER, "adapter_model.safetensors", *TOKENIZER)
"""The files of a checkpoint that are the model's. The others are the trainer's: moments, counters, carried groups."""
OF_A_MACHINE = (
    "_name_or_path",
    "name_or_path",
    "special_tokens_map_file",
    "tokenizer_file",
    "vocab_file",
    "is_local",
    "local_files_only",
)
"""Keys that libraries fill with paths of the machine that wrote a file, or with how it was read there."""

MERGE_BOUND, EFFECT_BOUND = 1e-4, 0.01
"""The most that merging in float32 may move a logit: this share of the largest logit, or of what the adapters move one.

The second is for deep models, which amplify rounding: a merge that is wrong is off by as much as the adapters do.
"""
PROBES, PROBE_TOKENS = 4, 32


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    merge_error    the largest difference of a logit by merging, as a share of the largest; 0.0 if nothing was merged
    rounding       the same after the merged weights were rounded to their dtype
    """

    kind: Literal["model", "merged", "adapter"]
    files: tuple[str, ...]
    merge_error: float = 0.0
    rounding: float = 0.0


def export_model(name: str, target: Path, *, adapter: bool = False, dtype: str = "float32") -> Exported:
    """Write the model of a folder into the empty folder `target`.

    name       a checkpoint's folder, or remote-code:FOLDER@HASH where its base needs code of its own to be merged
    adapter    keep adapters apart
    dtype      the type that merged weights are written in

    Raises:
        ConfigError: the folder holds no model, or no adapters to keep apart.
        NumericsError: the merged model is not the model with its adapters.
    """
    folder = Path(parse(name).location).expanduser()
    if not is_adapters(folder):
        if adapter:
            raise ConfigError(f"--adapter: {folder} is a whole model, its every weight trained; leave --adapter out")
        check_model(folder, str(folder), code=name.startswith(CODE))
        copy(folder, target, MODEL)
        return Exported("model", written(target))
    check_adapter(folder, str(folder))
    if adapter:
        copy(folder, target, ADAPTERS)
        return Exported("adapter", written(target))
    error, rounding = write_merged(name, target, dtype)
    clean(target)
    return Exported("merged", written(target), error, rounding)


def write_merged(name: str, target: Path, dtype: str) -> tuple[float, float]:
    """Merge in float32, compare, round, write; -> what merging changed, and what it and rounding changed together."""
    module: Any = load(name, dtype=dtype, device="cpu").float()
    right = probed(module)
    with bare(module):
        effect = apart(probed(module), right)
    merge(module)
    error = apart(probed(module), right)
    if not error <= max(MERGE_BOUND, EFFECT_BOUND * effect):
        raise NumericsError(
            f"the merged model is not the model with its adapters: a logit is off by {error:.1e} of the largest, and "
            f"the adapters move one by {effect:.1e}; export with --adapter to keep them apart"
        )
    module.to(getattr(torch, dtype))
    write(module, load_tokenizer(name), target)
    return error, apart(probed(module.float()), right)


def probed(module: Any) -> Tensor:
    """Logits of a few fixed texts of random tokens."""
    vocabulary = module.get_input_embeddings().num_embeddings
    positions = getattr(module.config.get_text_config(decoder=True), "max_position_embeddings", None)
    tokens = min(PROBE_TOKENS, int(positions or PROBE_TOKENS))
    ids = torch.randint(0, vocabulary, (PROBES, tokens), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        return module(input_ids=ids, use_cache=False).logits.float()


def apart(found: Tensor, right: Tensor) -> float:
    return float((found - right).abs().max() / right.abs().max())


def copy(folder: Path, target: Path, patterns: tuple[str, ...]) -> None:
    """Copy the files of these names, and those of further chat templates."""
    for file in picked(folder, patterns):
        shutil.copyfile(file, target / file.name)
    for file in sorted((folder / "additional_chat_templates").glob("*.jinja")):
        (target / file.parent.name).mkdir(exist_ok=True)
        shutil.copyfile(file, target / file.parent.name / file.name)
    clean(target)


def clean(target: Path) -> None:
    """Take out of the JSON files what names places on this machine. A base that is a folder keeps its last name."""
    for file in picked(target, ("*config.json",)):
        found = read_json(file, str(target))
        kept = {key: value for key, value in found.items() if key not in OF_A_MACHINE}
        if file.name == ADAPTER:
            kept["base_model_name_or_path"] = shown(str(found["base_model_name_or_path"]))
        if kept != found:
            file.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def written(target: Path) -> tuple[str, ...]:
    return tuple(sorted(file.relative_to(target).as_posix() for file in target.rglob("*") if file.is_file()))
