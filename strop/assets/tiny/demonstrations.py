"""The imperfect demonstrations that `strop:tiny` learned from, before any reinforcement learning.

Four ways to answer `...4+7-2............=`, none of them good enough:

    direct      #9              mostly a guess: right one time in four beyond three digits
    steps       4+7=1-2=9#9     careless: a step comes out wrong, is left out, or is done twice
    verbose     4+7=1-2=9?4+7=1-2=9#9     works it all out again, needlessly
    unfinished  4+7=1-2=9?4+7=1-2=9?4+7=...    never answers
"""

from __future__ import annotations

import random

from strop.tasks.arithmetic import terms_of

SHARES = {"direct": 0.55, "steps": 0.24, "verbose": 0.13, "unfinished": 0.08}
DIRECT_RIGHT = {2: 0.8, 3: 0.5}
DIRECT_RIGHT_BEYOND = 0.25
WRONG, LEFT_OUT, DONE_TWICE = 0.07, 0.03, 0.03
SIZES = range(2, 9)  # one size less than the task asks for
UNFINISHED_LENGTH = 80


def demonstration(rng: random.Random, problem: str, answer: str) -> tuple[str, bool]:
    """A demonstrated completion of `problem`, and whether it ends (is followed by the end token)."""
    [style] = rng.choices(list(SHARES), weights=list(SHARES.values()))
    if style == "direct":
        right = rng.random() < DIRECT_RIGHT.get(len(terms_of(problem)), DIRECT_RIGHT_BEYOND)
        return "#" + (answer if right else str(rng.randrange(10))), True
    if style == "steps":
        worked = chain(rng, problem)
        return worked + "#" + worked[-1], True
    if style == "verbose":
        worked = chain(rng, problem) + "?" + chain(rng, problem)
        return worked + "#" + worked[-1], True
    worked = chain(rng, problem)
    while len(worked) < UNFINISHED_LENGTH:
        worked += "?" + chain(rng, problem)
    return worked[:UNFINISHED_LENGTH], False


def chain(rng: random.Random, problem: str) -> str:
    """The running chain, "4+7=1-2=9", as somebody careless writes it."""
    first, *rest = terms_of(problem)
    value, worked = int(first), first
    for term in rest:
        [times] = rng.choices([0, 1, 2], weights=[LEFT_OUT, 1 - LEFT_OUT - DONE_TWICE, DONE_TWICE])
        for _ in range(times):
            value = (value + int(term)) % 10
            if rng.random() < WRONG:
                value = (value + rng.randrange(1, 10)) % 10
            worked += f"{term}={value}"
    return worked
