"""A batch in, micro-batches of whole sequences out: rows of like length together, under a token budget.

Splitting changes no number: the weights came with the batch, and a micro-batch only carries its slice of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from strop.batch.build import Batch

MAX_PADDING = 0.10


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What one forward pass holds: ids_BT right-padded, and for its n live tokens where they stand.

    row_n, column_n: the position of each live token in ids_BT. index_n: its place among the batch's _N columns.
    seq_n: its sequence, counted from 0 inside this micro-batch (it equals row_n).
    """

    ids_BT: Tensor
    tokens_B: Tensor
    row_n: Tensor
    column_n: Tensor
    index_n: Tensor

    @property
    def seq_n(self) -> Tensor:
        return self.row_n

    @property
    def sampled_n(self) -> Tensor:
        """The id of each live token."""
        return self.ids_BT[self.row_n, self.column_n]

    @property
    def padded_tokens(self) -> int:
        return self.ids_BT.numel()

    @property
    def real_tokens(self) -> int:
        return int(self.tokens_B.sum())


def idle() -> MicroBatch:
    """A micro-batch without a live token: its loss is 0 and so is its gradient.

    A rank that has run out of micro-batches runs these while others still work: every rank makes the same collectives.
    """
    none = torch.zeros(0, dtype=torch.int64)
    return MicroBatch(torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), none, none, none)


def split(batch: Batch, *, tokens: int) -> list[MicroBatch]:
    """Micro-batches of at most `tokens` padded tokens each (one longer sequence stands alone), padded at most 10%.

    Sequences without a live token take no part. An all-masked batch has no micro-batches.
    """
    lengths = [int(ids.numel()) for ids in batch.ids_S]
    live = [s for s in range(len(batch.ids_S)) if bool(batch.live_S[s])]
    order = sorted(live, key=lambda s: lengths[s])
    return [pack(batch, rows) for rows in partition(order, lengths, tokens)]


def partition(order: Sequence[int], lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """`order` (by rising length) cut where the next row would break the token budget or the padding bound."""
    parts: list[list[int]] = []
    real = 0
    for s in order:
        width = lengths[s]
        padded = width * (len(parts[-1]) + 1) if parts else 0
        if parts and padded <= tokens and padded - (real + width) <= MAX_PADDING * padded:
            parts[-1].append(s)
            real += width
        else:
            parts.append([s])
            real = width
    return parts


def pack(batch: Batch, rows: Sequence[int]) -> MicroBatch:
    """The micro-batch that holds exactly these sequences, in this order."""
    ids_BT = torch.nn.utils.rnn.pad_sequence([batch.ids_S[s] for s in rows], batch_first=True, padding_value=0)
    tokens_B = torch.tensor([batch.ids_S[s].numel() for s in rows])
    counts_S = torch.bincount(batch.seq_N, minlength=len(batch.ids_S))
    first_S = torch.cumsum(counts_S, 0) - counts_S
    counts = counts_S[list(rows)]
    row_n = torch.repeat_interleave(torch.arange(len(rows)), counts)
    step_n = torch.arange(int(counts.sum())) - torch.repeat_interleave(torch.cumsum(counts, 0) - counts, counts)
    picked = torch.tensor(list(rows))
    return MicroBatch(
        ids_BT=ids_BT,
        tokens_B=tokens_B,
        row_n=row_n,
        column_n=batch.prompt_tokens_S[picked][row_n] + step_n,
        index_n=first_S[picked][row_n] + step_n,
    )
