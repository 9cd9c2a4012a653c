"""The mean that a run is asked for is the mean that it takes: recomputed by hand from its rollouts file."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import strop
from strop.run.store import read_rows

MAX_TOKENS = 48


def by_hand(rows: list[dict[str, Any]], aggregation: str) -> float:
    """At ratio 1 the loss of a token is -A: the mean of -A over tokens, prompts or completions."""
    groups: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for row in rows:
        groups[row["draw"]].append((-row["advantage"], len(row["ids"])))
    every = [pair for group in groups.values() for pair in group]
    if aggregation == "token":
        return sum(loss * tokens for loss, tokens in every) / sum(tokens for _, tokens in every)
    if aggregation == "prompt":
        means = [sum(loss * tokens for loss, tokens in g) / sum(tokens for _, tokens in g) for g in groups.values()]
        return sum(means) / len(means)
    if aggregation == "sequence":
        return sum(loss for loss, _ in every) / len(every)
    return sum(loss * tokens for loss, tokens in every) / len(every) / MAX_TOKENS


@pytest.mark.parametrize("aggregation", ["token", "prompt", "sequence", "constant"])
def test_the_loss_of_a_step_is_the_mean_that_was_asked_for(aggregation: str, tmp_path: Path) -> None:
    run = strop.train(
        {
            "runs": str(tmp_path),
            "run": "r",
            "objective": {} if aggregation == "token" else {"aggregation": aggregation},
            "rollout": {"prompts": 6, "max_tokens": MAX_TOKENS},
            "train": {"steps": 1, "updates": 1, "tokens_per_micro_batch": 300},
            "eval": {"prompts": 4, "completions": 1, "every": 0},
        }
    )
    table = pq.read_table(run.folder / "rollouts" / "step-000001.parquet").to_pylist()
    trained = [row for row in table if row["fate"] == "trained"]
    assert len({len(row["ids"]) for row in trained}) > 1
    [metrics] = read_rows(run.folder / "metrics.jsonl")
    assert metrics["loss"] == pytest.approx(by_hand(trained, aggregation), abs=1e-6)
    others = [by_hand(trained, other) for other in ("token", "prompt", "sequence", "constant") if other != aggregation]
    assert all(abs(metrics["loss"] - other) > 1e-4 for other in others)
