"""How far a token's distribution moved from the anchor's: D(anchor || policy), from what is known of both.

                  buckets that the vocabulary falls into
    binary        the sampled token; all others                                     needs its two log-probs
    top-K         the anchor's K most likely tokens, the sampled one, all others    needs both log-probs of each

    tv            half the sum over buckets of |mu - pi|
    kl            the sum over buckets of mu log(mu / pi), in nats

Merging buckets never raises either, so binary <= top-K <= full, and top-K rises with K. That holds because the sampled
token is ADDED to the K (arXiv 2602.04879, Eq. 15-16): putting it in the place of the K-th, as two implementations do,
can lower the estimate. With distributions mu (.40 .25 .15 .10 .06 .04), pi (.30 .38 .10 .08 .02 .12), K = 2 and the
last token sampled, adding finds TV 0.210 and replacing 0.100.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strop.errors import ConfigError
from strop.objective.streams import Streams, widened

LEAST_REST = 1e-12
"""The least probability of all other tokens: rounding may leave less than nothing for them."""


class Buckets(NamedTuple):
    """Log-probs of each bucket under the anchor and the policy: [N, K + 2]. A bucket that is not there has -inf."""

    log_mu_NB: Tensor
    log_pi_NB: Tensor


def binary_tv(anchor_N: Tensor, logp_N: Tensor) -> Tensor:
    """Total variation between (mu, 1 - mu) and (pi, 1 - pi) of the sampled token.    [N] -> [N]"""
    return (anchor_N.exp() - logp_N.exp()).abs()


def binary_kl(anchor_N: Tensor, logp_N: Tensor) -> Tensor:
    """KL from (mu, 1 - mu) to (pi, 1 - pi) of the sampled token, in nats.    [N] -> [N]

    1 - p is taken as -expm1(logp), and p kept under 1 - 1e-7 inside its logarithm.
    """
    gap_N = _log_rest(anchor_N) - _log_rest(logp_N)
    return anchor_N.exp() * (anchor_N - logp_N) - torch.expm1(anchor_N) * gap_N


def _log_rest(logp_N: Tensor) -> Tensor:
    """log(1 - p), finite for p = 1."""
    return torch.log1p(-logp_N.exp().clamp(max=1 - 1e-7))


def top_buckets(streams: Streams, anchor_N: Tensor, logp_N: Tensor, topk: int) -> Buckets:
    """The sampler's K most likely tokens, the sampled token, and all others.    [N], [N], [N, K] -> [N, K + 2]

    The sampled token has one bucket, whether it is among the K or not: its column among them is left out.

    Raises:
        ConfigError: the streams hold another number of tokens than `topk`.
    """
    mu_NK, pi_NK = (widened(streams.read(name).detach()) for name in ("sampler_top_logp", "top_logp"))
    again_NK = streams.read("top_is_sampled") != 0
    if not mu_NK.shape == pi_NK.shape == again_NK.shape == (*anchor_N.shape, topk):
        found = f"sampler_top_logp {[*mu_NK.shape]}, top_logp {[*pi_NK.shape]}, top_is_sampled {[*again_NK.shape]}"
        raise ConfigError(f"trust divergence: topk is {topk}, so {found} must all be {[*anchor_N.shape, topk]}")
    return Buckets(_with_rest(anchor_N, mu_NK, again_NK), _with_rest(logp_N, pi_NK, again_NK))


def _with_rest(logp_N: Tensor, top_NK: Tensor, again_NK: Tensor) -> Tensor:
    known_NB = torch.cat([top_NK.masked_fill(again_NK, -torch.inf), logp_N[:, None]], dim=-1)
    rest_N = (1 - known_NB.exp().sum(-1)).clamp(min=LEAST_REST)
    return torch.cat([known_NB, rest_N.log()[:, None]], dim=-1)


def top_tv(log_mu_NB: Tensor, log_pi_NB: Tensor) -> Tensor:
    """Total variation between the two distributions over buckets.    [N, B], [N, B] -> [N]"""
    return (log_mu_NB.exp() - log_pi_NB.exp()).abs().sum(-1) / 2


def top_kl(log_mu_NB: Tensor, log_pi_NB: Tensor) -> Tensor:
    """KL between the two distributions over buckets, in nats; one that the anchor rules out adds 0.    [N, B] -> [N]"""
    there_NB = log_mu_NB > -torch.inf
    return torch.where(there_NB, log_mu_NB.exp() * (log_mu_NB - log_pi_NB), 0.0).sum(-1)


BINARY = {"tv": binary_tv, "kl": binary_kl}
TOP = {"tv": top_tv, "kl": top_kl}
