"""A reward called the way its signature asks for: plain, TRL's, verl's and OpenRLHF's functions give the same values.

Where a batch fails, each of its completions is asked about alone, so that only the guilty one is lost. A batch that
returns the wrong number of scores is refused whole: asked alone it might seem right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from strop.rewards.failures import failed
from strop.rewards.find import Reward
from strop.rewards.gold import gold, ground_truth, has_gold
from strop.rewards.together import FAILURES, settled
from strop.rewards.values import LONGEST_ANSWER, SHORT, Value, logged, one_line, read, said


@dataclass(frozen=True, slots=True)
class Question:
    """What a reward is told of a prompt: a text or a list of messages, the columns of its row, how errors name it.

    `rows` remembers what of the row each reward is handed, and whether it holds what a call might change.
    """

    prompt: Any
    columns: Mapping[str, Any]
    label: str
    rows: dict[str, tuple[dict[str, Any], bool]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """What a reward is told of a completion. `ids` are empty if no reward asks for them; `step` is who wrote it."""

    text: str
    ids: Sequence[int] = ()
    step: int = 0
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Notes:
    """What a batch logs while it runs: TRL's log_extra (one value for each completion) and log_metric (one number)."""

    each: dict[str, Sequence[Any]] = field(default_factory=dict)
    all: dict[str, Any] = field(default_factory=dict)

    def for_each(self, column: str, values: Sequence[Any]) -> None:
        self.each[str(column)] = list(values)

    def for_all(self, name: str, value: Any) -> None:
        self.all[str(name)] = value

    def of(self, place: int, count: int) -> dict[str, float]:
        """The numbers among them that are of the completion at `place`."""
        columns = {name: values[place] for name, values in self.each.items() if len(values) == count}
        return logged(columns | self.all)


class WrongLength(Exception):
    """A batch returned no list, or one of the wrong length; the text says which."""


def values_of(reward: Reward, question: Question, written: Sequence[Written], limit_s: float = 0.0) -> list[Value]:
    """One value for each completion; whatever the reward raises is in the value's error.

    An async reward of one completion waits for all of them side by side; those that are not there after `limit_s`
    seconds are given up, if it is not 0.
    """
    if reward.signature.form in ("batch", "openrlhf"):
        values = at_once(reward, question, written)
    else:
        values = one_by_one(reward, question, written, limit_s)
    return [voted(reward, question, value, each) for value, each in zip(values, written, strict=True)]


def one_by_one(reward: Reward, question: Question, written: Sequence[Written], limit_s: float) -> list[Value]:
    outcomes: list[Any] = []
    for each in written:
        try:
            given = given_to_one(reward, question, each)
            places, names = reward.signature.arguments(given, row_of(reward, question))
            outcomes.append(reward.function(*places, **names))
        except FAILURES as error:
            outcomes.append(error)
    return [
        failed(reward.name, question.label, outcome, limit_s)
        if isinstance(outcome, BaseException)
        else read(outcome, reward.name, question.label)
        for outcome in settled(outcomes, limit_s)
    ]


def at_once(reward: Reward, question: Question, written: Sequence[Written]) -> list[Value]:
    notes, count = Notes(), len(written)
    rows = [row_of(reward, question) for _ in written]
    openrlhf = reward.signature.form == "openrlhf"
    try:
        given = given_to_openrlhf(question, written) if openrlhf else given_to_trl(question, written, notes)
        places, names = reward.signature.arguments(given, {key: [row[key] for row in rows] for key in rows[0]})
        found = settled([reward.function(*places, **names)])[0]
        if isinstance(found, BaseException):
            raise found
        return scores_of(reward, question, found, notes, count)
    except WrongLength as error:
        return [Value(error=one_line(f"reward {reward.name} returned {error}"))] * count
    except FAILURES as error:
        if count == 1:
            return [failed(reward.name, question.label, error, 0.0)]
        return [at_once(reward, question, [each])[0] for each in written]


