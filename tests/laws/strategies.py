"""Random batches for the laws: any row of the table, any mask with holes, any ids, groups of any size, or nothing live.

What a law may turn on is drawn by hypothesis, which makes a counter-example small: the row, the mask, the ids, who is
masked. The log-probs come from a seed that is drawn, for no law turns on a digit of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import strop
from strop.algorithms import KINDS, ROWS, Algorithm
from strop.metrics import Metric, Sum
from strop.types import Completion, Group, Prompt, Rollout
from tests.laws.batches import LENGTH, STREAMS, Batch, row_of, with_tops

QUICK, THOROUGH = 50, 2000
SPREADS = (0.0, 1e-3, 0.05, 0.5, 2.0, 30.0)
"""Deviations of the log-ratios: on-policy, inside every trust region, far outside, and beyond the clamp of 20."""

ANY_ID = st.integers(-(2**63), 2**63 - 1)
ANY_SEED = st.integers(0, 2**32 - 1)


def law(**drawn: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Checks a law on 50 random draws, and as a slow test on 2,000: the same ones each time."""

    def searched(check: Callable[..., None]) -> Any:
        def test(examples: int) -> None:
            fixed = settings(max_examples=examples, deadline=None, derandomize=True, database=None)
            fixed(given(**drawn)(check))()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        sizes = [QUICK, pytest.param(THOROUGH, marks=pytest.mark.slow)]
        return pytest.mark.parametrize("examples", sizes)(test)

    return searched


@dataclass(frozen=True)
class Case:
    """A row, a batch in the arguments of policy_loss, and random numbers for what a law does with them."""

    row: Algorithm
    batch: Batch
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 1])

    @property
    def live(self) -> Any:
        return self.batch["mask"] == 1


PLAIN = [row_of(name) for name in ROWS]
PENALTIES = [{"kind": "kl", "beta": 0.1, "estimator": "unbiased"}, {"kind": "entropy", "beta": 0.02}]
TOPS = [{"kind": "divergence", "measure": measure, "low": 0.05, "high": 0.1, "topk": 3} for measure in ("tv", "kl")]
CHANGED = [
    *(strop.algorithm(name, length=LENGTH, regularizers=PENALTIES) for name in ROWS),
    *(
        row_of(name, correction=kind, regularizers=PENALTIES)
        for name, row in ROWS.items()
        for kind in KINDS["correction"]
        if row.anchor == "old"
    ),
    *(row_of(name, trust=trust) for name in ("dppo_tv", "dppo_kl") for trust in TOPS),
]
"""The rows with what may be added to them: regularizers, corrections, a top-K divergence."""

plain_rows = st.sampled_from(PLAIN)
rows = st.sampled_from([*PLAIN * 5, *CHANGED])
neighbours = st.integers(-(2**63), 2**63 - 4).map(lambda first: [first, first + 1, first + 2, first + 3])
ids = st.one_of(st.lists(ANY_ID, min_size=4, max_size=4), neighbours)
owners = st.integers(0, 4**6 - 1)


def masked(width: int, codes: list[int]) -> Any:
    """[B, T] of 0 and 1: a row's code holds its length, whether it has holes, and where they are."""
    rows = [(min(code // 128, width), code if code & 64 else 63) for code in codes]
    return np.array([[int(t < length and holes >> t & 1) for t in range(width)] for length, holes in rows])


masks = st.builds(masked, st.integers(1, 6), st.lists(st.integers(0, 7 * 128 - 1), min_size=1, max_size=6))


def grouped(ids: list[int], owner: int, completions: int) -> Any:
    """A group id for each completion, one of `ids`: groups are scattered, of unequal size, or empty."""
    return np.array([ids[owner >> 2 * i & 3] for i in range(completions)], dtype=np.int64)


def case_of(*, row: Algorithm, mask: Any, ids: list[int], owner: int, spread: float, inside: bool, seed: int) -> Case:
    """`inside`: advantages differ inside a completion. Some advantages are 0."""
    rng = np.random.default_rng(seed)
    logp = np.log(rng.beta(2, 2, mask.shape))
    near = {name: np.minimum(logp + spread * rng.standard_normal(mask.shape), -1e-3) for name in STREAMS}
    advantage = rng.standard_normal(mask.shape if inside else len(mask))
    batch = {
        "logp": logp,
        "advantage": np.where(rng.random(advantage.shape) < 0.15, 0.0, advantage),
        "mask": mask,
        "group": grouped(ids, owner, len(mask)),
        "entropy": rng.random(mask.shape),
        **near,
    }
    return Case(row, with_tops(batch, row.topk, seed=seed) if row.topk else batch, seed)


def cases(rows: SearchStrategy[Algorithm] = rows) -> SearchStrategy[Case]:
    drawn = {"row": rows, "mask": masks, "ids": ids, "owner": owners, "spread": st.sampled_from(SPREADS)}
    return st.builds(case_of, **drawn, inside=st.booleans(), seed=ANY_SEED)  # type: ignore[arg-type]


def sampled(codes: list[int]) -> list[Group]:
    """Groups of unequal size, as a sampler gives them; every completion has ids that no other has."""
    made: list[list[Rollout]] = []
    named = iter(range(1000, 10_000))
    for code in codes:
        tokens, rest = code % 8 + 1, code // 8
        ids = tuple(next(named) for _ in range(tokens))
        finish = "length" if rest & 1 else "stop"
        completion = Completion(ids, tuple(-1000.0 / i for i in ids), "", finish, 0)  # type: ignore[arg-type]
        rollout = Rollout(completion, float(rest >> 1 & 1), -0.25 * (rest >> 2 & 1))
        if not made or rest >> 3 & 1:
            made.append([])
        made[-1].append(rollout)
    prompts = [tuple(range(3 + 10 * i, 4 + 10 * i + codes[i] % 3)) for i in range(len(made))]
    return [Group(7 * i, Prompt("the same", "?"), prompts[i], tuple(rollouts)) for i, rollouts in enumerate(made)]


groups = st.builds(sampled, st.lists(st.integers(0, 127), min_size=1, max_size=10))


def size_of(loss: Any, weight: Any) -> float:
    """What the loss would be, had all its terms one sign: what its rounding is measured by."""
    return float(np.abs(weight * loss).sum())


def agree(actual: dict[str, Metric], expected: dict[str, Metric], size: float, tolerance: float = 1e-12) -> None:
    """Every metric is the same; a loss, whose terms cancel, to within its own size."""
    assert actual.keys() == expected.keys()
    for name, metric in expected.items():
        bound = size if isinstance(metric, Sum) else abs(metric.total)
        assert abs(actual[name].total - metric.total) <= tolerance * max(1.0, bound), name
        assert actual[name].weight == metric.weight, name
