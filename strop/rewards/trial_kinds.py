"""What a reward is tried on: the data's own answers in the forms that models write them, and what must not be right.

right     own answers, each in every form; one form at least must score right for nearly all rows
wrong     answer of another row, an empty completion, the prompt again: must not score right
any       huge, odd, cut off, made to break a checker: must give a number in time, the same one twice
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from strop.rewards.extract import gold_text
from strop.rewards.gold import gold, has_gold
from strop.types import Completion, Prompt

Must = Literal["right", "wrong", "any"]

FORMS: dict[str, Callable[[str], str]] = {
    "bare": lambda answer: answer,
    r"\boxed{}": lambda answer: f"So the answer is \\boxed{{{answer}}}.",
    "#### x": lambda answer: f"We work it out.\n#### {answer}",
    "The answer is x.": lambda answer: f"We work it out. The answer is {answer}.",
    "<answer>x</answer>": lambda answer: f"<think>\nWe work it out.\n</think>\n<answer>{answer}</answer>",
    "``` block": lambda answer: f"```python\n{answer}\n```",
}
"""The forms in which an answer is written."""

AS_IT_IS = "as the row has it"
PROGRAMS = ("canonical_solution", "code", "solution")
"""Columns that hold a right program; it is the own answer in a ``` block."""

MEGABYTE = 10**6
HIDDEN = "\u202e\u2066\u200b\ufeff\x00\x07\x1b[2J\x1b]0;x\x07\ud800\udfff"
"""Marks that turn the reading direction, take no room, end a C string, act on a terminal, or are half a character."""
SCRIPTS = "\u0661\u0662 \u4e09\u5341 \u00bd \u2153 \U0001f9ee e\u0301\u0302"
BREAKERS = {
    "boxes, 100,000 open": r"\boxed{" * 100_000,
    "braces, 200,000 open": "{" * 200_000,
    "braces, 100,000 deep": r"\boxed{" + "{" * 100_000 + "}" * 100_000 + "}",
    "9^9^9^9": r"\boxed{9^{9^{9^{9}}}}",
    "10**10**10": "<answer>10**10**10</answer>",
    "a long sum": r"\boxed{" + "+".join(["x"] * 20_000) + "}",
    "a factorial of 10^9": r"\boxed{(10^9)!}",
    "a thousand answers": " ".join(f"The answer is {number}." for number in range(1000)),
    "phrases, 20,000": "The answer is " * 20_000,
    "spaces, 100,000": " " * 100_000 + "x",
    "backslashes, 100,000": "\\" * 100_000,
    "tags, 20,000": "<think>" * 20_000 + "<answer>" * 20_000,
    "HTML and terminal codes": "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x1b]8;;http://x\x07[/INST]",
    "one digit, 500,000 times": "7" * 500_000,
}
FEW = 5
"""Rows that the large completions are tried on."""


@dataclass(frozen=True, slots=True)
class Try:
    """One completion of a prompt, of which kind it is, and what must come of it."""

    kind: str
    must: Must
    text: str
    truncated: bool = False

    def completion(self) -> Completion:
        return Completion((0,), (0.0,), self.text, "length" if self.truncated else "stop", 0)


def right_answer(prompt: Prompt) -> str:
    """The right answer of a row as a text: of a whole solution what it ends in; "" if there is none to write."""
    found = gold(prompt.columns) if has_gold(prompt.columns) else ""
    if isinstance(found, bool | Mapping | list | tuple):
        return ""
    return gold_text(str(found))


def own(prompt: Prompt) -> list[Try]:
    """The row's own answer in every form that it can be written in."""
    answer, tries = right_answer(prompt), list[Try]()
    whole = gold(prompt.columns) if has_gold(prompt.columns) else ""
    program = next((prompt.columns[name] for name in PROGRAMS if isinstance(prompt.columns.get(name), str)), answer)
    for form, write in FORMS.items():
        text = program if form == "``` block" else answer
        tries += [Try(form, "right", write(text))] if text else []
    if isinstance(whole, str) and whole.strip() != answer:
        tries.append(Try(AS_IT_IS, "right", whole))
    return tries


def others(prompt: Prompt, other: str, form: str, *, large: bool) -> list[Try]:
    """What is no right answer, or hides one; `other` is answer of another row, `form` one that the reward reads."""
    write = FORMS.get(form, FORMS["bare"])
    answer = right_answer(prompt)
    whole = write(answer) if form != AS_IT_IS else str(gold(prompt.columns))
    shown = prompt.content if isinstance(prompt.content, str) else prompt.content[-1]["content"]
    tries = [
        Try("empty", "wrong", ""),
        Try("spaces and line breaks", "wrong", " \n\t \n"),
        Try("the prompt again", "wrong", shown),
        Try("right, then wrong", "any", f"{whole}\nNo: {write(other)}" if other else whole),
        Try("cut off half way", "any", whole[: len(whole) // 2], truncated=True),
        Try("odd characters around it", "any", f"{HIDDEN}{whole}{HIDDEN}"),
        Try("odd characters inside", "any", write(HIDDEN + answer)),
        Try("letters of all scripts", "any", f"{write(answer)} {SCRIPTS}"),
    ]
    if other:
        tries.insert(0, Try("answer of another row", "wrong", write(other)))
    if large:
        tries += [Try(name, "any", text) for name, text in BREAKERS.items()]
        tries.append(Try("1 MB before it", "any", "I think. " * (MEGABYTE // 9) + whole))
        tries.append(Try("1 MB without end", "any", "x" * MEGABYTE))
    return tries


def differing(prompts: list[Prompt]) -> list[str]:
    """For each row the answer of the next row whose answer is another; "" where there is none."""
    answers = [right_answer(prompt) for prompt in prompts]
    found: list[str] = []
    for place, answer in enumerate(answers):
        later = (*answers[place + 1 :], *answers[:place])
        found.append(next((each for each in later if each and each.strip() != answer.strip()), ""))
    return found
