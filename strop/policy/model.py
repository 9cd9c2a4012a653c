"""The model: loading it from a Hugging Face folder or id, and the log-probs of a micro-batch's live tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from strop.batch.split import MicroBatch
from strop.errors import ConfigError

EMBEDDED = "strop:"


@dataclass(frozen=True, slots=True)
class Policy:
    """A causal language model that is trained (or a frozen reference), at the temperature that it is sampled at."""

    module: PreTrainedModel
    temperature: float = 1.0

    @property
    def device(self) -> torch.device:
        return self.module.device

    def score(self, micro: MicroBatch, *, entropy_gradient: bool = False) -> tuple[Tensor, Tensor]:
        """log pi(token) and the entropy of pi at each live token of the micro-batch, in nats: -> [n], [n].

        Logits are divided by the sampling temperature first. fp32, or wider if the model is. Right padding stands
        after every real token, which causal attention never sees: the numbers are those of single rows.
        The entropy carries a gradient only on request.
        """
        ids_BT = micro.ids_BT.to(self.device)
        logits_BTV: Tensor = self.module(input_ids=ids_BT, use_cache=False).logits
        row_n, column_n = micro.row_n.to(self.device), micro.column_n.to(self.device)
        logits_nV = logits_BTV[row_n, column_n - 1]
        logits_nV = logits_nV.to(torch.promote_types(logits_nV.dtype, torch.float32)) / self.temperature
        every_nV = torch.log_softmax(logits_nV, dim=-1)
        logp_n = every_nV.gather(-1, ids_BT[row_n, column_n].unsqueeze(-1)).squeeze(-1)
        with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
            spread_nV = every_nV if entropy_gradient else every_nV.detach()
            # exp(-inf) * -inf would be nan: a token that the model rules out adds nothing.
            entropy_n = -(spread_nV.exp() * spread_nV.clamp_min(torch.finfo(spread_nV.dtype).min)).sum(-1)
        return logp_n, entropy_n


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a folder, a hub id, or an embedded policy ("strop:tiny").

    Raises:
        ConfigError: it cannot be found.
    """
    with refusing(name, "its tokenizer"):
        return AutoTokenizer.from_pretrained(locate(name))


def load(name: str, *, dtype: str, device: str, gradient_checkpointing: bool = False) -> PreTrainedModel:
    """The module of a folder, a hub id, or an embedded policy.

    Weights are read from safetensors only, and no code that comes with a model is run. Dropout is off: with it a ratio
    would not be 1 before the first update.

    Raises:
        ConfigError: the model cannot be found, or is no causal language model.
    """
    path = locate(name)
    with refusing(name, "it as a causal language model"), quiet():
        config = AutoConfig.from_pretrained(path)
        for key in [key for key in vars(config) if "drop" in key and isinstance(getattr(config, key), float)]:
            setattr(config, key, 0.0)
        module: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            path, config=config, dtype=getattr(torch, dtype), use_safetensors=True
        )
    module.to(torch.device(pick_device(device)))  # type: ignore[arg-type]
    if gradient_checkpointing:
        checkpoint_activations(module)
        module.train()  # transformers checkpoints in training mode only; with dropout at 0 nothing else differs
    else:
        module.eval()
    return module


def checkpoint_activations(module: PreTrainedModel) -> None:
    """Recompute activations in the backward pass."""
    if hasattr(module, "activation_checkpointing_enable"):
        module.activation_checkpointing_enable()
    else:  # its name before transformers 5.2x
        module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


@contextmanager
def refusing(name: str, what: str) -> Iterator[None]:
    """Turns what transformers raises over a model that it cannot load into one line."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"model: cannot load {name!r}, {what}: {reason}") from error


def write(module: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Write a Hugging Face folder that `from_pretrained`, vLLM and the rest open as it is."""
    with quiet():
        module.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars of transformers: strop shows its own."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def locate(name: str) -> str:
    """The folder of a model, or its hub id; a name that can only be a folder and is none is refused."""
    if name.startswith(EMBEDDED):
        folder = resources.files("strop.assets") / name.removeprefix(EMBEDDED)
        if not (Path(str(folder)) / "config.json").is_file():
            known = ", ".join(embedded())
            raise ConfigError(f"model: there is no embedded policy {name!r}; strop has {known}")
        return str(folder)
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ConfigError(f"model: folder {name} holds no config.json; name a Hugging Face model folder")
        return str(path)
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise ConfigError(f"model: there is no folder {name}; name a Hugging Face model folder, a hub id or strop:tiny")
    return name


def embedded() -> list[str]:
    """The names of the embedded policies."""
    root = Path(str(resources.files("strop.assets")))
    return sorted(EMBEDDED + path.parent.name for path in root.glob("*/config.json"))


def pick_device(device: str) -> str:
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "cpu"


def parameters(module: PreTrainedModel) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def describe(module: PreTrainedModel) -> str:
    """One line for the run header, such as "LlamaForCausalLM, 0.64M parameters, float32 on cpu"."""
    dtype = str(module.dtype).removeprefix("torch.")
    return f"{type(module).__name__}, {parameters(module) / 1e6:.2f}M parameters, {dtype} on {module.device}"
