"""How reasoning-gym scores an answer: a reward, run in the processes that all rewards run in.

It imports the library, which takes seconds, so nothing imports it but such a process and the one that makes problems.
"""

from __future__ import annotations

import contextlib
import io
import json
from functools import lru_cache
from typing import Any

from strop.errors import ConfigError
from strop.rewards.inside import unpacked
from strop.tasks.tags import answer, is_tagged

try:
    from reasoning_gym.composite import DatasetSpec  # type: ignore[import-not-found]
    from reasoning_gym.factory import DATASETS  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    text = "task.kind: reasoning_gym needs the library reasoning-gym: pip install 'strop[tasks]'"
    raise ConfigError(text) from error

__all__ = ["DATASETS", "answer", "dataset_of", "score"]


def score(completion: str, dataset: str, settings: str, entry: str, tagged: bool) -> float:
    """reasoning-gym's score of the answer: 1.0 if it is right, and for some datasets something between for a part.

    settings    of the dataset, as JSON
    entry       the problem as the library made it, packed (strop.rewards.inside), as JSON
    tagged      an answer must stand in <answer> tags; else a completion without them is one
    """
    given = answer(completion) if is_tagged(completion) or not tagged else None
    with contextlib.redirect_stdout(io.StringIO()):
        return float(dataset_of(dataset, settings, 0).score_answer(given, unpacked(json.loads(entry))))


@lru_cache(maxsize=8)
def dataset_of(name: str, settings: str, seed: int) -> Any:
    """The dataset of a name and settings, whose problem `i` follows from seed + i.

    Raises:
        KeyError: there is none of this name.
        AssertionError, TypeError, ValueError: it does not take these settings.
    """
    kind, config = DATASETS[name]
    options = json.loads(settings)
    if name == "composite":
        options["datasets"] = [DatasetSpec(**{"weight": 1.0, "config": {}, **each}) for each in options["datasets"]]
    made = config(seed=seed, **options)
    if hasattr(made, "validate"):
        made.validate()
    return kind(config=made)
