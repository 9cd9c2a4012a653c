from __future__ import annotations

import pytest

from strop.batch.split import partition
from strop.config.load import load
from strop.plan.algebra import Chunk, algebra, checkpoints, chunks


def settings(**changes: object) -> object:
    return load(mapping={"model": "strop:tiny", **changes})


def test_the_counts_of_the_default_run() -> None:
    found = algebra(settings(), longest_prompt=22)
    assert (found.groups, found.completions, found.most_groups) == (32, 256, 640)
    assert (found.updates, found.sequences, found.longest, found.tokens) == (4, 64, 86, 256 * 64)
    assert (found.rows, found.micro_batches) == (64, 1)
    assert (found.evaluations, found.evaluated, found.checkpoints) == (6, 1800, 2)


@pytest.mark.parametrize(("tokens", "prompts", "updates"), [(100, 5, 2), (1000, 7, 3), (50, 4, 1), (10**6, 9, 9)])
def test_micro_batches_are_those_of_the_split_where_all_sequences_are_as_long_as_can_be(
    tokens: int, prompts: int, updates: int
) -> None:
    config = settings(**{"rollout.prompts": prompts, "train.updates": updates, "train.tokens_per_micro_batch": tokens})
    found = algebra(config, longest_prompt=20)
    parts = partition(range(found.sequences), [found.longest] * found.sequences, tokens)
    assert (len(parts), len(parts[0])) == (found.micro_batches, found.rows)


@pytest.mark.parametrize(
    ("steps", "every", "count"), [(50, 0, 1), (50, 25, 2), (50, 20, 3), (50, 50, 1), (50, 60, 1), (1, 1, 1)]
)
def test_a_run_writes_a_checkpoint_every_so_often_and_one_at_its_end(steps: int, every: int, count: int) -> None:
    assert checkpoints(steps, every) == count


@pytest.mark.parametrize(("steps", "every", "count"), [(50, 0, 2), (50, 10, 6), (50, 49, 3), (50, 50, 2), (1, 1, 2)])
def test_a_run_evaluates_before_and_after_and_between(steps: int, every: int, count: int) -> None:
    assert algebra(settings(**{"train.steps": steps, "eval.every": every}), 20).evaluations == count


def test_the_engine_takes_whole_groups_up_to_its_rows() -> None:
    config = settings(**{"rollout.rows": 20, "rollout.prompts": 9, "rollout.completions": 8, "eval.prompts": 30})
    assert chunks(config) == [Chunk(2, 16), Chunk(2, 16), Chunk(20, 20)]
    assert chunks(settings(**{"rollout.rows": 4}))[0] == Chunk(1, 4)
