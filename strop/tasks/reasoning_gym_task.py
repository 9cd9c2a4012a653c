"""Problems that reasoning-gym makes by seed (extra `tasks`): an endless stream, or so many; scored as it scores them.

    task: {kind: reasoning_gym, name: chain_sum, data: {settings: {min_terms: 2, max_terms: 4}}}

`settings` are the dataset's own, and three of ours:

    instruction   what stands before a question: a text, the name of one of reasoning-gym's own, or "" for nothing
    size          how many different problems there are, epoch after epoch; 0: each draw makes a new one
    seed          what they are made from, instead of the run's seed
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from strop.errors import ConfigError, DataError
from strop.names import did_you_mean, nearest
from strop.rewards.inside import unpacked
from strop.rewards.sandbox import Ended, Session
from strop.rewards.scorer import Scorer
from strop.tasks.order import place_of
from strop.tasks.tags import answer
from strop.tasks.votes import judged, streamed
from strop.types import Completion, Prompt, Verdict

INSTRUCTION = (
    "Work out the answer to the question below, step by step. Then write it, and nothing else, between <answer> and "
    "</answer>. If the question shows the form of an answer, keep to that form."
)
BLOCK = 500
"""Problems that come from one seed of the library; its datasets are made for about so many."""

SHARE = 5
"""One question in so many is held out, by a hash of what it asks."""

TRIES = 200
OPEN_S, MAKE_S = 120.0, 120.0
ENTRY_BYTES = 64 * 2**20


class Maker:
    """The process that makes problems (strop.tasks.reasoning_gym_maker), of one dataset with one set of settings."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name, self.settings = name, dict(settings)
        root = str(Path(__file__).parents[2])
        paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "strop.tasks.reasoning_gym_maker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"},
        )
        self.session = Session(process)

    def open(self) -> dict[str, str]:
        """The instructions that reasoning-gym has, by name, if there is such a dataset and it takes the settings.

        Raises:
            ConfigError: there is not, or it does not.
        """
        found = self.ask({"name": self.name, "settings": self.settings}, OPEN_S)
        refused = found.get("refused")
        if refused == "name" and "among" in found:
            near = did_you_mean(nearest(self.name, found["among"]))
            raise ConfigError(f"task.name: reasoning-gym has no dataset {self.name!r}{near}")
        if refused and "among" in found:
            near = did_you_mean(nearest(refused, found["among"]))
            raise ConfigError(
                f"task.data.settings: {self.name} has no setting {refused!r}; it has {', '.join(found['among'])}{near}"
            )
        if refused:
            raise ConfigError(f"task.data.settings: {self.name} does not take them: {refused}")
        return found["instructions"]

    def entry(self, seed: int, index: int) -> dict[str, Any]:
        """Problem `index` of this seed, packed.

        Raises:
            DataError: the library raised, or took too long.
        """
        found = self.ask({"seed": seed, "index": index}, MAKE_S)
        if "entry" not in found:
            raise DataError(f"reasoning-gym {self.name}: problem {index} of seed {seed}: {found.get('refused')}")
        return found["entry"]

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            return self.session.ask(message, time.monotonic() + seconds, ENTRY_BYTES)
        except Ended as ended:
            said = f"took over {seconds:.0f} s" if ended.why == "late" else f"ended: {self.session.said()}"
            raise DataError(f"reasoning-gym {self.name}: what makes its problems {said}") from ended

    def close(self) -> None:
        self.session.close()


