"""How a reward function wants to be called, read from its parameters before a run starts.

    score(prompt, completion, **columns)                          plain: one completion at a time
    score(completion, answer)                                     plain: only what it names, as a fixture does
    score(question, text, *, answer)                              plain, by place: prompt and completion come first
    score(response, ground_truth, **columns)                      pair, by place: completion and right answer come first
    score(prompts, completions, completion_ids, **columns)        batch: TRL's, lists for everything
    compute_score(data_source, solution_str, ground_truth, ...)   verl's, one completion at a time
    reward_func(queries, prompts, labels)                         OpenRLHF's, lists

A `completions` makes it the batch form, a `solution_str` verl's, `queries` OpenRLHF's. A column that is called like
something that the form hands over gives way to it.

A pair is told by its names, TEXTS then RIGHT. Any other two places of which one is named like a right answer are
refused: whoever wrote them meant no prompt or no completion there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from strop.errors import ConfigError
from strop.rewards.gold import NAMES, gold, has_gold

Form = Literal["plain", "pair", "batch", "verl", "openrlhf"]

GIVEN: dict[str, tuple[str, ...]] = {
    "plain": ("prompt", "completion"),
    "pair": ("completion", "answer"),
    "batch": ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric"),
    "verl": ("solution_str", "data_source", "ground_truth", "extra_info"),
    "openrlhf": ("queries", "prompts", "labels"),
}
"""What each form hands over beside the columns."""

TEXTS = frozenset(
    ("response", "predict_str", "model_output", "solution_str", "output", "generation", "text", "pred", "prediction")
)
RIGHT = frozenset(
    ("answer", "answers", "solution", "ground_truth", "label", "labels", "gold", "target", "reference", "expected")
)
FROM_GOLD = frozenset({"ground_truth", "labels"})
HIDDEN = frozenset({"prompt", "completion"})
"""Columns that TRL hands to no reward: the names of what it hands over itself."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a reward takes.

    `given` are the names of what its form hands over, prompt and completion first; `by_name` says that they go by
    those names. `takes` are the names it has, `needs` those without a default that a row must fill, `everything` is a
    `**columns`. `side_by_side` says that calls of it may wait for one another: it is async. `blind` says that it has
    `*args, **kwargs` and names nothing.
    """

    form: Form
    by_name: bool
    given: tuple[str, ...]
    takes: frozenset[str]
    needs: frozenset[str]
    everything: bool
    side_by_side: bool
    blind: bool = False

    @property
    def grouped(self) -> bool:
        """Whether all completions of a prompt go to it at once."""
        return self.side_by_side or self.form in ("batch", "openrlhf")

    def wants(self, key: str) -> bool:
        """Whether it has a place for something of this name."""
        return self.everything or key in self.takes

    def columns(self, names: Mapping[str, Any]) -> list[str]:
        """The columns of a row that it is handed, in their order."""
        if self.form in ("verl", "openrlhf"):
            return [key for key in names if key in self.needs]
        hidden = HIDDEN if self.form == "batch" else frozenset[str]()
        return [key for key in names if key not in self.given and key not in hidden and self.wants(key)]

    def reads(self, names: Mapping[str, Any]) -> list[str]:
        """The columns of a row that its call is made from: those it is handed, and where its form looks for others."""
        looked = {
            "pair": (self.given[-1], *NAMES),
            "verl": (*NAMES, "data_source", "extra_info"),
            "openrlhf": NAMES,
        }.get(self.form, ())
        wanted = self.columns(names)
        return [*wanted, *(key for key in dict.fromkeys(looked) if key in names and key not in wanted)]

    def right(self, columns: Mapping[str, Any]) -> Any:
        """What a pair gets as the right answer: the column called like its second place, else `gold`."""
        found = columns.get(self.given[1])
        return gold(columns) if found is None else found

    def taken(self, columns: Mapping[str, Any]) -> str:
        """The name of the place that gets the completion and is a column of the row too; "" if it is none."""
        second = self.given[1] if self.form == "plain" and not self.by_name else ""
        return second if second in columns and second != "completion" else ""

    def arguments(self, given: Sequence[Any], row: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call's places and names: what the form hands over, in the order of `given`, and the columns of `row`."""
        if not self.by_name:
            return tuple(given), dict(row)
        return (), {**row, **{key: value for key, value in zip(self.given, given, strict=True) if self.wants(key)}}

    def missing(self, columns: Mapping[str, Any]) -> list[str]:
        """The parameters that a row with these columns leaves without a value."""
        lacking = self.needs.difference(columns)
        if self.takes & FROM_GOLD and self.form in ("verl", "openrlhf") and not has_gold(columns):
            lacking |= self.takes & FROM_GOLD
        if self.form == "pair" and columns.get(self.given[1]) is None and not has_gold(columns):
            lacking |= {self.given[1]}
        return sorted(lacking)


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
    any_places = inspect.Parameter.VAR_POSITIONAL in kinds
    form = form_of(names)
    by_name = form != "plain" or "completion" in names or (everything and not places and not any_places)
    given = GIVEN[form]
    if not by_name and len(places) < len(given) and not any_places:
        raise ConfigError(f"task.reward: {name} takes no completion; write def score(prompt, completion)")
    if not by_name and places:
        first = tuple(each.name for each in places[: len(given)])
        form = form_of_places(first, name)
        given = (*first, *given[len(first) :])
    needs = {key for key, each in names.items() if each.default is each.empty and key not in given}
    side_by_side = is_async(function)
    blind = any_places and everything and not places and not names
    return Signature(form, by_name, given, frozenset(names), frozenset(needs), everything, side_by_side, blind)


def form_of(names: Mapping[str, Any]) -> Form:
    if "completions" in names:
        return "batch"
    if "solution_str" in names:
        return "verl"
    return "openrlhf" if "queries" in names else "plain"


def form_of_places(places: Sequence[str], name: str) -> Form:
    """What the first two places are for, by their names.

    Raises:
        ConfigError: one is named like a right answer, and they are no text and its right answer.
    """
    if RIGHT.isdisjoint(places):
        return "plain"
    if len(places) == 2 and places[0] in TEXTS and places[1] in RIGHT:
        return "pair"
    raise ConfigError(
        f"task.reward: {name} has the places ({', '.join(places)}) and would get (prompt, completion) by place; call "
        "its parameters `completion` and `answer`"
    )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: an async def, a partial of one, or an object whose __call__ is one."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
