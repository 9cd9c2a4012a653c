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
from collections.abc import Container, Sequence
from functools import cache
from itertools import product

from strop.errors import ConfigError
from strop.types import Completion, Prompt, Verdict

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
        """`count` different held-out sums, sizes in turn until one is used up; the same ones whatever the run's seed.

        Raises:
            ConfigError: there are fewer.
        """
        rng, again = random.Random(HELD_OUT_SEED), random.Random(f"{HELD_OUT_SEED}/again")
        found: dict[str, Prompt] = {}
        rounds = 0
        while len(found) < count:
            sizes = [size for size in SIZES if has_more(size, rounds)]
            if not sizes:
                raise ConfigError(f"eval.prompts: {count} asked for, and {self.name} has {len(found)} held-out sums")
            for size in sizes[: count - len(found)]:
                text = another(rng, again, size, found)
                found[sum_of(text)] = as_prompt(text)
            rounds += 1
        return tuple(found.values())

    def known(self) -> Sequence[Prompt]:
        return ()

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        """1.0 where the completion ends in '#' and the right digit, else 0.0; maj@k votes on that digit."""
        answers = [answer(completion) for completion in completions]
        return [Verdict(float(found == prompt.columns["answer"]), answer=found) for found in answers]

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {"size": str(prompt.columns["size"]), "style": style(completion)}

    def close(self) -> None:
        """Nothing runs beside it."""


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


def another(rng: random.Random, again: random.Random, size: int, known: Container[str]) -> str:
    """A held-out problem of `size` digits whose sum is not `known`; one that is, is replaced from the stream `again`,
    so that the problems after it stay what they are."""
    text = problem(rng, size, held_out=True)
    while sum_of(text) in known:
        text = problem(again, size, held_out=True)
    return text


def sum_of(text: str) -> str:
    """The sum itself, wherever it stands in the field: "4+7-2"."""
    return text.strip(".=")


def is_held_out(text: str) -> bool:
    """Whether this sum is held out: wherever it stands in the field."""
    return int.from_bytes(hashlib.sha256(sum_of(text).encode()).digest()[:4]) % 5 == 0


def has_more(size: int, used: int) -> bool:
    """Whether more than `used` sums of this size are held out.

    Of 10 * 20^(size-1) sums about a fifth are: below a tenth there are more for sure, and only beyond they are counted.
    """
    return used < 20 ** (size - 1) or used < held_out_sums(size)


@cache
def held_out_sums(size: int) -> int:
    terms = [sign + digit for sign in "+-" for digit in "0123456789"]
    return sum(is_held_out("".join(sums)) for sums in product("0123456789", *[terms] * (size - 1)))


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