def scores_of(reward: Reward, question: Question, found: Any, notes: Notes, count: int) -> list[Value]:
    """The values in what a batch returned: a list, or OpenRLHF's dict of `rewards`, `scores` and `extra_logs`."""
    accuracies: list[Any] = [None] * count
    if isinstance(found, Mapping) and reward.signature.form == "openrlhf":
        for name, values in (found.get("extra_logs") or {}).items():
            notes.for_each(name, values.tolist() if hasattr(values, "tolist") else values)
        if found.get("scores") is not None:
            accuracies = listed(found["scores"], count)
        found = found.get("rewards")
    scores = [read(score, reward.name, question.label) for score in listed(found, count)]
    rights = [read(right, reward.name, question.label) for right in accuracies]
    return [
        replace(score, accuracy=right.score, logged=notes.of(place, count), error=score.error or right.error)
        for place, (score, right) in enumerate(zip(scores, rights, strict=True))
    ]


def listed(found: Any, count: int) -> list[Any]:
    """The elements of a list or an array of `count`.

    Raises:
        WrongLength: it is neither, or of another length.
    """
    scores = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(scores, Sequence):
        raise WrongLength(f"{SHORT.repr(found)}: expected a list of {count} numbers")
    if len(scores) != count:
        raise WrongLength(f"the wrong number of scores: expected {count}, got {len(scores)}")
    return list(scores)


def row_of(reward: Reward, question: Question) -> dict[str, Any]:
    """The columns that the reward is handed: what one call changes in them, no other sees."""
    if reward.name not in question.rows:
        row = {key: question.columns[key] for key in reward.signature.columns(question.columns)}
        question.rows[reward.name] = row, any(isinstance(value, Mapping | list | tuple) for value in row.values())
    row, deep = question.rows[reward.name]
    return copied(row) if deep else row


def copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list | tuple) else value


def given_to_one(reward: Reward, question: Question, each: Written) -> tuple[Any, ...]:
    """What the form of a reward of one completion hands over."""
    if reward.signature.form == "verl":
        return given_to_verl(question, each)
    if reward.signature.form == "pair":
        return each.text, copied(reward.signature.right(question.columns))
    return question.prompt if isinstance(question.prompt, str) else copied(question.prompt), each.text


def given_to_verl(question: Question, each: Written) -> tuple[Any, ...]:
    """solution_str, data_source, ground_truth, extra_info."""
    right = copied(ground_truth(question.columns)) if has_gold(question.columns) else None
    return each.text, question.columns.get("data_source", ""), right, copied(question.columns.get("extra_info") or {})


def given_to_trl(question: Question, written: Sequence[Written], notes: Notes) -> tuple[Any, ...]:
    """prompts, completions, completion_ids, trainer_state, log_extra, log_metric.

    A completion is a list of one message where the prompt is a list of messages.
    """
    chat = not isinstance(question.prompt, str)
    return (
        [copied(question.prompt) for _ in written],
        [[{"role": "assistant", "content": each.text}] if chat else each.text for each in written],
        [list(each.ids) for each in written],
        SimpleNamespace(global_step=written[0].step),
        notes.for_each,
        notes.for_all,
    )


def given_to_openrlhf(question: Question, written: Sequence[Written]) -> tuple[Any, ...]:
    """queries, prompts, labels."""
    if not isinstance(question.prompt, str):
        raise TypeError("an OpenRLHF reward takes a prompt that is a text, and this one is a list of messages")
    right = gold(question.columns) if has_gold(question.columns) else None
    queries = [question.prompt + each.text for each in written]
    return queries, [question.prompt] * len(written), [copied(right) for _ in written]


def voted(reward: Reward, question: Question, value: Value, each: Written) -> Value:
    """The value with what maj@k votes on: the `pred` that it has, or what the `answer` beside the reward finds.

    A completion that was cut off gives none.
    """
    if each.truncated and value.answer:
        return replace(value, answer="")
    if value.error or value.answer or each.truncated or reward.voted is None:
        return value
    try:
        found = reward.voted(each.text)
    except FAILURES as error:
        return Value(error=one_line(f"answer, beside reward {reward.name}, raised {said(error)} ({question.label})"))
    if not isinstance(found, str):
        said_so = f"answer, beside reward {reward.name}, returned {SHORT.repr(found)}: expected a text, '' for none"
        return Value(error=one_line(said_so))
    return replace(value, answer=found[:LONGEST_ANSWER]) if found else value
