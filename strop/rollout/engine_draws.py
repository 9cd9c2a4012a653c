"""What the rows of a batch have sampled so far: tokens picked from logits, and the record of ids, log-probs and ends.

Suffixes: _R rows of the running batch, _N completions asked for, _T steps, _V vocabulary. Torch only: the loops that
own a model are in engine_hf.py and engine_generate.py, and sample alike because both sample here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from strop.errors import ConfigError, NumericsError
from strop.packing import packed_floats, packed_ints

ROWS_TOGETHER = 4
MANY_ROWS = 12
"""fp32 matrix products on a CPU give a row the same bits in every batch of a multiple of 4 rows or of 12 rows and more,
but not in others (measured for single products with 1 to 8 threads)."""

FULL_ENOUGH = 0.75
"""Finished rows leave once less than this share of the batch still runs: it costs a copy of the cache of the rest."""

ELEMENTS_AT_ONCE = 2**24


@dataclass(frozen=True, slots=True)
class Sampled:
    """One completion as sampled: its ids, the log-prob of each in nats, and whether an end token was the last.

    `top_ids` and `top_logp` are the most likely ids of each position and their log-probs, as strop.packing writes them.
    """

    ids: list[int]
    logp: list[float]
    stopped: bool
    top_ids: str = ""
    top_logp: str = ""


class Draws:
    """The running batch of N completions, in rows that leave as they finish.

    `uniform_NT` holds each completion's random numbers (engine_streams). Rows beyond N are dummies that make
    a small batch steady: they are stepped, never recorded. The `topk` most likely ids of each position are recorded
    beside the one that was drawn.
    """

    def __init__(
        self,
        uniform_NT: NDArray[np.float64],
        eos_ids: Sequence[int],
        temperature: float,
        device: torch.device,
        *,
        topk: int = 0,
    ) -> None:
        count, steps = uniform_NT.shape
        self.topk = topk
        # Metal has no float64; its logits are few enough to be picked from on the CPU.
        self.device = torch.device("cpu") if device.type == "mps" else device
        self.temperature = temperature
        self.count = self.live = count
        self.step = 0
        self.eos = torch.tensor(list(eos_ids), dtype=torch.long, device=self.device)
        self.uniform_TN = torch.zeros(steps, count + 1, dtype=torch.float64)
        self.uniform_TN[:, :count] = torch.from_numpy(uniform_NT).T
        self.uniform_TN = self.uniform_TN.to(self.device)
        self.row_R = torch.arange(steady(count), device=self.device).clamp_max(
            count
        )  # which completion; `count` = a dummy
        self.alive_R = self.row_R < count
        self.ids_TN = torch.zeros(steps, count + 1, dtype=torch.long, device=self.device)
        self.logp_TN: Tensor | None = None
        self.top_ids_TNK = torch.zeros(steps, count + 1, topk, dtype=torch.int32, device=self.device)
        self.top_logp_TNK = torch.zeros(steps, count + 1, topk, dtype=torch.float32, device=self.device)
        self.length_N = torch.zeros(count + 1, dtype=torch.long, device=self.device)
        self.stopped_N = torch.zeros(count + 1, dtype=torch.long, device=self.device)

    @property
    def steps(self) -> int:
        return len(self.ids_TN)

    @property
    def finished(self) -> int:
        """How many completions are done."""
        return self.count if self.step == self.steps else self.count - self.live

    def take(self, logits_RV: Tensor) -> Tensor:
        """The next token of every row, recorded for those that still run:   [R, V] -> ids [R]"""
        ids_R, logp_R = pick(logits_RV.to(self.device), self.uniform_TN[self.step, self.row_R], self.temperature)
        if self.topk:
            top_ids_RK, top_logp_RK = likeliest(logits_RV.to(self.device), self.temperature, self.topk)
            self.top_ids_TNK[self.step].index_copy_(0, self.row_R, top_ids_RK.to(torch.int32))
            self.top_logp_TNK[self.step].index_copy_(0, self.row_R, top_logp_RK.to(torch.float32))
        if self.logp_TN is None:
            self.logp_TN = torch.zeros(self.ids_TN.shape, dtype=logp_R.dtype, device=self.device)
        self.ids_TN[self.step].index_copy_(0, self.row_R, ids_R)
        self.logp_TN[self.step].index_copy_(0, self.row_R, logp_R)
        self.length_N.index_add_(0, self.row_R, self.alive_R.long())
        ended_R = (ids_R[:, None] == self.eos).any(-1) & self.alive_R
        self.stopped_N.index_add_(0, self.row_R, ended_R.long())
        self.alive_R = self.alive_R & ~ended_R
        self.live = int(self.alive_R.sum())
        self.step += 1
        return ids_R.to(logits_RV.device)

    def leave(self) -> Tensor | None:
        """The places of the rows that stay, if it is worth a copy that finished ones leave; None if all stay."""
        rows, fewer = len(self.row_R), steady(self.live)
        if fewer >= rows or self.live >= FULL_ENOUGH * rows:
            return None
        stay = torch.argsort((~self.alive_R).long(), stable=True)[:fewer]
        self.row_R, self.alive_R = self.row_R[stay], self.alive_R[stay]
        return stay

    def completions(self) -> list[Sampled]:
        """The N completions, in order.

        Raises:
            NumericsError: a sampled token has a log-prob that is not finite.
        """
        if self.logp_TN is None:
            raise RuntimeError("nothing was sampled")
        ids_NT, logp_NT = self.ids_TN.T.tolist(), self.logp_TN.T.tolist()
        lengths, stopped = self.length_N.tolist(), self.stopped_N.tolist()
        within_TN = torch.arange(self.steps, device=self.device)[:, None] < self.length_N
        if not bool(torch.isfinite(self.logp_TN[:, : self.count][within_TN[:, : self.count]]).all()):
            raise NumericsError("the model's logits are not finite while sampling; the weights are damaged or overflow")
        tops = [self._top(n, lengths[n]) for n in range(self.count)]
        return [
            Sampled(ids_NT[n][: lengths[n]], logp_NT[n][: lengths[n]], bool(stopped[n]), *tops[n])
            for n in range(self.count)
        ]

    def _top(self, n: int, length: int) -> tuple[str, str]:
        """The most likely ids of a completion's positions, and their log-probs, packed."""
        ids_TK, logp_TK = self.top_ids_TNK[:length, n].cpu(), self.top_logp_TNK[:length, n].cpu()
        return packed_ints(ids_TK.numpy()), packed_floats(logp_TK.numpy())


