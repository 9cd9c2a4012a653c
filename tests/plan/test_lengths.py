from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strop.config.load import load
from strop.errors import DataError
from strop.plan import lengths
from strop.plan.lengths import Lengths, lengths_of
from strop.tasks.find import find_task


def found(**changes: Any) -> Lengths:
    config = load(mapping={"model": "strop:tiny", "eval.prompts": 4, **changes})
    task = find_task(config.task, seed=0)
    try:
        return lengths_of(task, config)
    finally:
        task.close()


def prompts(folder: Path, sizes: list[int]) -> dict[str, Any]:
    path = folder / "prompts.jsonl"
    rows = [{"prompt": "1" * size, "answer": "1", "n": i} for i, size in enumerate(sizes)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "reward.py").write_text("def one(prompt, completion, **columns): return 1.0\n")
    return {"task": {"kind": "jsonl", "file": str(path), "reward": f"{folder}/reward.py:one"}}


def test_a_task_that_makes_its_prompts_up_is_asked_for_some() -> None:
    made = found()
    assert (made.longest, made.mean, made.listed) == (22, 22.0, 0)
    assert made.looked_at == lengths.MADE + 4


def test_of_prompts_that_are_listed_all_are_looked_at_or_some_evenly_spaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = prompts(tmp_path, [*range(1, 41)])
    every = found(**given)
    assert (every.longest, every.listed) == (41, 40)
    monkeypatch.setattr(lengths, "LOOKED_AT", 8)
    some = found(**given)
    assert (some.looked_at, some.listed) == (8 + 4, 40)
    assert some.mean == pytest.approx(every.mean, abs=6)


def test_a_prompt_that_a_run_would_refuse_is_refused_here(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="over the limit of 30"):
        found(**prompts(tmp_path, [5, 6, 7, 40]), **{"task.max_prompt_tokens": 30})
