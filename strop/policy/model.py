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

from strop.batch.split import MicroBatch
from strop.errors import ConfigError
from strop.policy.folder import check_adapter
from strop.policy.lora import OFF, Lora, add, attach, bare, trained, wrapped
from strop.policy.lora import write as write_adapters
from strop.policy.name import CODE, Place, allowing, locate


@dataclass(frozen=True, slots=True)
class Policy:
    """A causal language model that is trained (or a frozen reference), at the temperature that it is sampled at.

    `bare`: with its adapters off, as the reference of a run that trains adapters.
    """

    module: PreTrainedModel
    temperature: float = 1.0
    bare: bool = False

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
        with bare(self.module) if self.bare else nullcontext():
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
    """The tokenizer of a folder, a hub id, or an embedded policy. Adapters may bring their own; else it is the base's.

    Raises:
        ConfigError: it cannot be found or read, or would need code that comes with it.
    """
    place = locate(name)
    # Leave to run code is for that of the base: no hash was taken of what lies beside the adapters.
    own = place.adapter is not None and not place.code and (place.adapter / "tokenizer_config.json").is_file()
    with refusing(name, "its tokenizer", place.commit):
        return AutoTokenizer.from_pretrained(
            str(place.adapter if own else place.folder), trust_remote_code=bool(place.code)
        )


def positions(name: str) -> int:
    """How many positions the model has, from its config alone, before its weights load; 0 if it states no bound.

    Raises:
        ConfigError: its config cannot be found or read.
    """
    place = locate(name)
    with refusing(name, "its config", place.commit):
        config = AutoConfig.from_pretrained(str(place.folder), trust_remote_code=bool(place.code))
    return int(getattr(config.get_text_config(decoder=True), "max_position_embeddings", None) or 0)


def load(
    name: str, *, dtype: str, device: str, gradient_checkpointing: bool = False, lora: Lora = OFF
) -> PreTrainedModel:
    """The module of a folder, a hub id, or an embedded policy, with adapters in it if the name or `lora` says so.

    Weights are read from safetensors only, and no code that comes with a model is run unless its name says which.
    Dropout is off: with it a ratio would not be 1 before the first update.

    Raises:
        ConfigError: this machine has no such device; the model cannot be found or read, is no causal language model,
            lacks weights, or would need code that comes with it; adapters that do not fit it.
    """
    target = torch.device(pick_device(device))
    place = locate(name)
    module = whole_model(name, place, getattr(torch, dtype))
    if place.adapter is not None:
        attach(module, place.adapter, check_adapter(place.adapter, name), lora, base=place.base)
    elif lora.rank:
        add(module, lora, base=place.base)
    module.to(target)  # type: ignore[arg-type]
    return in_mode(module, gradient_checkpointing)


def blueprint(name: str, *, dtype: str, gradient_checkpointing: bool = False, lora: Lora = OFF) -> PreTrainedModel:
    """The module that `load` gives without its weights: made from its config alone, for `strop plan`.

    The caller says, by a torch.device or a FakeTensorMode, what stands in the place of the weights.
    """
    place = locate(name)
    with refusing(name, "its config", place.commit), quiet():
        made = AutoModelForCausalLM.from_config(
            config_of(place), dtype=getattr(torch, dtype), trust_remote_code=bool(place.code)
        )
    module = cast("PreTrainedModel", made)
    if lora.rank:
        add(module, lora, base=place.base)
    return in_mode(module, gradient_checkpointing)


def in_mode(module: PreTrainedModel, gradient_checkpointing: bool) -> PreTrainedModel:
    if gradient_checkpointing:
        checkpoint_activations(module)
        return module.train()  # transformers checkpoints in training mode only; with dropout at 0 nothing else differs
    return module.eval()


def config_of(place: Place) -> Any:
    """The model's config, with every dropout off."""
    config = AutoConfig.from_pretrained(str(place.folder), trust_remote_code=bool(place.code))
    for key in [key for key in vars(config) if "drop" in key and isinstance(getattr(config, key), float)]:
        setattr(config, key, 0.0)
    return config


def whole_model(name: str, place: Place, dtype: torch.dtype) -> PreTrainedModel:
    """The module without adapters, on the CPU."""
    with refusing(name, "it as a causal language model", place.commit), quiet():
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            str(place.folder),
            config=config_of(place),
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=bool(place.code),
            output_loading_info=True,
        )
    module, info = cast("tuple[PreTrainedModel, dict[str, list[str]]]", loaded)
    if missing := sorted(info["missing_keys"]):
        raise ConfigError(f"model: {name!r} lacks {len(missing)} weights, {missing[0]} among them; it is not whole")
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
def refusing(name: str, what: str, commit: str = "") -> Iterator[None]:
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
            leave = allowing(name.removeprefix(CODE), commit)
            reason = f"it needs Python code of its own, which runs only where you say which: read it, then name {leave}"
        raise ConfigError(f"model: cannot load {name!r}, {what}: {reason}") from error


def write(module: PreTrainedModel, tokenizer: Any, folder: Path) -> None:
    """Write a Hugging Face folder that `from_pretrained`, vLLM and the rest open as it is; of adapters, PEFT's."""
    with quiet():
        if wrapped(module):
            write_adapters(module, folder)
        else:
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
    size = f"{parameters(module) / 1e6:.2f}M parameters"
    if adapters := wrapped(module):
        size += f", {sum(weight.numel() for weight in trained(module)) / 1e6:.2f}M of them in {len(adapters)} adapters"
    return f"{type(module).__name__}, {size}, {dtype} on {module.device}"
