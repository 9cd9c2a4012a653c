"""Sampling from any causal language model of transformers, in a decoding loop of strop's own.

A group's prompt is forwarded once; its rows of the cache are then repeated for its completions. Rows that finish leave
the batch. Keys and values live in slabs with room to grow, so that a step writes one column and copies nothing.

Suffixes: _P prompts, _R rows of the running batch, _W columns of the padded prompts, _T steps, _V vocabulary.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import CacheLayerMixin, DynamicLayer, DynamicSlidingWindowLayer

from strop.errors import ConfigError
from strop.rollout.engine import Progress, Request, Sampling
from strop.rollout.engine_draws import ROWS_TOGETHER, Draws, Sampled, steady
from strop.rollout.engine_generate import NoCacheWarning, generate
from strop.rollout.engine_model import check_positions, end_ids, evaluating, load_weights
from strop.rollout.engine_prompts import chunks, padded
from strop.rollout.engine_streams import uniforms
from strop.types import Completion

ROOM = 64
"""Columns by which a slab is longer than what it holds when it is made; later it grows by half."""


class SlabLayer(CacheLayerMixin):
    """Keys and values of one layer in tensors [R, heads, capacity, width] of which the first `length` columns are used.

    Sliding-window layers keep every column too: the model's mask hides what is outside the window.
    """

    is_sliding = False

    def __init__(self, keys: Tensor | None = None, values: Tensor | None = None, length: int = 0) -> None:
        super().__init__()
        self.keys, self.values, self.length = keys, values, length
        self.is_initialized = keys is not None

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.keys, self.values = enlarged(key_states[:, :, :0], ROOM), enlarged(value_states[:, :, :0], ROOM)
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start, self.length = self.length, self.length + key_states.shape[-2]
        keys, values = self.slabs
        if self.length > keys.shape[-2]:
            capacity = self.length + max(ROOM, self.length // 2)
            keys, values = enlarged(keys[:, :, :start], capacity), enlarged(values[:, :, :start], capacity)
            self.keys, self.values = keys, values
        keys[:, :, start : self.length] = key_states
        values[:, :, start : self.length] = value_states
        return keys[:, :, : self.length], values[:, :, : self.length]

    @property
    def slabs(self) -> tuple[Tensor, Tensor]:
        if self.keys is None or self.values is None:
            raise RuntimeError("the layer holds nothing yet")
        return self.keys, self.values

    def rows(self, index: Tensor) -> SlabLayer:
        """A layer of these rows, in this order; a row may come more than once."""
        capacity = self.length + ROOM
        keys, values = (enlarged(slab[:, :, : self.length][index], capacity) for slab in self.slabs)
        return SlabLayer(keys, values, self.length)

    def get_seq_length(self) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.length + query_length, 0

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length  # its name before transformers 5.2x


class SlabCache(Cache):
    """A cache of SlabLayers, made as the model's layers ask for them."""

    def __init__(self, layers: Sequence[SlabLayer] = ()) -> None:
        super().__init__(layer_class_to_replicate=SlabLayer)
        self.layers = list(layers)

    def rows(self, index: Tensor) -> SlabCache:
        return SlabCache([layer.rows(index) for layer in self.layers])

    def keep_rows(self, index: Tensor) -> None:
        """In place and layer by layer, so that only one layer is ever held twice."""
        for place, layer in enumerate(self.layers):
            self.layers[place] = layer.rows(index)

    def holds(self, columns: int) -> bool:
        """Whether every layer has been written to, up to this column."""
        return bool(self.layers) and all(layer.length == columns for layer in self.layers)


def enlarged(slab: Tensor, capacity: int) -> Tensor:
    larger = slab.new_empty(*slab.shape[:2], max(capacity, slab.shape[2]), slab.shape[3])
    larger[:, :, : slab.shape[2]] = slab
    return larger


