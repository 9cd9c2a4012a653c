"""How a reward function wants to be called, read from its parameters before a run starts.

    score(prompt, completion, **columns)        every column of the row
    score(completion, answer)                   only what it names, as a fixture does
    score(prompts, completions, **columns)      a `completions` makes it the batch form: lists for everything
    score(question, text, *, answer)            other names: prompt and completion come first, by place

A column that is called like the prompt or the completion gives way to them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from strop.errors import ConfigError

SINGLE = ("prompt", "completion")
BATCH = ("prompts", "completions")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a reward takes. `first` names its prompt and completion; `by_name` says that they go by those names.

    `takes` are the names it has, `needs` those without a default that a row must fill, `everything` is a `**columns`.
    """

    batched: bool
    by_name: bool
    first: tuple[str, ...]
    takes: frozenset[str]
    needs: frozenset[str]
    everything: bool

    def arguments(
        self, prompt: Any, completion: Any, columns: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's places and names."""
        named = {key: value for key, value in columns.items() if key not in self.first and self._wants(key)}
        if not self.by_name:
            return (prompt, completion), named
        both = zip(self.first, (prompt, completion), strict=True)
        return (), named | {key: value for key, value in both if self._wants(key)}

    def missing(self, columns: Iterable[str]) -> list[str]:
        """The parameters that a row with these columns leaves without a value."""
        return sorted(self.needs.difference(columns))

    def _wants(self, key: str) -> bool:
        return self.everything or key in self.takes


def read_signature(function: Callable[..., Any], name: str) -> Signature:
    """How `function` is called.

    Raises:
        ConfigError: its parameters cannot be read, or have no place for a completion.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"task.reward: the parameters of {name} cannot be read; wrap it in a def") from error
    kinds = {parameter.kind for parameter in parameters}
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    names = {each.name: each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    everything = inspect.Parameter.VAR_KEYWORD in kinds
    batched = "completions" in names
    any_places = inspect.Parameter.VAR_POSITIONAL in kinds
    by_name = batched or "completion" in names or (everything and not places and not any_places)
    if not by_name and len(places) < len(SINGLE) and not any_places:
        raise ConfigError(f"task.reward: {name} takes no completion; write def score(prompt, completion)")
    first = BATCH if batched else SINGLE
    if not by_name and places:
        first = tuple(each.name for each in places[: len(SINGLE)])
    needs = {key for key, each in names.items() if each.default is each.empty and key not in first}
    return Signature(batched, by_name, first, frozenset(names), frozenset(needs), everything)
