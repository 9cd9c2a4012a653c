from __future__ import annotations

import pytest
import torch

from strop.bridges.hard import LENGTHS, hard_batch
from strop.bridges.verl_step import actor, gradient, nested, packed, step

WHOLE = [[list(range(len(LENGTHS)))]]


def test_packed_rows_come_apart_as_they_were_and_keep_their_gradient() -> None:
    rows = [torch.arange(1.0, 4.0, requires_grad=True), torch.tensor([5.0], requires_grad=True)]
    jagged = nested(rows)
    assert [part.tolist() for part in jagged.unbind()] == [[1.0, 2.0, 3.0], [5.0]]
    (jagged.values() * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert [row.grad.tolist() for row in rows if row.grad is not None] == [[1.0, 2.0, 3.0], [4.0]]


@pytest.mark.peer("verl")
def test_verl_unpacks_a_micro_batch_to_the_log_probs_and_streams_of_its_rows() -> None:
    from verl.workers.utils.padding import no_padding_2_padding

    batch, rows = hard_batch(masked=True), [3, 6, 0]
    output, data = packed(batch, rows, {"dp_size": 1}, None)
    longest = max(LENGTHS[row] for row in rows)
    logp = no_padding_2_padding(output["log_probs"], data)
    padded = data.select("response_mask", "old_log_probs", "advantages").to_padded_tensor()
    assert logp.shape == (3, longest)
    for i, row in enumerate(rows):
        live = slice(LENGTHS[row])
        assert torch.equal(logp[i, live], batch.logp[row, live])
        assert torch.equal(padded["old_log_probs"][i, live], batch.old_logp[row, live])
        assert padded["response_mask"][i].tolist() == [*batch.mask[row, :longest].long().tolist()]
        assert padded["advantages"][i, live].unique().tolist() == [batch.advantage[row].item()]


@pytest.mark.peer("verl")
def test_the_step_of_a_loss_without_ratio_is_the_advantage_at_every_live_token() -> None:
    batch = hard_batch(masked=True)
    got = step(batch, WHOLE, actor("gpg", loss_agg_mode="token-sum"))
    right = -batch.advantage[:, None] * batch.mask
    assert torch.equal(got.gradient, right)
    assert got.loss == pytest.approx(float((right * batch.logp).sum()))


@pytest.mark.peer("verl")
def test_micro_batches_add_up_and_ranks_are_averaged() -> None:
    batch, config = hard_batch(masked=False), actor("gpg", loss_agg_mode="seq-mean-token-sum")
    one, halves = gradient(batch, WHOLE, config), [list(range(8)), list(range(8, 16))]
    assert torch.allclose(gradient(batch, [halves], config), one, rtol=1e-14)
    assert torch.allclose(gradient(batch, [[half] for half in halves], config), one, rtol=1e-14)
    assert torch.allclose(gradient(batch, [halves], config, told=False), 2 * one, rtol=1e-14)
