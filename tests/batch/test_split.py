"""Batches to micro-batches: whole sequences, each token once, inside the budget and the padding bound."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.algorithms import algorithm
from strop.batch.build import build
from strop.batch.split import MAX_PADDING, split
from strop.policy.model import Policy
from tests.learner import ragged_groups, tiny_llama


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(2, 6), min_size=1, max_size=6), budget=st.integers(1, 200), seed=st.integers(0, 99))
def test_every_live_token_is_in_exactly_one_micro_batch(sizes: list[int], budget: int, seed: int) -> None:
    [batch] = build(ragged_groups(sizes, seed=seed, longest=20), algorithm("dapo"), mask_truncated=True)
    parts = split(batch, tokens=budget)
    places = torch.cat([part.index_n for part in parts])
    assert sorted(places.tolist()) == list(range(batch.tokens))
    for part in parts:
        assert part.ids_BT.shape[0] == 1 or part.padded_tokens <= budget
        assert part.padded_tokens - part.real_tokens <= MAX_PADDING * part.padded_tokens
        where = batch.seq_N[part.index_n]
        for n, (row, column) in enumerate(zip(part.row_n.tolist(), part.column_n.tolist(), strict=True)):
            sequence = int(where[n])
            step = int((batch.seq_N[: int(part.index_n[n])] == sequence).sum())
            prompt = int(batch.prompt_tokens_S[sequence])
            assert column == prompt + step
            assert part.ids_BT[row, column] == batch.ids_S[sequence][column]


def test_an_all_masked_batch_has_no_micro_batches() -> None:
    groups = [group for group in ragged_groups((1, 1))]
    [batch] = build(groups, algorithm("rloo"), mask_truncated=True)
    assert split(batch, tokens=100) == []


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_log_probs_in_a_padded_micro_batch_are_those_of_single_rows(temperature: float) -> None:
    policy = Policy(tiny_llama(), temperature)
    [batch] = build(ragged_groups((4, 3, 5), longest=20), algorithm("dapo"))
    with torch.no_grad():
        for part in split(batch, tokens=10_000):
            logp_n, entropy_n = policy.score(part)
            for row in range(part.ids_BT.shape[0]):
                ids = part.ids_BT[row, : int(part.tokens_B[row])]
                alone = torch.log_softmax(policy.module(input_ids=ids[None]).logits[0] / temperature, -1)
                mine = part.row_n == row
                columns = part.column_n[mine]
                right = alone[columns - 1].gather(-1, ids[columns, None]).squeeze(-1)
                assert torch.allclose(logp_n[mine], right, rtol=0, atol=1e-12)
                entropy = -(alone.exp() * alone).sum(-1)[columns - 1]
                assert torch.allclose(entropy_n[mine], entropy, rtol=0, atol=1e-12)
