"""The model: loading it from a Hugging Face folder or id, and the log-probs of a micro-batch's live tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from strop import assets
from strop.batch.split import MicroBatch
from strop.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Policy:
    """A causal language model that is trained (or a frozen reference), at the temperature that it is sampled at."""

    module: PreTrainedModel
    temperature: float = 1.0

    @property
    def device(self) -> torch.device:
        return self.module.device

    def score(
        self, micro: MicroBatch, *, entropy_gradient: bool = False, with_entropy: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """log pi(token) and the entropy of pi at each live token of the micro-batch, in nats: -> [n], [n]."""
        logp_n, entropy_n, _ = self.score_at(micro, None, entropy_gradient=entropy_gradient, with_entropy=with_entropy)
        return logp_n, entropy_n

    def score_at(
        self,
        micro: MicroBatch,
        top_ids_nK: Tensor | None,
        *,
        entropy_gradient: bool = False,
        with_entropy: bool = True,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The same, and log pi of `top_ids_nK` at each live token, without gradient: -> [n], [n], [n, K].

        Logits are divided by the sampling temperature first. fp32, or wider if the model is. Right padding stands
        after every real token, which causal attention never sees: the numbers are those of single rows.
        The entropy carries a gradient only on request; without it (None) a pass over [n, V] is saved.
        """
        ids_BT = micro.ids_BT.to(self.device)
        logits_BTV: Tensor = self.module(input_ids=ids_BT, use_cache=False).logits
        row_n, column_n = micro.row_n.to(self.device), micro.column_n.to(self.device)
        logits_nV = logits_BTV[row_n, column_n - 1]
        logits_nV = logits_nV.to(torch.promote_types(logits_nV.dtype, torch.float32)) / self.temperature
        every_nV = torch.log_softmax(logits_nV, dim=-1)
        logp_n = every_nV.gather(-1, ids_BT[row_n, column_n].unsqueeze(-1)).squeeze(-1)
        top_logp_nK = None if top_ids_nK is None else every_nV.detach().gather(-1, top_ids_nK.to(self.device))
        if not with_entropy:
            return logp_n, None, top_logp_nK
        with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
            return logp_n, entropy(every_nV if entropy_gradient else every_nV.detach()), top_logp_nK


def entropy(logp_nV: Tensor) -> Tensor:
    """-sum_v p log p, in nats: [n, V] -> [n]. A token that the model rules out adds nothing, and no nan."""
    return -(logp_nV.exp() * logp_nV.clamp_min(torch.finfo(logp_nV.dtype).min)).sum(-1)


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a folder, a hub id, or an embedded policy ("strop:tiny").

    Raises:
        ConfigError: it cannot be found or read, or would need code that comes with it.
    """
    path = locate(name)
    with refusing(name, "its tokenizer"):
        return AutoTokenizer.from_pretrained(path, trust_remote_code=False)


def positions(name: str) -> int:
    """How many positions the model has, from its config alone, before its weights load; 0 if it states no bound.

    Raises:
        ConfigError: its config cannot be found or read.
    """
    path = locate(name)
    with refusing(name, "its config"):
        config = AutoConfig.from_pretrained(path, trust_remote_code=False).get_text_config(decoder=True)
    return int(getattr(config, "max_position_embeddings", None) or 0)


def load(name: str, *, dtype: str, device: str, gradient_checkpointing: bool = False) -> PreTrainedModel:
    """The module of a folder, a hub id, or an embedded policy.

    Weights are read from safetensors only, and no code that comes with a model is run. Dropout is off: with it a ratio
    would not be 1 before the first update.

    Raises:
        ConfigError: this machine has no such device; the model cannot be found or read, is no causal language model,
            lacks weights, or would need code that comes with it.
    """
    target = torch.device(pick_device(device))
    path = locate(name)
    downloads = not Path(path).is_dir()
    with refusing(name, "it as a causal language model"), nullcontext() if downloads else quiet():
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        for key in [key for key in vars(config) if "drop" in key and isinstance(getattr(config, key), float)]:
            setattr(config, key, 0.0)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            path,
            config=config,
            dtype=getattr(torch, dtype),
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    module, info = cast("tuple[PreTrainedModel, dict[str, list[str]]]", loaded)
    if missing := sorted(info["missing_keys"]):
        raise ConfigError(f"model: {name!r} lacks {len(missing)} weights, {missing[0]} among them; it is not whole")
    module.to(target)  # type: ignore[arg-type]
    if gradient_checkpointing:
        checkpoint_activations(module)
        module.train()  # transformers checkpoints in training mode only; with dropout at 0 nothing else differs
    else:
        module.eval()
    return module


def random_model(*, seed: int, vocabulary: int, positions: int, width: int = 16, layers: int = 2) -> PreTrainedModel:
    """A Llama with random float64 weights, small enough to be differentiated a thousand times: for `strop check`.

    Its embedding is tied to its head, and two heads share one key and value. The weights are large, so that its
    log-probs differ.
    """
    config = AutoConfig.for_model(
        "llama",
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=positions,
        initializer_range=0.2,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = cast("PreTrainedModel", AutoModelForCausalLM.from_config(config))
    return module.double().eval()


def checkpoint_activations(module: PreTrainedModel) -> None:
    """Recompute activations in the backward pass."""
    if hasattr(module, "activation_checkpointing_enable"):
        module.activation_checkpointing_enable()
    else:  # its name before transformers 5.2x
        module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


@contextmanager
def refusing(name: str, what: str) -> Iterator[None]:
    """Turns what transformers raises over a model that it cannot load into one line.

    A damaged file, a library that a tokenizer needs, weights of another shape: each reader has errors of its own, some
    of them plain Exceptions. Memory that ran out says nothing about the model, and is not caught.
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if "trust_remote_code" in str(error):
            reason = "it needs Python code of its own, which strop never runs; name one that transformers itself knows"
        raise ConfigError(f"model: cannot load {name!r}, {what}: {reason}") from error


def write(module: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Write a Hugging Face folder that `from_pretrained`, vLLM and the rest open as it is."""
    with quiet():
        module.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars of transformers, and with them those of downloads: for what is read or written here."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def locate(name: str) -> str:
    """The folder of a model, or its hub id; a name that can only be a folder and is none is refused."""
    if name.startswith(assets.PREFIX):
        if name not in assets.names():
            known = ", ".join(assets.names())
            raise ConfigError(f"model: there is no embedded policy {name!r}; strop has {known}")
        return str(assets.folder(name))
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ConfigError(f"model: folder {name} holds no config.json; name a Hugging Face model folder")
        return str(path)
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise ConfigError(f"model: there is no folder {name}; name a Hugging Face model folder, a hub id or strop:tiny")
    return name


def pick_device(device: str) -> str:
    """The device that is meant: "auto" is a GPU if there is one.

    Raises:
        ConfigError: this machine has no such device.
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, index = device.partition(":")
    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if int(index or 0) < there.get(kind, 0):
        return device
    known = ", ".join(f"{name}:{i}" if name == "cuda" else name for name, count in there.items() for i in range(count))
    raise ConfigError(f"device: this machine has no {device} that torch can use; it has {known}. Or set device: auto")


def parameters(module: PreTrainedModel) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def describe(module: PreTrainedModel) -> str:
    """One line for the run header, such as "LlamaForCausalLM, 0.64M parameters, float32 on cpu"."""
    dtype = str(module.dtype).removeprefix("torch.")
    return f"{type(module).__name__}, {parameters(module) / 1e6:.2f}M parameters, {dtype} on {module.device}"
