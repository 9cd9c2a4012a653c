"""The process that makes reasoning-gym's problems. It is started with hashes that are not salted: some of its datasets
follow from the order of a set of texts, and so would differ from process to process.

python -m strop.tasks.reasoning_gym_maker       one JSON line a request on stdin, one an answer on stdout

    {"name": name, "settings": {...}}       {"instructions": {...}}, or {"refused": why, "among": [...]}
    {"seed": seed, "index": i}              {"entry": packed}, or {"refused": why}
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import sys
from typing import Any

from reasoning_gym.utils import SYSTEM_PROMPTS  # type: ignore[import-not-found]

from strop.rewards.inside import packed
from strop.tasks.reasoning_gym_score import (
    DATASETS,  # pyright: ignore[reportAttributeAccessIssue]
    dataset_of,
)


class Maker:
    """Answers requests about one dataset."""

    def __init__(self) -> None:
        self.name, self.settings = "", "{}"

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.opened(**request) if "name" in request else self.made(**request)
        except Exception as error:
            return {"refused": f"{type(error).__name__}: {error}" if str(error) else type(error).__name__}

    def opened(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        if name not in DATASETS:
            return {"refused": "name", "among": sorted(DATASETS)}
        fields = {field.name for field in dataclasses.fields(DATASETS[name][1])} - {"seed", "size"}
        for key in settings:
            if key not in fields:
                return {"refused": key, "among": sorted(fields)}
        self.name, self.settings = name, json.dumps(settings)
        dataset_of(self.name, self.settings, 0)
        return {"instructions": SYSTEM_PROMPTS}

    def made(self, seed: int, index: int) -> dict[str, Any]:
        random.seed(f"{seed}/{index}")
        entry = dataset_of(self.name, self.settings, seed)[index]
        kept: list[Any] = []
        found = packed(entry, kept)
        return {"refused": f"a problem holds {type(kept[0]).__name__}, which is no data"} if kept else {"entry": found}


def main() -> None:
    """Answer until stdin closes. What the library prints goes nowhere."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    maker = Maker()
    for line in sys.stdin:
        print(json.dumps(maker.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
