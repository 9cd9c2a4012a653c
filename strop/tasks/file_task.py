"""The task of rows that were read: epochs of them in a seeded order, some held out, scored by rewards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from strop.errors import DataError
from strop.rewards.scorer import Scorer
from strop.tasks.order import place_of
from strop.tasks.reading import Source
from strop.tasks.table import Reads, Table, read_table, strict
from strop.tasks.votes import judged, streamed
from strop.types import Completion, Prompt, Verdict

HELD_OUT_SHARE = 10
"""Without held-out rows of their own, one different prompt in this many is held out."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """Rows in an endless stream: epoch after epoch, each in an order that follows from the seed.

    `counted` says how many rows there were and what became of those that are no prompts here.
    """

    name: str
    rows: tuple[Prompt, ...]
    held: tuple[Prompt, ...]
    scorer: Scorer
    seed: int
    counted: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        different = len(set(questions(self.rows)))
        left = f"{len(self.rows)} prompts to train on, {different} different, {len(self.held)} held out"
        return f"{self.name}, {self.counted}: {left}" if self.counted else f"{self.name}, {left}"

    def prompt(self, draw: int) -> Prompt:
        return self.rows[place_of(self.seed, draw, len(self.rows))]

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        return self.held[:count]

    def known(self) -> Sequence[Prompt]:
        return (*self.rows, *self.held)

    def without(self, ids: Collection[str], why: str) -> FileTask:
        """The same without the prompts of these ids; `why` is told with their number.

        Raises:
            DataError: none is left to train on, or none held out.
        """
        rows = tuple(prompt for prompt in self.rows if prompt.id not in ids)
        held = tuple(prompt for prompt in self.held if prompt.id not in ids)
        gone = len(self.rows) + len(self.held) - len(rows) - len(held)
        if not rows or not held:
            left = "to train on" if not rows else "held out"
            raise DataError(f"{self.name}: no prompt is left {left}: {gone} are {why}")
        return replace(self, rows=rows, held=held, counted=f"{self.counted}, {gone} {why}".removeprefix(", "))

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        return judged(self.scorer, prompt, completions)

    def stream(self, groups: Iterable[tuple[Prompt, Sequence[Completion]]]) -> Iterator[list[Verdict]]:
        return streamed(self.scorer, groups)

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {}

    def close(self) -> None:
        self.scorer.close()


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a task, checked: those to train on, those held out, how they were counted, and what was odd."""

    name: str
    rows: tuple[Prompt, ...]
    held: tuple[Prompt, ...]
    counted: str
    warnings: tuple[str, ...]

    def task(self, scorer: Scorer, seed: int) -> FileTask:
        """The task that `scorer` scores.

        Raises:
            ConfigError: a reward needs a column that a row lacks.
        """
        scorer.check((*self.rows, *self.held))
        warnings = tuple(filter(None, [*self.warnings, scorer.warning]))
        return FileTask(self.name, self.rows, self.held, scorer, seed, self.counted, warnings)


def read_rows(
    source: Source,
    held_out: Source | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Literal["keep", "drop"] = "keep",
    max_bad: int = 0,
    reads: Reads = list,
) -> Rows:
    """The rows of a source. None that asks what a held-out prompt asks is trained on.

    Without a source of held-out rows one different prompt in ten is held out (and at least one), by its first row,
    chosen by a hash of what it asks: the same ones for every seed. Rows that are equal in every column are counted, and
    `drop` keeps the first. An answer may be missing only where no reward reads it: see `read_table`.

    Raises:
        DataError: a source cannot be read, more than `max_bad` rows are malformed or all of one are, or none is left
            to train on.
        ConfigError: `columns` takes a column that is not there, or a dataset has no such split.
    """
    tables = [read_table(each, columns or {}, reads) for each in (source, held_out) if each]
    warnings = (*(warning for table in tables for warning in table.warnings), *strict(tables, max_bad))
    kept = [unique(table.prompts) if duplicates == "drop" else table.prompts for table in tables]
    asked = questions(kept[0])
    held = kept[1] if held_out else set_aside(kept[0], asked)
    taken = set(questions(held))
    rows = tuple(prompt for prompt, name in zip(kept[0], asked, strict=True) if name not in taken)
    if not rows:
        text = "no prompt is left to train on once the held-out ones are set aside; add other rows"
        raise DataError(f"{source.file}: {text}")
    counted = counts(tables[0], kept[0])
    if held_out and (tables[1].faults or len(kept[1]) < len(tables[1].prompts)):
        counted = f"{counted}, held-out file: {counts(tables[1], kept[1])}"
    return Rows(source.name, rows, held, counted, warnings)


def unique(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """The first of each row."""
    return tuple({prompt.id: prompt for prompt in reversed(prompts)}.values())[::-1]


def set_aside(prompts: Sequence[Prompt], asked: Sequence[str]) -> tuple[Prompt, ...]:
    """The prompts that are held out: the first row of one question in ten, by the hashes of what they ask."""
    first = dict(zip(reversed(asked), reversed(prompts), strict=True))
    return tuple(first[name] for name in sorted(first)[: max(1, len(first) // HELD_OUT_SHARE)])


def counts(table: Table, kept: Sequence[Prompt]) -> str:
    """How many rows a table had, and what became of them: "302 rows, 2 malformed, 3 unique, 297 copies dropped"."""
    different = len({prompt.id for prompt in table.prompts})
    dropped = len(table.prompts) - len(kept)
    found = [f"{table.total} rows", f"{different} unique"]
    found += [f"{len(table.faults)} malformed and left out"] if table.faults else []
    return ", ".join([*found, f"{dropped} copies dropped"] if dropped else found)


def questions(prompts: Sequence[Prompt]) -> list[str]:
    """A hash of what each shows the policy: equal for rows that ask the same, whatever their other columns."""
    made: dict[int, str] = {}
    for content in (prompt.content for prompt in prompts):
        if id(content) not in made:
            made[id(content)] = hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()
    return [made[id(prompt.content)] for prompt in prompts]
