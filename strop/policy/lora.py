"""Low-rank adapters (LoRA, Hu et al. 2021) over a frozen model, through peft and in PEFT's file layout.

    W x   becomes   W x + alpha / rank * B A x        A [rank, in], B [out, rank], B = 0 at the start

The module stays the model of transformers: its linear layers are wrapped in place, so that the learner and the engine
see no difference. Only A and B train, in float32 or wider, whatever the model's own dtype.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from strop.errors import ConfigError
from strop.names import did_you_mean, nearest

NAME = "default"
"""What peft calls a model's only adapter."""
WEIGHTS = "adapter_model.safetensors"
PREFIX = "base_model.model."
"""What PEFT writes before the name of each weight."""
LINEAR = ("Linear", "Conv1D")
"""Layers that can have an adapter. The second is GPT-2's, whose weight is [in, out]."""


@dataclass(frozen=True, slots=True)
class Lora:
    """The adapters that are asked for: rank 0 is none. Without `targets`, every linear layer but the head gets one."""

    rank: int = 0
    alpha: float = 32.0
    targets: tuple[str, ...] = ()
    seed: int = 0


OFF = Lora()


def add(module: Any, lora: Lora, *, base: str) -> None:
    """Freeze the module and put fresh adapters into it, in place. `base` is the name that their files will give it.

    A is drawn from the seed alone, the same in every process and on every device.

    Raises:
        ConfigError: peft is not installed, or a target names no linear layer.
    """
    inject(module, chosen(module, lora.targets), rank=lora.rank, alpha=lora.alpha, seed=lora.seed, base=base)


def inject(module: Any, layers: Sequence[str], *, rank: int, alpha: float, seed: int, base: str) -> None:
    """Freeze the module and wrap the layers of these names."""
    peft = library()
    name, _, revision = base.partition("@")
    conv = {type(module.get_submodule(layer)).__name__ for layer in layers} == {"Conv1D"}
    config = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=int(alpha) if alpha == int(alpha) else alpha,
        target_modules=shortened(module, layers),
        fan_in_fan_out=conv,
        base_model_name_or_path=name,
        revision=revision or None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        peft.inject_adapter_in_model(config, module, NAME)
    for weight in trained(module):
        weight.data = weight.data.to(torch.promote_types(weight.dtype, torch.float32))


def library() -> Any:
    try:
        import peft
    except ImportError as error:
        raise ConfigError("train.lora and adapter folders need peft: pip install 'strop[lora]'") from error
    return peft


def linear_layers(module: Any) -> list[str]:
    """The names of the layers that can have an adapter: linear ones, without the head."""
    head = module.get_output_embeddings()
    return [name for name, part in module.named_modules() if type(part).__name__ in LINEAR and part is not head]


def chosen(module: Any, targets: Sequence[str]) -> list[str]:
    """The names of the linear layers that end in one of `targets`, in the module's order; without targets, of all."""
    layers = linear_layers(module)
    ends = sorted({name.rpartition(".")[2] for name in layers})
    for target in targets:
        if not any(matches(name, target) for name in layers):
            near = did_you_mean(nearest(target, ends)) or f"; it has {', '.join(ends)}"
            raise ConfigError(f"train.lora.targets: no linear layer of the model but its head ends in {target!r}{near}")
    return [name for name in layers if not targets or any(matches(name, target) for target in targets)]


def matches(name: str, target: str) -> bool:
    return name == target or name.endswith(f".{target}")


def shortened(module: Any, layers: Sequence[str]) -> list[str]:
    """The last parts of the layers' names where these mean no other layer, else the whole names."""
    ends = sorted({name.rpartition(".")[2] for name in layers})
    meant = {name for name, _ in module.named_modules() if any(matches(name, end) for end in ends)}
    return ends if meant == set(layers) else sorted(layers)


def wrapped(module: nn.Module) -> list[tuple[str, Any]]:
    """The layers that have an adapter, by name."""
    return [(name, part) for name, part in module.named_modules() if hasattr(part, "lora_A")]


