"""A reward tried out before a run, in the processes that a run would use: what it gives, and what is wrong with it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

from strop.errors import DataError
from strop.rewards.builtin import BUILTIN
from strop.rewards.scorer import Scorer
from strop.rewards.trial_kinds import FEW, Must, Try, differing, others, own
from strop.types import Prompt, Verdict

ROWS = 100
"""Rows that are tried, spread evenly over the data."""
NEARLY_ALL, NEARLY_NONE = 0.95, 0.05
MOST_FAILURES = 30
"""After so many failures the trial stops: it knows enough."""

FAILURES = (
    ("time-outs", r"took more than", "make it faster, bound what it works on, or raise task.scoring.deadline_s"),
    ("wrong lengths", r"expected a list|wrong number of scores", "return one number for each completion it is given"),
    ("no numbers", r" returned ", "return a finite number whatever the model wrote; 0.0 is usual for no answer"),
    ("out of memory", r"memory_mb bounds it", "or hold less at a time"),
    ("exceptions", r" raised ", "catch what it raises and return a number whatever the model wrote"),
    ("ended processes", r"", "find out what ends its process; task.scoring.memory_mb bounds its memory"),
)
"""What a failure is called, how its error reads, and what to do."""


@dataclass(slots=True)
class Line:
    """What the completions of one kind scored. `unlike` counts those that scored something else the second time."""

    kind: str
    must: Must
    n: int = 0
    right: int = 0
    failed: int = 0
    unlike: int = 0
    lowest: float = field(default=float("inf"))
    highest: float = field(default=float("-inf"))

    @property
    def share(self) -> float:
        return self.right / self.n if self.n else 0.0

    def add(self, first: Verdict, second: Verdict, solved: float) -> None:
        self.n += 1
        self.unlike += not alike(first, second)
        if first.error or second.error:
            self.failed += 1
            return
        self.right += first.score >= solved
        self.lowest, self.highest = min(self.lowest, first.score), max(self.highest, first.score)

    def record(self) -> dict[str, Any]:
        scored = self.n > self.failed
        return asdict(self) | {"lowest": self.lowest if scored else None, "highest": self.highest if scored else None}


@dataclass(frozen=True, slots=True)
class Report:
    """A trial: its table, what is wrong and what to do, what is worth knowing, and how fast the reward is."""

    reward: str
    rows: int
    lines: list[Line]
    problems: list[str]
    notes: list[str]
    per_second: float

    @property
    def ok(self) -> bool:
        return not self.problems

    def record(self) -> dict[str, Any]:
        fields = {"reward": self.reward, "rows": self.rows, "ok": self.ok, "per_second": round(self.per_second, 1)}
        return fields | {
            "problems": self.problems,
            "notes": self.notes,
            "kinds": [line.record() for line in self.lines],
        }


class Trial:
    """Tries a scorer on prompts. A score of `solved` is right; a `bonus` reward need not tell right from wrong."""

    def __init__(self, scorer: Scorer, *, solved: float = 1.0, bonus: bool = False) -> None:
        self.scorer, self.solved, self.bonus = scorer, solved, bonus
        self.lines: dict[str, Line] = {}
        self.errors: list[str] = []
        self.unlike: list[str] = []

    def run(self, prompts: Sequence[Prompt], tick: Callable[[int, int], None] = lambda done, total: None) -> Report:
        """The report of a trial on at most ROWS of these prompts.

        Raises:
            DataError: there are none.
        """
        if not prompts:
            raise DataError("there are no rows to try the reward on")
        rows = [prompts[place * len(prompts) // ROWS] for place in range(ROWS)] if len(prompts) > ROWS else [*prompts]
        first = [(row, own(row)) for row in rows]
        start = time.perf_counter()
        whole = self.both(first, lambda done: tick(done, 2 * len(rows)))
        speed = 2 * sum(line.n for line in self.lines.values()) / (time.perf_counter() - start)
        form = self.best().kind
        wrong = differing(rows)
        second = [(row, others(row, wrong[place], form, large=place < FEW)) for place, row in enumerate(rows)]
        whole = whole and self.both(second, lambda done: tick(len(rows) + done, 2 * len(rows)))
        notes = [] if whole else [f"It was stopped after {len(self.errors)} failures."]
        problems = [*self.failures(), *(self.doubts() if whole else ())]
        return Report(self.scorer.name, len(rows), [*self.lines.values()], problems, notes + self.notes(), speed)

    def both(self, groups: Sequence[tuple[Prompt, list[Try]]], tick: Callable[[int], None]) -> bool:
        """Score every group twice, the second time in reverse; -> whether that came to its end."""
        twice = chain.from_iterable(((prompt, tries), (prompt, tries[::-1])) for prompt, tries in groups)
        verdicts = self.scorer.stream((prompt, [each.completion() for each in tries]) for prompt, tries in twice)
        for done, (_, tries) in enumerate(groups, start=1):
            first, second = next(verdicts), next(verdicts)[::-1]
            for each, one, other in zip(tries, first, second, strict=True):
                self.add(each, one, other)
            tick(done)
            if len(self.errors) > MOST_FAILURES:
                return False
        return True

    def add(self, each: Try, one: Verdict, other: Verdict) -> None:
        line = self.lines.setdefault(each.kind, Line(each.kind, each.must))
        line.add(one, other, self.solved)
        self.errors += [f"{verdict.error} ({each.kind})" for verdict in (one, other) if verdict.error][:1]
        if not alike(one, other):
            self.unlike.append(f"{each.kind}: {told(one)}, then {told(other)}")

    def best(self) -> Line:
        """The form in which most own answers score right; the bare answer only if no other does as well."""
        forms = [line for line in self.lines.values() if line.must == "right"]
        return max(forms, key=lambda line: (line.share, line.kind != "bare"), default=Line("bare", "right"))

    def failures(self) -> Iterator[str]:
        """What failed, kind by kind, with the first error of each and what to do."""
        found: dict[int, list[str]] = {}
        for error in self.errors:
            kind = next(place for place, (_, pattern, _) in enumerate(FAILURES) if re.search(pattern, error))
            found.setdefault(kind, []).append(error)
        for kind, errors in sorted(found.items()):
            name, _, advice = FAILURES[kind]
            own_fault = name == "exceptions" and any(errors[0].startswith(f"reward {use} raised") for use in BUILTIN)
            yield f"{len(errors)} {name}: {errors[0]}" + ("" if own_fault else f"; {advice}")
        if self.unlike:
            text = "scored something else the second time; a reward with chance or memory in it trains on noise"
            yield f"{len(self.unlike)} completions {text} ({self.unlike[0]})"

    def doubts(self) -> Iterator[str]:
        """What a reward that never fails may still get wrong."""
        scored = [line for line in self.lines.values() if line.n > line.failed]
        lowest = min((line.lowest for line in scored), default=0.0)
        highest = max((line.highest for line in scored), default=0.0)
        if scored and lowest == highest:
            yield f"every completion scored {lowest:g}: nothing can be learned from that"
            return
        if not -1.0 <= lowest <= highest <= 1.0:
            text = "an accuracy lies between 0 and 1; return a dict with `acc` beside the `score`, or set task.solved"
            yield f"scores reach from {lowest:g} to {highest:g}: {text}"
        if self.bonus:
            return
        best = self.best()
        if best.share < NEARLY_ALL:
            advice = "compare the forms in the table with what the reward reads, and the column with the right answers"
            yield f"own answers score right for {best.share:.0%} of the rows at best ({best.kind!r}); {advice}"
        for line in self.lines.values():
            if line.must == "wrong" and line.share > NEARLY_NONE:
                yield f"{line.kind!r} scores right for {line.share:.0%} of the rows; it must not"

    def notes(self) -> list[str]:
        """What is worth knowing of a reward, and no fault."""
        forms = [f"{line.kind} {line.share:.0%}" for line in self.lines.values() if line.must == "right"]
        hedge = self.lines.get("right, then wrong")
        found = [f"Own answers score right by form: {', '.join(forms)}."] if forms else []
        if hedge and not self.bonus and hedge.share > NEARLY_NONE:
            text = "a model can learn to give several answers"
            found.append(
                f"A right answer that is then withdrawn scores right for {hedge.share:.0%} of the rows: {text}."
            )
        return [*found, *([self.scorer.warning] if self.scorer.warning else [])]


def alike(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts on one completion say the same; two failures do."""
    if one.error or other.error:
        return bool(one.error) == bool(other.error)
    return (one.score, one.bonus, one.answer) == (other.score, other.bonus, other.answer)


def told(verdict: Verdict) -> str:
    return "a failure" if verdict.error else f"{verdict.score:g}" + (f" + {verdict.bonus:g}" if verdict.bonus else "")
