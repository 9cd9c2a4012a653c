"""What maj@k votes on where a reward does not say it: the last number of a completion, or else its last line."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from strop.rewards.scorer import Scorer
from strop.types import Completion, Prompt, Verdict

NUMBER = re.compile(r"(?:(?<![\w)])-)?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:/\d+)?")
"""12, -3, 1,234, 0.5, 3/4. A minus after a digit, a letter or a bracket subtracts: the last number of 2-3 is 3."""


def last_answer(completion: Completion) -> str:
    """The last number of a completion, without its thousands separators; its last line if it has no number.

    A completion that was cut off gives none.
    """
    if completion.truncated:
        return ""
    found = NUMBER.findall(completion.text)
    lines = [line.strip() for line in completion.text.splitlines() if line.strip()]
    return found[-1].replace(",", "") if found else "".join(lines[-1:])


def judged(
    scorer: Scorer,
    prompt: Prompt,
    completions: Sequence[Completion],
    answer: Callable[[Completion], str] = last_answer,
) -> list[Verdict]:
    """The scorer's verdicts; if its accuracy reward finds no answers to vote on, those that `answer` finds."""
    return voted(scorer, scorer(prompt, completions), completions, answer)


def streamed(
    scorer: Scorer,
    groups: Iterable[tuple[Prompt, Sequence[Completion]]],
    answer: Callable[[Completion], str] = last_answer,
) -> Iterator[list[Verdict]]:
    """The same for many groups, in their order, while `groups` gives later ones."""
    waiting: deque[Sequence[Completion]] = deque()

    def asked() -> Iterator[tuple[Prompt, Sequence[Completion]]]:
        for prompt, completions in groups:
            waiting.append(completions)
            yield prompt, completions

    for verdicts in scorer.stream(asked()):
        yield voted(scorer, verdicts, waiting.popleft(), answer)


def voted(
    scorer: Scorer, verdicts: list[Verdict], completions: Sequence[Completion], answer: Callable[[Completion], str]
) -> list[Verdict]:
    if scorer.votes:
        return verdicts
    return [
        verdict if verdict.answer or verdict.error else replace(verdict, answer=answer(completion))
        for verdict, completion in zip(verdicts, completions, strict=True)
    ]
