"""An engine that answers from a script: for tests of tasks, rewards and loops that need no model.

ScriptedEngine(lambda prompt_ids, draw, completion: "4" if completion == 0 else "5")
ScriptedEngine({((50, 43, 50, 61), 0, 0): "4", ((50, 43, 50, 61), 0, 1): (53, 0)})       # "2+2=", draw 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strop.errors import ConfigError, DataError
from strop.rollout.engine import Progress, Request, Sampling
from strop.types import Completion


@dataclass(frozen=True, slots=True)
class Answer:
    """A scripted completion. Without `logp` each token has the engine's; without `text` the ids are decoded."""

    ids: tuple[int, ...]
    logp: tuple[float, ...] = ()
    text: str = ""


Scripted = str | Sequence[int] | Answer
Script = Callable[[tuple[int, ...], int, int], Scripted] | Mapping[tuple[tuple[int, ...], int, int], Scripted]
"""(prompt ids, draw, completion index) -> a text (the end token is added), its ids (as sampled), or an Answer."""


class CodePoints:
    """A tokenizer of one token for each character: the id is its code point, and 0 ends a text."""

    eos_token_id = 0

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        return "".join(chr(i) for i in ids if i != self.eos_token_id)


CODE_POINTS = CodePoints()


class ScriptedEngine:
    """Completions from a callable or a table, cut as an engine would cut them: after the first end token, and at
    max_tokens. `logp` is the log-prob of tokens that the script gives none for; temperature and seed change nothing.

    Raises:
        DataError: the script has no answer, or one that no engine could give: it is empty, it stops short of max_tokens
            without an end token, or its log-probs are not one for each token.
    """

    def __init__(
        self, script: Script, tokenizer: Any = CODE_POINTS, *, eos_ids: Sequence[int] = (), logp: float = -1.0
    ) -> None:
        self.script, self.tokenizer, self.logp, self.version = script, tokenizer, logp, 0
        self.eos_ids = tuple(eos_ids) or (tokenizer.eos_token_id,)

    def load(self, version: int, weights: Iterable[tuple[str, Any]] | None = None) -> None:
        self.version = version

    def sample(
        self, requests: Sequence[Request], sampling: Sampling, progress: Progress | None = None
    ) -> Iterator[tuple[Completion, ...]]:
        if sampling.topk:
            raise ConfigError(f"topk is {sampling.topk}, and a script says nothing of tokens that it did not take")
        total = sum(request.completions for request in requests)
        done = 0
        for request in requests:
            group = tuple(self._complete(request, index, sampling.max_tokens) for index in range(request.completions))
            done += len(group)
            if progress is not None:
                progress(done, total)
            yield group

    def _complete(self, request: Request, index: int, max_tokens: int) -> Completion:
        where = f"draw {request.draw}, completion {index}, prompt ids {list(request.prompt_ids)}"
        answer = self._answer(request, index, where)
        logp = answer.logp or (self.logp,) * len(answer.ids)
        if len(logp) != len(answer.ids):
            raise DataError(f"the script's answer has {len(answer.ids)} ids and {len(logp)} log-probs: {where}")
        end = next((place + 1 for place, i in enumerate(answer.ids) if i in self.eos_ids), len(answer.ids))
        ids = tuple(answer.ids[: min(end, max_tokens)])
        stopped = bool(ids) and ids[-1] in self.eos_ids
        if not stopped and len(ids) < max_tokens:
            raise DataError(
                f"the script's answer has {len(ids)} tokens and no end token, but max_tokens is {max_tokens}: {where}"
            )
        whole = answer.text and ids == answer.ids
        text = answer.text if whole else self.tokenizer.decode(ids[:-1] if stopped else ids, skip_special_tokens=True)
        return Completion(ids, tuple(logp[: len(ids)]), text, "stop" if stopped else "length", self.version)

    def _answer(self, request: Request, index: int, where: str) -> Answer:
        key = (request.prompt_ids, request.draw, index)
        found: Scripted | None
        try:
            found = self.script(*key) if callable(self.script) else self.script.get(key)
        except LookupError as error:
            raise DataError(f"the script has no answer ({type(error).__name__}: {error}): {where}") from error
        if found is None:
            raise DataError(f"the script has no answer: {where}")
        if isinstance(found, Answer):
            return found
        if isinstance(found, str):
            return Answer((*self.tokenizer.encode(found, add_special_tokens=False), self.eos_ids[0]), text=found)
        return Answer(tuple(found))