@dataclass(frozen=True, slots=True)
class ReasoningGym:
    """A dataset of reasoning-gym in an endless stream, `content` being the seed of its problems.

    A question is either held out or trained on, whatever the seeds: which, a hash of it decides.
    """

    name: str
    maker: Maker
    scorer: Scorer
    seed: int
    content: int
    size: int
    instruction: str

    @property
    def description(self) -> str:
        size = f"{self.size} problems" if self.size else "problems without end"
        settings = ", ".join(f"{key} {value}" for key, value in self.maker.settings.items())
        return f"reasoning-gym {self.name}, {size} made by seed" + (f" ({settings})" if settings else "")

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(filter(None, [self.scorer.warning]))

    def prompt(self, draw: int) -> Prompt:
        number = place_of(self.seed, draw, self.size) if self.size else draw
        for attempt in range(TRIES):
            prompt = self.made("train", self.content, number, attempt)
            if not is_held_out(prompt):
                return prompt
        raise DataError(f"reasoning-gym {self.name}: its questions are too few: all of {TRIES} are held out ones")

    def held_out(self, count: int) -> tuple[Prompt, ...]:
        """At most `count` different held-out questions, the same ones whatever the run's seed.

        Raises:
            DataError: there is none.
        """
        found: dict[str, Prompt] = {}
        for number in range(TRIES + 4 * SHARE * count):
            if len(found) == count:
                break
            prompt = self.made("held out", 0, number, 0)
            if is_held_out(prompt):
                found.setdefault(str(prompt.columns["question"]), prompt)
        if count and not found:
            raise DataError(f"reasoning-gym {self.name}: its questions are too few: none can be held out")
        return tuple(found.values())

    def made(self, stream: str, seed: int, number: int, attempt: int) -> Prompt:
        """Problem `number` of a stream, in one of many versions."""
        block, index = divmod(number, BLOCK)
        digest = hashlib.sha256(f"{stream}/{seed}/{block}/{attempt}".encode()).digest()
        entry = self.maker.entry(int.from_bytes(digest[:4]) >> 1, index)
        return self.as_prompt(entry)

    def as_prompt(self, packed: dict[str, Any]) -> Prompt:
        entry = unpacked(packed)
        question, right = str(entry["question"]), "" if entry["answer"] is None else str(entry["answer"])
        columns = {
            "question": question,
            "answer": right,
            "dataset": self.name,
            "settings": json.dumps(self.maker.settings),
            "entry": json.dumps(packed),
            "tagged": bool(self.instruction),
        }
        name = hashlib.sha256(f"{question}\0{right}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        content = f"{self.instruction}\n\n{question}" if self.instruction else question
        return Prompt(name, content, columns)

    def known(self) -> Sequence[Prompt]:
        return ()

    def score(self, prompt: Prompt, completions: Sequence[Completion]) -> list[Verdict]:
        return judged(self.scorer, prompt, completions, vote)

    def stream(self, groups: Iterable[tuple[Prompt, Sequence[Completion]]]) -> Iterator[list[Verdict]]:
        return streamed(self.scorer, groups, vote)

    def labels(self, prompt: Prompt, completion: Completion) -> dict[str, str]:
        return {"dataset": str(source_of(str(prompt.columns["entry"])) or self.name)}

    def close(self) -> None:
        self.maker.close()
        self.scorer.close()


def is_held_out(prompt: Prompt) -> bool:
    digest = hashlib.sha256(str(prompt.columns["question"]).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4]) % SHARE == 0


@lru_cache(maxsize=1024)
def source_of(entry: str) -> str:
    """The dataset that a problem of a composite one is from."""
    metadata = unpacked(json.loads(entry)).get("metadata")
    return str(metadata.get("source_dataset") or "") if isinstance(metadata, dict) else ""


def vote(completion: Completion) -> str:
    """What maj@k votes on: the answer of a completion that was not cut off."""
    return "" if completion.truncated else answer(completion.text)


def make(settings: Any, seed: int, scorer: Scorer) -> ReasoningGym:
    """The task of a checked `task` section of kind reasoning_gym.

    Raises:
        ConfigError: the library is missing, has no such dataset, or does not take its settings.
    """
    if not settings.name:
        raise ConfigError("task.name: a reasoning_gym task needs the name of a dataset, such as chain_sum")
    options = dict(settings.data.settings)
    asked, size, content = (
        options.pop("instruction", INSTRUCTION),
        whole(options, "size", 0),
        whole(options, "seed", seed),
    )
    if importlib.util.find_spec("reasoning_gym") is None:
        raise ConfigError("task.kind: reasoning_gym needs the library reasoning-gym: pip install 'strop[tasks]'")
    maker = Maker(settings.name, options)
    try:
        instruction = instruction_of(asked, maker.open())
        task = ReasoningGym(settings.name, maker, scorer, seed, content, size, instruction)
        scorer.check([task.prompt(0)])
    except BaseException:
        maker.close()
        raise
    return task


def whole(options: dict[str, Any], name: str, default: int) -> int:
    value = options.pop(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"task.data.settings.{name}: a whole number from 0 on, not {value!r}")
    return value


def instruction_of(text: Any, named: Mapping[str, str]) -> str:
    """An instruction: itself, or what reasoning-gym has under this name."""
    if not isinstance(text, str):
        raise ConfigError(f"task.data.settings.instruction: a text, not {text!r}")
    if not text.strip() or " " in text.strip():
        return text.strip()
    if text not in named:
        names = ", ".join(named)
        raise ConfigError(f"task.data.settings.instruction: {text!r} is no name; write a text, '' or one of {names}")
    return named[text].strip()
