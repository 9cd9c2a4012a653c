"""A user's reward: 1 if the last whole number in the completion is the right answer, and a little for writing any."""

from __future__ import annotations

import re


def score(prompt: str, completion: str, *, answer: str, **columns: object) -> float:
    numbers = re.findall(r"-?\d+", completion)
    if not numbers:
        return 0.0
    return 1.0 if numbers[-1] == answer else 0.1
