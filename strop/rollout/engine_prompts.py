"""Prompts on their way into a batch: whole groups together, and their ends aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from strop.rollout.engine import Request

COLUMNS = 16
"""Prompts are padded to a multiple of this, and by at least one column. Sums over columns on a CPU then add the same
numbers in the same order whatever the padding, and attention always runs with a mask: a row has the same bits in every
batch (fp32, one thread, measured with AVX2 and AVX-512 on Llama, Qwen3, Gemma 3, GPT-2 and GPT-NeoX)."""


def chunks(requests: Sequence[Request], rows: int) -> Iterator[list[Request]]:
    """Runs of whole groups of at most `rows` completions; a larger group stands alone."""
    chunk: list[Request] = []
    size = 0
    for request in requests:
        if chunk and size + request.completions > rows:
            yield chunk
            chunk, size = [], 0
        chunk.append(request)
        size += request.completions
    if chunk:
        yield chunk


def padded(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Prompts with their ends aligned, and the mask of their tokens:   -> ids [P, W], mask [P, W]"""
    width = (max(len(prompt) for prompt in prompts) // COLUMNS + 1) * COLUMNS
    ids_PW = np.zeros((len(prompts), width), dtype=np.int64)
    mask_PW = np.zeros((len(prompts), width), dtype=np.int64)
    for row, prompt in enumerate(prompts):
        ids_PW[row, width - len(prompt) :] = prompt
        mask_PW[row, width - len(prompt) :] = 1
    return torch.from_numpy(ids_PW).to(device), torch.from_numpy(mask_PW).to(device)
