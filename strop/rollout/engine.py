"""An engine turns prompt ids into completions: the one seam between strop and whatever generates text.

    engine.load(version, weights)              from now on the weights are those of `version`
    engine.sample(requests, sampling)          -> one tuple of completions for each request, in submission order

Bodies: `engine_scripted.ScriptedEngine` (answers from a script, for tests) and `engine_hf.HFEngine` (any causal
language model of transformers). Ids in, ids out: what an engine sampled is what is trained on, never decoded and
encoded again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from strop.errors import ConfigError, DataError
from strop.types import Completion

if TYPE_CHECKING:
    from torch import Tensor

Progress = Callable[[int, int], None]
"""progress(completions finished, completions asked for): called often, from the thread that samples."""


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to complete `completions` times. `draw` is its place in the task's stream, and names its random numbers.

    Raises:
        DataError: the prompt has no tokens.
        ConfigError: completions is below 1.
    """

    draw: int
    prompt_ids: tuple[int, ...]
    completions: int

    def __post_init__(self) -> None:
        if not self.prompt_ids:
            raise DataError(f"the prompt of draw {self.draw} has no tokens; a model needs at least one to go on from")
        if self.completions < 1:
            raise ConfigError(f"completions must be at least 1, not {self.completions}")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn: from the full distribution at `temperature`, without top_k, top_p, min_p or penalties.

    max_tokens    tokens, the end token included; a completion that reaches it without one has finish "length"
    temperature   logits are divided by it; 0 = greedy: the first maximum, with the log-probs of the undivided logits
    seed, stream  with draw and completion index, the name of a completion's random stream (engine_streams.py)
    topk          how many of the most likely ids of each position are recorded, with their log-probs; nothing is drawn
                  from them alone

    Raises:
        ConfigError: max_tokens below 1, a temperature below 0 or not finite, or topk below 0.
    """

    max_tokens: int
    temperature: float = 1.0
    seed: int = 0
    stream: str = "train"
    topk: int = 0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ConfigError(f"temperature must be 0 (greedy) or a positive number, not {self.temperature}")
        if self.topk < 0:
            raise ConfigError(f"topk must be 0 or more, not {self.topk}")


class Engine(Protocol):
    """What strop asks of a body that generates.

    A completion depends on the weights, its prompt's ids and its random stream; not on the batch it was in, on the
    order of the requests or on how often it was tried. Every completion has the sampler's log-prob of each of its
    tokens, in nats, at the sampling temperature over the whole vocabulary, and the version of the weights that wrote
    it. Its finish is "stop" exactly if an end token was sampled, which is then its last id.
    """

    version: int

    def load(self, version: int, weights: Iterable[tuple[str, Tensor]] | None = None) -> None:
        """State that the weights are now those of `version`.

        `weights` are given, by name and in one piece, to an engine that does not sample from the module that trains.
        """
        ...

    def sample(
        self, requests: Sequence[Request], sampling: Sampling, progress: Progress | None = None
    ) -> Iterator[tuple[Completion, ...]]:
        """The completions of each request, in submission order. Lazy: what is not read need not be sampled."""
        ...
