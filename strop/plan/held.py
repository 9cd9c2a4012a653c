"""How many bytes a piece of torch code holds at once, counted while it runs.

with FakeTensorMode(), Held() as held:      on tensors that have shapes and no numbers, so that it costs nothing
    ...
held.peak
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Held(TorchDispatchMode):
    """Bytes of the storages that are alive: `now`, and the most since `restart`.

    A storage counts from the operation that first returns it, until the last tensor on it is gone, autograd's saved
    ones too. What a kernel needs inside is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._seen: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.count(out)
        return out

    def count(self, tensors: Any) -> None:
        """Count what these tensors hold, if it is not counted yet."""
        for tensor in tree_leaves(tensors):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        self.peak = max(self.peak, self.now)

    def restart(self) -> int:
        """Let the peak start from what is held now, which is returned."""
        self.peak = self.now
        return self.now

    def _count(self, storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._seen:
            return

        def gone(_: Any) -> None:
            self.now -= size
            del self._seen[key]

        self._seen[key] = weakref.ref(storage, gone)
        self.now += size
