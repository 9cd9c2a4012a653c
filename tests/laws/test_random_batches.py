"""Laws of every row on random batches, 2,000 of them for each law: masks with holes, scattered groups, nothing live."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

import strop
from strop.algorithms import KINDS, ROWS
from strop.batch.build import Batch as Built
from strop.batch.build import Share, build
from strop.batch.split import MAX_PADDING, split
from strop.metrics import merge
from strop.objective.advantage import ADVANTAGES
from strop.objective.aggregation import Constant, Counts, count
from tests.laws.batches import STREAMS, Batch, error, row_of, taken
from tests.laws.strategies import (
    ANY_ID,
    ANY_SEED,
    Case,
    agree,
    cases,
    grouped,
    groups,
    ids,
    law,
    masks,
    owners,
    plain_rows,
    size_of,
)
from tests.objective.twins import Out, Reference, Torch, close

OLD_ROWS = [name for name, row in ROWS.items() if row.anchor == "old"]
GARBAGE = [math.nan, math.inf, -math.inf, 1e30, -1e30]


def weights(case: Case) -> Any:
    return Torch().token_weights(case.batch["mask"], case.batch["group"], case.row.aggregation)


def loss_of(case: Case, **changes: Any) -> Out:
    return Torch().policy_loss(case.row, **{**case.batch, **changes})


def the_same(found: Out, right: Out, size: float) -> None:
    assert abs(found.value - right.value) <= 1e-12 * max(1.0, size)
    assert error(found.gradient, right.gradient) < 1e-12
    assert error(found.entropy_gradient, right.entropy_gradient) < 1e-12
    assert error(found.loss, right.loss) < 1e-12
    agree(found.metrics, right.metrics, size)


@law(case=cases())
def test_value_gradient_and_metrics_are_those_of_the_plain_loops(case: Case) -> None:
    right = Reference().policy_loss(case.row, **case.batch)
    the_same(loss_of(case), right, size_of(right.loss, weights(case)))


@law(case=cases(), labels=st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_no_partition_in_any_order_changes_gradient_or_metrics(case: Case, labels: list[int]) -> None:
    """Reports B02, B04, B07: of sums with weights there is nothing to divide again."""
    # https://github.com/huggingface/transformers/pull/40610
    # https://github.com/huggingface/trl/issues/6369
    # https://github.com/huggingface/trl/pull/5381
    batch = {**case.batch, "weight": weights(case)}
    whole = Torch().policy_loss(case.row, **batch)
    order = case.rng.permutation(len(batch["group"]))
    gradient, found = np.zeros_like(whole.gradient), []
    for part in range(3):
        rows = [i for i in order if labels[i] == part]
        out = Torch().policy_loss(case.row, **taken(batch, rows))
        gradient[rows] += out.gradient
        found.append(out.metrics)
    assert error(gradient, whole.gradient) < 1e-12
    agree(merge(found), whole.metrics, size_of(whole.loss, batch["weight"]))


@law(case=cases(plain_rows))
def test_a_weight_is_an_equal_share_of_what_its_mean_counts(case: Case) -> None:
    """Report B01: a token, a prompt or a completion counts as much as any other, and all of them count 1."""
    # https://github.com/huggingface/trl/issues/5375
    live, weight, mean = case.live, weights(case), case.row.aggregation
    assert not weight[~live].any()
    row_N = live.nonzero()[0]
    owners = {"token": np.arange(len(row_N)), "prompt": case.batch["group"][row_N], "sequence": row_N}
    owner_N = owners.get(mean.kind, row_N)
    for owner in np.unique(owner_N):
        mine = weight[live][owner_N == owner]
        tokens = mean.length if isinstance(mean, Constant) else len(mine)
        close(mine, np.full(len(mine), 1 / (len(np.unique(owner_N)) * tokens)))


@law(
    mask=masks,
    row=plain_rows,
    prompts=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    ranks=st.lists(st.integers(0, 4), min_size=6, max_size=6),
)
def test_weights_from_summed_counts_of_shares_are_those_of_the_whole(
    mask: Any, row: Any, prompts: list[int], ranks: list[int]
) -> None:
    """Report B07, and B53: some of the five ranks have no token, or no row."""
    # https://github.com/PrimeIntellect-ai/prime-rl/pull/808
    # https://github.com/huggingface/transformers/pull/40610
    prompt_S, rank_S = torch.tensor(prompts[: len(mask)]), torch.tensor(ranks[: len(mask)])

    def flat(rows: Any) -> Any:
        return torch.tensor(mask)[rows].nonzero()[:, 0], prompt_S[rows]

    mine = [(rank_S == rank).nonzero()[:, 0] for rank in range(5)]
    parts = [count(*flat(rows), prompts=4) for rows in mine]
    total = Counts(*(sum(column) for column in zip(*parts, strict=True)))  # type: ignore[arg-type]
    whole = strop.token_weights(torch.tensor(mask), prompt_S, row.aggregation)
    for rows in mine:
        close(row.weights(*flat(rows), total), whole[rows][torch.tensor(mask)[rows] == 1])


@law(case=cases(), seed=ANY_SEED)
def test_nothing_under_the_mask_reaches_value_gradient_or_metrics(case: Case, seed: int) -> None:
    """Reports B05 and B10: not a bit of it, whatever it is."""
    # https://github.com/huggingface/trl/pull/6550
    # https://github.com/huggingface/trl/pull/3248
    rng, dead = np.random.default_rng(seed), ~case.live
    per_token = {name: case.batch[name] for name in ("logp", "entropy", *STREAMS)}
    per_token |= {name: value for name, value in case.batch.items() if value.ndim == 3 and name != "top_is_sampled"}
    advantage = case.batch["advantage"]
    per_token["advantage"] = advantage if advantage.ndim == 2 else np.repeat(advantage[:, None], dead.shape[1], 1)
    dirty = {}
    for name, value in per_token.items():
        here = dead if value.ndim == 2 else dead[..., None]
        dirty[name] = np.where(here, rng.choice(GARBAGE, value.shape), value)
    clean, found = loss_of(case), loss_of(case, **dirty)
    assert found.value == clean.value and np.isfinite(found.value)
    assert (found.gradient == clean.gradient).all() and not found.gradient[dead].any()
    assert found.metrics == clean.metrics


@law(case=cases())
def test_a_masked_token_is_one_that_is_not_there(case: Case) -> None:
    """Report B04: what leaves the sum leaves the count, be it a token, a completion or a group."""
    # https://github.com/huggingface/trl/issues/6369
    whole, alive = loss_of(case), np.flatnonzero(case.live.any(1))
    width = max([1, *case.live.sum(1)])
    places = [np.flatnonzero(case.live[i]) for i in alive]

    def moved(value: Any) -> Any:
        """Live tokens at the front of the live rows."""
        if value.shape[:2] != case.live.shape or value.ndim == 1:
            return value[alive]
        rows = [value[i][at] for i, at in zip(alive, places, strict=True)]
        return np.array([[*row, *[np.zeros_like(value[0, 0])] * (width - len(row))] for row in rows]).reshape(
            len(rows), width, *value.shape[2:]
        )

    short = {name: moved(value) for name, value in case.batch.items()}
    found = Torch().policy_loss(case.row, **short)
    size = size_of(whole.loss, weights(case))
    assert abs(found.value - whole.value) <= 1e-12 * max(1.0, size)
    assert error(found.gradient[short["mask"] == 1], whole.gradient[case.live]) < 1e-12
    agree(found.metrics, whole.metrics, size)


@law(case=cases(), names=st.lists(ANY_ID, min_size=4, max_size=4, unique=True))
def test_new_names_for_groups_change_nothing_and_new_places_move_everything_along(case: Case, names: list[int]) -> None:
    """Report B55: a group is an id, wherever its completions stand and whatever it is called."""
    # https://github.com/verl-project/verl/issues/3065
    order = case.rng.permutation(len(case.batch["group"]))
    known = np.unique(case.batch["group"]).tolist()
    renamed = np.array([names[known.index(g)] for g in case.batch["group"].tolist()])
    whole, weight = loss_of(case), weights(case)
    moved: Batch = taken({**case.batch, "group": renamed}, order)
    found = Torch().policy_loss(case.row, **moved)
    size = size_of(whole.loss, weight)
    assert abs(found.value - whole.value) <= 1e-12 * max(1.0, size)
    assert error(found.gradient, whole.gradient[order]) < 1e-12
    agree(found.metrics, whole.metrics, size)
    close(Torch().token_weights(moved["mask"], moved["group"], case.row.aggregation), weight[order])
    score = case.rng.choice([0.0, 1.0], len(order))
    signal = Torch().has_signal(score, case.batch["group"])
    assert (Torch().has_signal(score[order], moved["group"]) == signal[order]).all()
    assert (Reference().has_signal(score, case.batch["group"]) == signal).all()


def shares(build_one: Callable[[Share], Built], ranks: int) -> list[Built]:
    """What each rank trains: first every rank's counts are noted, then each is given their sum."""
    noted: list[torch.Tensor] = []
    for rank in range(ranks):
        build_one(Share(rank, ranks, lambda counts: noted.append(counts) or counts))  # type: ignore[func-returns-value]
    total = torch.stack(noted).sum(0)
    return [build_one(Share(rank, ranks, lambda _: total)) for rank in range(ranks)]


