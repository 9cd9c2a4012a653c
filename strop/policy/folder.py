"""What a model folder may hold: checked before anything in it is opened by a library, so that nothing in it can run.

Files that strop reads are real files of the folder, of a plausible size; the index of the weights names files beside
it; no JSON asks for code, for kernels of a hub, for quantized weights, or for another model's files. Pickles are never
opened. What is refused is named in one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strop.errors import ConfigError

CONFIG, ADAPTER, INDEX = "config.json", "adapter_config.json", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")
READ = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken", "*.safetensors", "*.py")
"""What is read of a model folder, by strop or by the libraries that it calls."""
TEMPLATES = "additional_chat_templates"
LARGEST = {"config": 4 * 2**20, "index": 64 * 2**20, "other": 256 * 2**20}
"""Bytes of a config, of an index or an adapter's config, and of a tokenizer or any other file but weights."""
LAYERS = 1000
ATTENTION = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4", "flex_attention")
"""Attention that transformers itself has; any other name is that of a hub's kernel, which is code."""

PLAIN = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "fan_in_fan_out": (False, True),
    "inference_mode": (False, True),
    "init_lora_weights": (True, False, "gaussian"),
    "task_type": ("CAUSAL_LM",),
    "megatron_core": ("megatron.core",),
    "qalora_group_size": (16,),
}
"""Keys of an adapter's config with the values that mean plain LoRA, besides null and the like; others are FREE."""
FREE = {"lora_dropout", "r", "lora_alpha", "target_modules", "base_model_name_or_path", "revision", "peft_version"}


def check_model(folder: Path, name: str, *, code: bool) -> None:
    """Refuse a folder of a whole model that holds what none may; `code` allows Python code of its own.

    Raises:
        ConfigError: naming the folder, the file and what to do.
    """
    check_files(folder, name)
    if (folder / ADAPTER).is_file():
        raise refused(name, ADAPTER, f"is beside {CONFIG}: a folder is a whole model or adapters; move one away")
    files = indexed(folder, name)
    if missing := [file for file in files if not (folder / file).is_file()]:
        raise refused(name, INDEX, f"names {missing[0]}, which is not there")
    if not files and not any(folder.glob("*.safetensors")) and (pickles := picked(folder, PICKLES)):
        raise refused(
            name,
            pickles[0].name,
            "is a pickle, which can run code and is never opened, and there is no safetensors file: where you trust "
            f"it, convert it with AutoModelForCausalLM.from_pretrained({name!r}).save_pretrained(FOLDER)",
        )
    for file in picked(folder, ("*config.json",)):
        check_keys(read_json(file, name), name, file.name, code=code)


def check_files(folder: Path, name: str) -> None:
    """Every file that is read is a real one, inside the folder (or its hub cache), and not absurdly large."""
    inside = folder.resolve()
    allowed = (inside, inside.parents[1] / "blobs") if inside.parent.name == "snapshots" else (inside,)
    for file in [*picked(folder, READ), *picked(folder / TEMPLATES, ("*.jinja",))]:
        target = file.resolve()
        if not any(target.is_relative_to(root) for root in allowed):
            raise refused(name, file.name, "is a link out of the folder; put the file itself there")
        if not target.is_file():
            raise refused(name, file.name, "is no regular file")
        kind = "config" if file.name in (CONFIG, ADAPTER) else "index" if file.name == INDEX else "other"
        if file.suffix != ".safetensors" and target.stat().st_size > LARGEST[kind]:
            size, most = target.stat().st_size / 2**20, LARGEST[kind] // 2**20
            raise refused(name, file.name, f"has {size:.0f} MiB, and {most} is the most that is read")