def trained(module: nn.Module) -> list[nn.Parameter]:
    """The weights of the adapters."""
    return [weight for name, weight in module.named_parameters() if ".lora_" in name]


@contextmanager
def bare(module: nn.Module) -> Iterator[None]:
    """With the adapters off: the model that they lie over."""
    layers = [layer for _, layer in wrapped(module)]
    if not layers:
        raise ValueError("the module has no adapters that could be off")
    for layer in layers:
        layer._disable_adapters = True  # enable_adapters(False) would also freeze them, in the middle of a step
    try:
        yield
    finally:
        for layer in layers:
            layer._disable_adapters = False


def tensors(module: nn.Module) -> dict[str, Tensor]:
    """The weights of the adapters under the names that PEFT's files give them."""
    held = {name: weight for name, weight in module.named_parameters() if ".lora_" in name}
    return {PREFIX + name.replace(f".{NAME}.", "."): weight for name, weight in held.items()}


def write(module: Any, folder: Path) -> None:
    """Write adapter_config.json and adapter_model.safetensors, which peft, vLLM and strop open."""
    config = copy.copy(module.peft_config[NAME])
    config.inference_mode = True
    config.target_modules = sorted(config.target_modules)
    config.save_pretrained(str(folder))
    weights = {name: weight.detach().cpu().contiguous() for name, weight in tensors(module).items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def attach(module: Any, folder: Path, found: Mapping[str, Any], lora: Lora, *, base: str) -> None:
    """Put the adapters of a folder, whose config is `found`, into the module. `lora` says what they must be, or OFF.

    Which layers they belong to is read from the names of their weights, not from a pattern of the file.

    Raises:
        ConfigError: the weights do not fit the module, or the adapters are not those that are asked for.
    """
    held = load_file(folder / WEIGHTS)
    rank, alpha = int(found["r"]), float(found["lora_alpha"])
    layers = sorted({name.removeprefix(PREFIX).rpartition(".lora_")[0] for name in held})
    if strange := sorted(set(layers) - set(linear_layers(module))):
        raise ConfigError(f"model: adapters {folder} lie over {strange[0]}, which is no linear layer of {base}")
    if any(held[name].shape[0] != rank for name in held if ".lora_A." in name):
        raise ConfigError(f"model: adapters {folder} are not all of rank {rank}, which their config gives")
    agree(folder, lora, rank=rank, alpha=alpha, layers=layers, wanted=chosen(module, lora.targets))
    inject(module, layers, rank=rank, alpha=alpha, seed=lora.seed, base=base)
    own = tensors(module)
    for name in sorted(own.keys() | held.keys()):
        if name not in own or name not in held or own[name].shape != held[name].shape:
            raise ConfigError(f"model: adapters {folder} do not fit {base}: {name} is missing or has another shape")
        own[name].data.copy_(held[name])


def agree(folder: Path, lora: Lora, *, rank: int, alpha: float, layers: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse to train adapters that are not those of the configuration."""
    if lora.rank and (lora.rank, lora.alpha) != (rank, alpha):
        raise ConfigError(
            f"train.lora: adapters {folder} have rank {rank} and alpha {alpha:g}, not {lora.rank} and {lora.alpha:g}; "
            f"set --train.lora.rank {rank} --train.lora.alpha {alpha:g}, or merge them first with strop export"
        )
    if lora.rank and lora.targets and set(wanted) != set(layers):
        raise ConfigError(f"train.lora.targets: adapters {folder} lie over other layers; leave it out to keep those")


def merge(module: Any) -> None:
    """Add the adapters to the weights they lie over, in float32 or wider, and take them out of the module."""
    for name, layer in wrapped(module):
        weight = layer.base_layer.weight
        change = layer.get_delta_weight(NAME)
        wide = torch.promote_types(weight.dtype, change.dtype)
        weight.data = (weight.data.to(wide) + change.to(wide)).to(weight.dtype)
        parent, _, own = name.rpartition(".")
        setattr(module.get_submodule(parent), own, layer.base_layer)
    del module.peft_config