def tokens(batch: Built) -> dict[int, tuple[float, ...]]:
    """Weight, advantage and sampler's log-prob of each live token, by its id: no two have one id."""
    sampled = [batch.ids_S[s][int(batch.prompt_tokens_S[s]) :] for s in range(len(batch.ids_S)) if batch.live_S[s]]
    names = [int(i) for ids in sampled for i in ids]
    columns = (batch.weight_N, batch.advantage_S[batch.seq_N], batch.sampler_logp_N)
    return dict(zip(names, zip(*(column.tolist() for column in columns), strict=True), strict=True))


@law(made=groups, row=plain_rows, ranks=st.integers(1, 5), masked=st.booleans())
def test_dealing_to_ranks_leaves_every_token_its_weight(made: Any, row: Any, ranks: int, masked: bool) -> None:
    """Reports B07 and B53."""
    # https://github.com/PrimeIntellect-ai/prime-rl/pull/808
    # https://github.com/huggingface/transformers/pull/40610

    def build_one(share: Share) -> Built:
        [batch] = build(made, row, mask_truncated=masked, share=share)
        return batch

    whole = tokens(build_one(Share()))
    dealt = [tokens(batch) for batch in shares(build_one, ranks)]
    found = {name: numbers for part in dealt for name, numbers in part.items()}
    assert sum(len(part) for part in dealt) == len(whole) and found.keys() == whole.keys()
    close([found[name] for name in whole], list(whole.values()))