def picked(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """The entries of a folder itself whose names match, also broken links, sorted."""
    return sorted({file for pattern in patterns for file in folder.glob(pattern) if not file.is_dir()})


def read_json(file: Path, name: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        ConfigError: the file is no JSON object, or is nested beyond reason.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise refused(name, file.name, f"is no JSON: {str(error).splitlines()[0]}") from error
    if not isinstance(found, dict):
        raise refused(name, file.name, f"holds a {type(found).__name__} where a JSON object belongs")
    return found


def indexed(folder: Path, name: str) -> list[str]:
    """The files that the index of the weights names, each a safetensors file beside it; none without an index."""
    if not (folder / INDEX).is_file():
        return []
    held = read_json(folder / INDEX, name).get("weight_map")
    files = sorted({str(file) for file in held.values()}) if isinstance(held, dict) else []
    if not files:
        raise refused(name, INDEX, "has no weight_map")
    for file in files:
        if Path(file).name != file or "\\" in file or not file.endswith(".safetensors"):
            raise refused(name, INDEX, f"names {file!r}, which is no safetensors file of the folder")
    return files


def check_keys(found: dict[str, Any], name: str, file: str, *, code: bool) -> None:
    """Refuse a config in which some key, at any depth, would have transformers run, fetch or build what it must not."""
    for key, value in walked(found):
        if key == "trust_remote_code" and value:
            raise refused(name, file, "sets trust_remote_code, which only you may: remove the key")
        if key.strip("_").startswith("attn_implementation") and not plain_attention(value):
            raise refused(name, file, f"asks for attention code from a hub ({key}: {value!r}); remove the key")
        if key == "quantization_config" and value:
            method = value.get("quant_method", "an unnamed method") if isinstance(value, dict) else value
            raise refused(name, file, f"says that its weights are quantized ({method}); name the unquantized model")
        if key == "auto_map" and code:
            check_auto_map(value, name, file)
        if key.startswith("num_") and key.endswith("layers") and isinstance(value, int) and value > LAYERS:
            raise refused(name, file, f"has {key} {value}, beyond any model: more than {LAYERS}")


def plain_attention(value: Any) -> bool:
    values = value.values() if isinstance(value, dict) else [value]
    return all(one is None or one in ATTENTION for one in values)


def check_auto_map(value: Any, name: str, file: str) -> None:
    """Code that may run lies in the folder that was pinned, not in another repository that nobody pinned."""
    every = [one for held in (value or {}).values() for one in (held if isinstance(held, list) else [held])]
    if foreign := [one for one in every if one and "--" in str(one)]:
        raise refused(name, file, f"takes its code from another repository ({foreign[0]}), at no commit; name that one")


def walked(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key of nested objects and lists with its value, however deep."""
    left = [value]
    while left:
        held = left.pop()
        pairs = held.items() if isinstance(held, dict) else (("", inner) for inner in held)
        for key, inner in pairs:
            yield str(key), inner
            if isinstance(inner, dict | list):
                left.append(inner)


def check_adapter(folder: Path, name: str) -> dict[str, Any]:
    """The config of a folder of plain LoRA adapters.

    Raises:
        ConfigError: it is something else, or has keys that would make peft do more than add two matrices.
    """
    check_files(folder, name)
    found = read_json(folder / ADAPTER, name)
    if not isinstance(found.get("base_model_name_or_path"), str) or not found["base_model_name_or_path"]:
        raise refused(name, ADAPTER, "does not say base_model_name_or_path, the model that the adapters lie over")
    if not (folder / "adapter_model.safetensors").is_file():
        pickled = ", and a pickle (.bin) is never opened" if picked(folder, PICKLES) else ""
        raise refused(name, "adapter_model.safetensors", f"is not there{pickled}")
    for key, value in found.items():
        if key in FREE or not value:
            continue
        if key not in PLAIN or value not in PLAIN[key]:
            raise refused(name, ADAPTER, f"has {key} {json.dumps(value)[:80]}; strop reads plain LoRA adapters")
    return found


def refused(name: str, file: str, text: str) -> ConfigError:
    return ConfigError(f"model: {file} of {name} {text}")
