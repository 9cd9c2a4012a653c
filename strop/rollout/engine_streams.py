"""Random numbers that belong to a completion: u[t] is a pure function of (seed, stream, draw, completion, t).

A sampler that takes them from here has no state to save, and what it samples cannot depend on the batch a completion
was in, on the order of the work, or on how often it was tried.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def uniforms(seed: int, stream: str, draw: int, completion: int, tokens: int) -> NDArray[np.float64]:
    """The first `tokens` uniform numbers of a completion's stream, each in [0, 1):   -> [tokens]

        key = blake2b(seed, stream, draw, completion), 128 bits        u[t] = (Philox_key(t) >> 11) * 2^-53

    A longer stream starts with the shorter one. NumPy promises that the raw numbers of a bit generator never change.
    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox 4x64-10).
    """
    name = repr((int(seed), str(stream), int(draw), int(completion))).encode()
    key = int.from_bytes(hashlib.blake2b(name, digest_size=16, person=b"strop/uniforms").digest(), "little")
    raw = np.random.Philox(key=key).random_raw(tokens)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