class HFEngine:
    """Samples from a module that it is handed; the trainer keeps training that same module.

    `rows` bounds how many completions are decoded side by side. `eos_ids` are the end tokens; by default those of the
    generation config (else of the config) and of the tokenizer together. Nothing else of the generation config counts:
    no top_k, no penalties, no minimum length. Padding is known by position, so a pad token may equal an end token.

    Raises:
        ConfigError: rows below 1, or no end token is known.
    """

    def __init__(self, module: Any, tokenizer: Any, *, rows: int = 256, eos_ids: Sequence[int] | None = None) -> None:
        if rows < 1:
            raise ConfigError(f"rollout.rows must be at least 1, not {rows}")
        self.module, self.tokenizer, self.rows, self.version = module, tokenizer, rows, 0
        self.eos_ids = end_ids(module, tokenizer) if eos_ids is None else tuple(eos_ids)
        self._forward_names = frozenset(inspect.signature(module.forward).parameters)
        self._cache_name = next((name for name in ("cache", "past_key_values") if name in self._forward_names), "")
        self._generate_with_cache = bool(self._cache_name) or "cache_params" in self._forward_names
        self._own_loop = True
        if problem := cache_problem(module, self._forward_names, self._cache_name):
            self._use_generate(problem)

    def load(self, version: int, weights: Iterable[tuple[str, Tensor]] | None = None) -> None:
        """From now on completions are of `version`; `weights` are copied into the module if it is not the trained one.

        A weight's name is the module's own, so weights that are tied in it are written once.
        """
        if weights is not None:
            load_weights(self.module, weights)
        self.version = version

    def sample(
        self, requests: Sequence[Request], sampling: Sampling, progress: Progress | None = None
    ) -> Iterator[tuple[Completion, ...]]:
        """The completions of each request, in submission order; sampled as many groups at a time as fit into `rows`."""
        check_positions(self.module, requests, sampling)
        total = sum(request.completions for request in requests)
        done = 0
        for chunk in chunks(requests, self.rows):

            def tick(finished: int, before: int = done) -> None:
                if progress is not None:
                    progress(before + finished, total)

            completions = self._complete(chunk, sampling, tick)
            done += len(completions)
            for request in chunk:
                yield tuple(completions[: request.completions])
                completions = completions[request.completions :]

    def _complete(self, chunk: Sequence[Request], sampling: Sampling, tick: Callable[[int], None]) -> list[Completion]:
        """The completions of a few groups, one group after the other."""
        # Not around the yield of `sample`: both are states of the thread, and the reader of the stream is not sampling.
        with evaluating(self.module), torch.inference_mode():
            sampled = self._decode_chunk(chunk, sampling, tick) if self._own_loop else None
            if sampled is None:
                sampled = self._generate_chunk(chunk, sampling, tick)
        texts = [row.ids[:-1] if row.stopped else row.ids for row in sampled]
        return [
            Completion(
                ids=tuple(row.ids),
                sampler_logp=tuple(row.logp),
                text=self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False),
                finish="stop" if row.stopped else "length",
                version=self.version,
                top_ids=row.top_ids,
                top_logp=row.top_logp,
            )
            for row, ids in zip(sampled, texts, strict=True)
        ]

    def _decode_chunk(
        self, chunk: Sequence[Request], sampling: Sampling, tick: Callable[[int], None]
    ) -> list[Sampled] | None:
        """Forward each prompt once, then decode `rows` completions at a time; None if the cache stays empty."""
        ids_PW, mask_PW = padded([request.prompt_ids for request in chunk], self.module.device)
        cache = SlabCache()
        # Logits of a few more positions where the last ones alone would not be a steady batch.
        keep = 1 if steady(len(chunk)) == len(chunk) else ROWS_TOGETHER
        logits_PV = self._forward(ids_PW, mask_PW, (mask_PW.cumsum(-1) - 1).clamp_min(0), cache, keep=keep)
        if not cache.holds(ids_PW.shape[1]):
            self._generate_with_cache = False
            self._use_generate("it leaves the cache it is given empty")
            return None
        jobs = [(place, completion) for place, request in enumerate(chunk) for completion in range(request.completions)]
        sampled: list[Sampled] = []
        for start in range(0, len(jobs), self.rows):
            part = jobs[start : start + self.rows]
            draws = self._draws([(chunk[place].draw, completion) for place, completion in part], sampling)
            prompt_R = torch.tensor([place for place, _ in part], device=self.module.device)
            prompt_R = prompt_R[torch.arange(len(draws.row_R), device=prompt_R.device).clamp_max(len(part) - 1)]
            self._decode(
                draws, logits_PV[prompt_R], mask_PW[prompt_R], cache.rows(prompt_R), lambda n, b=start: tick(b + n)
            )
            sampled += draws.completions()
        return sampled

    def _decode(
        self, draws: Draws, logits_RV: Tensor, mask_RW: Tensor, cache: SlabCache, tick: Callable[[int], None]
    ) -> None:
        """Run the rows of `draws` to their ends, from the logits after their prompts."""
        width = mask_RW.shape[1]
        position_R = mask_RW.sum(-1)
        mask_RT = torch.nn.functional.pad(mask_RW, (0, draws.steps), value=1)
        ids_R = draws.take(logits_RV)
        tick(draws.finished)
        while draws.live and draws.step < draws.steps:
            if (stay := draws.leave()) is not None:
                stay = stay.to(ids_R.device)
                cache.keep_rows(stay)
                ids_R, position_R, mask_RT = ids_R[stay], position_R[stay], mask_RT[stay]
            mask = mask_RT[:, : width + draws.step]
            ids_R = draws.take(self._forward(ids_R[:, None], mask, position_R[:, None], cache, keep=1))
            position_R = position_R + 1
            tick(draws.finished)

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: SlabCache, *, keep: int) -> Tensor:
        """Logits after the last column of each row:   -> [rows, V]"""
        named: dict[str, Any] = {self._cache_name: cache}
        if "logits_to_keep" in self._forward_names:
            named["logits_to_keep"] = keep
        output = self.module(
            input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, return_dict=True, **named
        )
        return output.logits[:, -1]

    def _generate_chunk(
        self, chunk: Sequence[Request], sampling: Sampling, tick: Callable[[int], None]
    ) -> list[Sampled]:
        """The same completions through `generate`, `rows` at a time among prompts of one length."""
        jobs = [(request, completion) for request in chunk for completion in range(request.completions)]
        by_length: dict[int, list[int]] = {}
        for place, (request, _) in enumerate(jobs):
            by_length.setdefault(len(request.prompt_ids), []).append(place)
        parts = [
            places[start : start + self.rows]
            for places in by_length.values()
            for start in range(0, len(places), self.rows)
        ]
        sampled: dict[int, Sampled] = {}
        for places in parts:
            part = [jobs[place] for place in places]
            draws = self._draws([(request.draw, completion) for request, completion in part], sampling)
            prompts = [request.prompt_ids for request, _ in part]
            done = len(sampled)
            generate(
                self.module,
                prompts,
                draws,
                use_cache=self._generate_with_cache,
                tick=lambda finished, before=done: tick(before + finished),
            )
            sampled |= dict(zip(places, draws.completions(), strict=True))
        return [sampled[place] for place in range(len(jobs))]

    def _draws(self, names: Sequence[tuple[int, int]], sampling: Sampling) -> Draws:
        """Draws for the completions of these (draw, completion index) names."""
        uniform_NT = np.stack(
            [uniforms(sampling.seed, sampling.stream, draw, index, sampling.max_tokens) for draw, index in names]
        )
        return Draws(uniform_NT, self.eos_ids, sampling.temperature, self.module.device, topk=sampling.topk)

    def _use_generate(self, reason: str) -> None:
        self._own_loop = False
        warnings.warn(
            f"{type(self.module).__name__}: sampling through transformers' generate, which is slower: {reason}",
            NoCacheWarning,
            stacklevel=3,
        )


def cache_problem(module: Any, forward_names: frozenset[str], cache_name: str) -> str:
    """Why strop's loop cannot use the model's cache, or "": it needs one column for each token, in each layer."""
    if not cache_name:
        return "its forward takes no cache"
    if missing := {"attention_mask", "position_ids"} - forward_names:
        return f"its forward takes no {' and no '.join(sorted(missing))}, so that prompts cannot be padded"
    if getattr(module, "_is_stateful", False) or not getattr(module, "_supports_default_dynamic_cache", bool)():
        return "its cache is not of keys and values"
    layers = DynamicCache(config=module.config).layers
    strange = {type(layer).__name__ for layer in layers if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer)}
    return f"its cache has layers of {', '.join(sorted(strange))}" if strange else ""
