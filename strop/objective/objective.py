"""The record of five choices, and the loss they make, with its metrics.

    loss = sum_n w_n * ( c_n * trust_n + regularizers_n )

c_n is 1, or the constant by which a correction answers for a sampler whose log-probs are not quite the trainer's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.metrics import High, Low, Mean, Metric, Sum
from strop.objective.advantage import Advantage
from strop.objective.aggregation import Aggregation, Counts, weigh
from strop.objective.correction import Corrected, Correction
from strop.objective.ratio import Anchor, Ratio
from strop.objective.regularizer import Penalty, Regularizer
from strop.objective.streams import Streams, widened, widest
from strop.objective.trust import Divergence, Trust, Trusted


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm is a row: five independent choices, where they come from, and where they leave their source.

    `correction` is for a sampler whose log-probs differ from the trainer's; None is no correction.

    Raises:
        ConfigError: a correction under a ratio that is taken against the sampler already; a top-K divergence from the
            sampler under a ratio that is not.
    """

    name: str
    summary: str
    advantage: Advantage
    ratio: Ratio
    trust: Trust
    aggregation: Aggregation
    regularizers: tuple[Regularizer, ...]
    source: str
    deviations: tuple[str, ...] = ()
    correction: Correction | None = None

    def __post_init__(self) -> None:
        if self.correction is not None and self.anchor == "sampler":
            text = (
                "its ratio is taken against the sampler, so it holds the mismatch already; use none, or an old anchor"
            )
            raise ConfigError(f"{self.name}: correction {self.correction.kind}: {text}")
        if self.topk and self.anchor != "sampler":
            text = "topk compares with the sampler's most likely tokens, and the ratio must be taken against it too"
            raise ConfigError(f"{self.name}: trust {self.trust.kind}: {text}: give ratio {{anchor: sampler}}")

    @property
    def reads(self) -> frozenset[str]:
        """The streams that must be there beside logp: exactly the union of what the choices read."""
        corrections = () if self.correction is None else (self.correction,)
        choices = (self.advantage, self.ratio, self.trust, *corrections, self.aggregation, *self.regularizers)
        return frozenset(name for choice in choices for name in choice.reads)

    @property
    def topk(self) -> int:
        """How many of the sampler's most likely tokens the row looks at in each position; 0 for none."""
        return self.trust.topk if isinstance(self.trust, Divergence) else 0

    @property
    def anchor(self) -> Anchor:
        """Whose log-probs the ratio is taken against: the policy's own `old` ones, or the `sampler`'s."""
        return self.ratio.anchor

    def weights(self, seq_N: Tensor, prompt_S: Tensor, counts: Counts | None = None) -> Tensor:
        """Weight of each token of an optimizer batch, from its final mask and group ids.    [N], [S] -> [N]

        With `counts` the tokens are a share of the batch, counts are those of all of it (aggregation.weigh).
        """
        try:
            return weigh(self.aggregation, seq_N, prompt_S, counts)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of the tokens given: `value` (0-d, differentiable) is the sum of weight * `loss_N`.

    Values and metrics of the parts of a batch add up to those of the batch (strop.metrics.merge).
    """

    value: Tensor
    metrics: dict[str, Metric]
    loss_N: Tensor


def objective(row: Algorithm, streams: Streams) -> Loss:
    """Loss and metrics of the tokens in `streams`, whole sequences of an optimizer batch, weights fixed beforehand.

    Without any token the value is exactly 0 and still attached to logp's graph. A stream that the row reads and does
    not get is a ConfigError; others are ignored. Arithmetic is in float32 or wider; log-probs other than `logp_N`,
    advantages and weights are constants.
    """
    _demand(row, streams)
    logp_N = widened(streams.logp_N)
    advantage_N = streams.advantage_N.detach().to(logp_N.dtype)
    weight_N = streams.weight_N.detach()
    anchor_N = widened(streams.read(f"{row.anchor}_logp").detach())
    ratio_N = row.ratio(logp_N, anchor_N, streams.seq_N)
    trusted = row.trust(streams, ratio_N, advantage_N, logp_N, anchor_N)
    corrected = None if row.correction is None else row.correction(streams)
    policy_N = trusted.loss_N if corrected is None else corrected.factor_N * trusted.loss_N
    penalties = [regularizer(streams, logp_N, anchor_N) for regularizer in row.regularizers]
    loss_N = sum((penalty.loss_N for penalty in penalties), start=policy_N)
    value = (weight_N * loss_N).sum()
    tallies = [
        Tally("loss", Sum, value),
        Tally("policy_loss", Sum, (weight_N * policy_N).sum() if penalties else value),
        *_moved(ratio_N, trusted, anchor_N),
        *([] if corrected is None else _corrections(corrected)),
        _mean("prob", logp_N.exp()),
        *([] if streams.entropy_N is None else [_mean("entropy", streams.entropy_N)]),
        *(tally for penalty in penalties for tally in _penalised(penalty)),
    ]
    return Loss(value, _read(tallies), loss_N)


def _demand(row: Algorithm, streams: Streams) -> None:
    """ConfigError naming row and stream, before any arithmetic, if a stream that the row reads is not there."""
    try:
        for name in sorted(row.reads):
            streams.read(name)
    except ConfigError as error:
        raise ConfigError(f"{row.name} {error}") from None


class Tally(NamedTuple):
    """A metric still on the device: read together with all others, so that a GPU waits once."""

    name: str
    kind: type[Mean] | type[Sum] | type[Low] | type[High]
    total: Tensor
    weight: Tensor | None = None


def _mean(name: str, value_N: Tensor) -> Tally:
    wide = widest(value_N.device)
    count = torch.full((), value_N.numel(), dtype=wide, device=value_N.device)
    return Tally(name, Mean, value_N.detach().sum(dtype=wide), count)


def _moved(ratio_N: Tensor, trusted: Trusted, anchor_N: Tensor) -> list[Tally]:
    """How far the tokens moved, and the share that the trust region held back on each side."""
    up_N, wide = trusted.high_N, widest(ratio_N.device)
    tallies = [
        _mean("ratio", ratio_N),
        _mean("clip_ratio/low_mean", trusted.low_N),
        _mean("clip_ratio/high_mean", trusted.high_N),
        Tally("clip_ratio/high_prob", Mean, anchor_N.exp().where(up_N, 0).sum(dtype=wide), up_N.sum(dtype=wide)),
    ]
    if ratio_N.numel():
        tallies += [Tally("ratio/max", High, ratio_N.max()), Tally("ratio/min", Low, ratio_N.min())]
    return tallies


def _corrections(corrected: Corrected) -> list[Tally]:
    """The mean factor of the live tokens, and the shares of them that were dropped and capped."""
    return [
        _mean("correction", corrected.factor_N),
        _mean("correction/dropped", corrected.dropped_N),
        _mean("correction/capped", corrected.capped_N),
    ]


def _penalised(penalty: Penalty) -> Iterable[Tally]:
    yield from (_mean(name, value_N) for name, value_N in penalty.means.items())
    yield from (Tally(name, Sum, hit_N.sum()) for name, hit_N in penalty.counts.items())


def _read(tallies: list[Tally]) -> dict[str, Metric]:
    """Every tally as plain Python floats, in one transfer from the device."""
    wide = widest(tallies[0].total.device)
    pairs = [(tally.total, tally.total if tally.weight is None else tally.weight) for tally in tallies]
    stacked = torch.stack([number.detach().to(wide) for pair in pairs for number in pair])
    numbers = cast("list[float]", stacked.tolist())  # pyright: ignore[reportUnknownMemberType]
    return {
        tally.name: Mean(total, weight) if tally.kind is Mean else tally.kind(total)  # type: ignore[call-arg]
        for tally, total, weight in zip(tallies, numbers[::2], numbers[1::2], strict=True)
    }
