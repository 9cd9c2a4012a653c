"""Chains of sums and differences modulo 10: single steps are easy, whole chains are hard.

    ...4+7-2............=      wants the last digit of 4 + 7 - 2, written after a '#':   #9

A problem of size n has n digits and stands somewhere in a field of 20 characters. Problems are drawn by seed; one in
five of all possible sums is held out, decided by a hash of the sum, so a held-out problem can appear neither in
training nor in a demonstration.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence

from strop.types import Completion, Prompt

SIZES = range(2, 10)
FIELD = 20
TRAILING = 2
ANSWER = re.compile(r"#(\d)$")
HELD_OUT_SEED = "strop/arithmetic/held-out"


class Arithmetic:
    """The task of `strop:tiny`. The stream of prompts is a pure function of (seed, draw)."""

    name = "arithmetic"
    description = f"arithmetic, chains of {SIZES[0]} to {SIZES[-1]} digits modulo 10, made by seed"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def prompt(self, draw: int) -> Prompt:
        rng = random.Random(f"{self.seed}/{draw}")
        return as_prompt(problem(rng, rng.choice(SIZES), held_out=False))

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        """`count` different held-out problems, sizes in turn; the same ones whatever the run's seed."""
        rng = random.Random(HELD_OUT_SEED)
        found: dict[str, Prompt] = {}
        while len(found) < count:
            text = problem(rng, SIZES[len(found) % len(SIZES)], held_out=True)
            found.setdefault(text, as_prompt(text))
        return tuple(found.values())

    def known(self) -> Sequence[Prompt]:
        return ()

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[float]:
        """1.0 where the completion ends in '#' and the right digit, else 0.0."""
        return [float(answer(completion) == prompt.columns["answer"]) for completion in completions]

    def answer(self, prompt: Prompt, completion: Completion) -> str:
        """The digit that the completion gives, or "" if it gives none: what maj@k votes on."""
        return answer(completion)

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {"size": str(prompt.columns["size"]), "style": style(completion)}


def problem(rng: random.Random, size: int, *, held_out: bool, largest: int = 9) -> str:
    """A problem of `size` digits on the wanted side of the held-out split, such as "...4+7-2............=".

    `largest` bounds the digits that are added and subtracted, not the first.
    """
    while True:
        terms = [rng.choice("+-") + str(rng.randrange(largest + 1)) for _ in range(size - 1)]
        digits = str(rng.randrange(10)) + "".join(terms)
        indent = rng.randint(0, FIELD - TRAILING - len(digits))
        text = ("." * indent + digits).ljust(FIELD, ".") + "="
        if is_held_out(text) == held_out:
            return text


def is_held_out(text: str) -> bool:
    """Whether this sum is held out: wherever it stands in the field."""
    return int.from_bytes(hashlib.sha256(text.strip(".=").encode()).digest()[:4]) % 5 == 0


def as_prompt(text: str) -> Prompt:
    return Prompt(id=text, content=text, columns={"answer": solve(text), "size": len(terms_of(text))})


def terms_of(text: str) -> list[str]:
    """The signed digits of a problem: ["4", "+7", "-2"]."""
    return re.findall(r"[+-]?\d", text)


def solve(text: str) -> str:
    return str(sum(map(int, terms_of(text))) % 10)


def answer(completion: Completion) -> str:
    found = ANSWER.search(completion.text) if completion.finish == "stop" else None
    return found.group(1) if found else ""


def style(completion: Completion) -> str:
    """How the answer was reached: direct, steps, verbose (it worked the chain again), or unfinished."""
    if completion.truncated:
        return "unfinished"
    if completion.text.startswith("#"):
        return "direct"
    return "verbose" if "?" in completion.text else "steps"