def steady(rows: int) -> int:
    """The smallest batch of at least so many rows in which the bits of a row do not depend on the others."""
    return rows if rows >= MANY_ROWS else -(-rows // ROWS_TOGETHER) * ROWS_TOGETHER


def pick(logits_RV: Tensor, uniform_R: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """A token for every row and its log-prob:   [R, V], [R] -> ids [R], logp [R]

        logp = log_softmax(logits / temperature), in fp32 or wider        id = first v with cdf[v] > u * cdf[V - 1]

    The cdf is summed in float64: an inverse cdf, one uniform number for each token. A token of probability 0 is never
    picked. Temperature 0: id = the first maximum, logp = log_softmax(logits).
    """
    at_once = max(1, ELEMENTS_AT_ONCE // logits_RV.shape[-1])
    if len(logits_RV) > at_once:
        parts = [
            pick(logits, uniform, temperature)
            for logits, uniform in zip(logits_RV.split(at_once), uniform_R.split(at_once), strict=True)
        ]
        return torch.cat([ids for ids, _ in parts]), torch.cat([logp for _, logp in parts])
    logits_RV = logits_RV.to(torch.promote_types(logits_RV.dtype, torch.float32))
    logp_RV = torch.log_softmax(logits_RV / temperature if temperature else logits_RV, dim=-1)
    ids_R = inverse_cdf(logp_RV, uniform_R) if temperature else logits_RV.argmax(-1)
    return ids_R, logp_RV.gather(-1, ids_R[:, None]).squeeze(-1)


def likeliest(logits_RV: Tensor, temperature: float, k: int) -> tuple[Tensor, Tensor]:
    """The k most likely tokens of every row, the likeliest first, with the log-probs of `pick`:   -> [R, k], [R, k]

    Raises:
        ConfigError: the vocabulary has fewer than k tokens.
    """
    if k > logits_RV.shape[-1]:
        raise ConfigError(f"objective.trust: topk is {k}, and the model's vocabulary has {logits_RV.shape[-1]} tokens")
    at_once = max(1, ELEMENTS_AT_ONCE // logits_RV.shape[-1])
    parts: list[tuple[Tensor, Tensor]] = []
    for part_RV in logits_RV.split(at_once):
        wide_RV = part_RV.to(torch.promote_types(part_RV.dtype, torch.float32))
        top = torch.log_softmax(wide_RV / temperature if temperature else wide_RV, dim=-1).topk(k, dim=-1)
        parts.append((top.indices, top.values))
    return torch.cat([ids for ids, _ in parts]), torch.cat([logp for _, logp in parts])


def inverse_cdf(logp_RV: Tensor, uniform_R: Tensor) -> Tensor:
    cdf_RV = logp_RV.to(torch.float64, copy=True).exp_().cumsum(-1)
    ids_R1 = torch.searchsorted(cdf_RV, uniform_R[:, None] * cdf_RV[:, -1:], right=True)
    return ids_R1.squeeze(-1).clamp_max(logp_RV.shape[-1] - 1)  # only logits that are not finite reach the clamp