@law(made=groups, row=plain_rows, budget=st.integers(1, 50), masked=st.booleans())
def test_every_live_token_is_in_one_micro_batch_inside_budget_and_padding(
    made: Any, row: Any, budget: int, masked: bool
) -> None:
    """Reports B39 and B41: what is scored is the ids that were given and sampled, at their own places."""
    # https://github.com/huggingface/trl/issues/5224
    # https://github.com/huggingface/trl/issues/3853
    [batch] = build(made, row, mask_truncated=masked)
    parts = split(batch, tokens=budget)
    assert sorted(n for part in parts for n in part.index_n.tolist()) == list(range(batch.tokens))
    pairs = [(g.prompt_ids, r.completion) for g in made for r in g.rollouts]
    whole = [[*prompt, *completion.ids] for prompt, completion in pairs]
    sampled = [i for _, c in pairs if not (masked and c.truncated) for i in c.ids]
    for part in parts:
        assert part.ids_BT.shape[0] == 1 or part.padded_tokens <= budget
        assert part.padded_tokens - part.real_tokens <= MAX_PADDING * part.padded_tokens
        assert part.sampled_n.tolist() == [sampled[n] for n in part.index_n.tolist()]
        owner = dict(zip(part.row_n.tolist(), batch.seq_N[part.index_n].tolist(), strict=True))
        for row_b, line in enumerate(part.ids_BT.tolist()):
            assert line[: int(part.tokens_B[row_b])] == whole[owner[row_b]]


@law(
    named=ids,
    owner=owners,
    eighths=st.lists(st.one_of(st.none(), st.integers(-64, 64), st.sampled_from([0, 8])), min_size=6, max_size=6),
    kind=st.sampled_from(list(ADVANTAGES)),
    shift=st.integers(-800, 800),
    factor=st.sampled_from([0.25, 2.0, 64.0]),
)
def test_credit_is_the_references_sums_to_zero_in_a_group_and_ignores_a_shift(
    *, named: list[int], owner: int, eighths: list[int | None], kind: str, shift: int, factor: float
) -> None:
    """Report B15: also where a group has one completion, or one that could be scored."""
    # https://github.com/radixark/miles_diffusion/pull/253
    group = grouped(named, owner, 6)
    reward = np.array([math.nan if e is None else e / 8 for e in eighths])
    credit = Torch().advantages(reward, group, kind)
    close(credit, Reference().advantages(reward, group, kind))
    assert np.isfinite(credit).all() and not credit[np.isnan(reward)].any()
    for one in group:
        assert abs(credit[group == one].sum()) < 1e-11
    close(Torch().advantages(reward + shift / 8, group, kind), credit, 1e-11)
    if kind in ("standardized", "batch_standardized"):
        exact = KINDS["advantage"][kind](eps=0.0)
        close(Torch().advantages(factor * reward, group, exact), Torch().advantages(reward, group, exact), 1e-11)
    else:
        close(Torch().advantages(factor * reward, group, kind), factor * credit)


@law(case=cases(st.sampled_from([row_of(name) for name in OLD_ROWS])), kind=st.sampled_from(list(KINDS["correction"])))
def test_a_sampler_that_agrees_with_the_trainer_needs_no_correction(case: Case, kind: str) -> None:
    corrected = replace(case, row=row_of(case.row.name, correction=kind))
    plain, found = (loss_of(one, sampler_logp=case.batch["old_logp"]) for one in (case, corrected))
    assert found.value == plain.value and (found.gradient == plain.gradient).all()
    assert found.metrics["correction"].total == found.metrics["correction"].weight == case.live.sum()
    assert found.metrics["correction/dropped"].total == found.metrics["correction/capped"].total == 0
