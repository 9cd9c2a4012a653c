"""Several processes as one learner: what they tell each other, and the one place where their gradients are summed.

The objective is a plain sum over tokens whose weights were fixed over the whole batch, so the gradient of a batch is
the SUM of those of its shares. Wrappers of the field average instead; nothing here does.

    data    every rank holds the whole model; its gradient is summed over ranks once, after the last micro-batch
    fsdp    FSDP2: every rank holds a slice of each weight; each backward pass sums and scatters the gradient

`torchrun` starts the ranks and says so in RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. All ranks make the
same calls in the same order; whoever has nothing to do brings zeros.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from strop import errors
from strop.batch.build import Share
from strop.errors import ConfigError, StropError
from strop.policy.alive import Alive

T = TypeVar("T")

JOINED = itertools.count()
"""How often this process has joined: every time is a name space of its own, so that no old word is read."""

BUCKET = 2**25
"""Values that are summed over ranks in one call: 128 MiB in fp32."""

ECHO_S = 5.0

PATIENCE = timedelta(minutes=60)
"""How long a rank waits for the others: one may sample long while another has finished. A dead one is told at once."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """This process among `ranks`. With one rank every method is the identity, and nothing is ever sent.

    group    the processes that work together; None is all of them
    sharded  FSDP2 rather than data parallel
    """

    rank: int = 0
    ranks: int = 1
    sharded: bool = False
    group: dist.ProcessGroup | None = None
    alive: Alive | None = None

    @property
    def first(self) -> bool:
        """Whether this rank is the one that writes files and speaks."""
        return self.rank == 0

    @property
    def slices(self) -> bool:
        """Whether a rank holds slices of the weights."""
        return self.sharded and self.ranks > 1

    @property
    def share(self) -> Share:
        """Which sequences of a batch this rank trains, and how its counts become the batch's."""
        return Share(self.rank, self.ranks, self.total)

    def total(self, value: Tensor) -> Tensor:
        """The sum of a tensor over ranks. The same bits on every rank."""
        if self.ranks == 1:
            return value
        whole = value.clone()
        dist.all_reduce(whole, dist.ReduceOp.SUM, group=self.group)
        return whole

    def most(self, number: int) -> int:
        """The largest of the ranks' numbers."""
        if self.ranks == 1:
            return number
        held = torch.tensor(number)
        dist.all_reduce(held, dist.ReduceOp.MAX, group=self.group)
        return int(held)

    def exchange(self, value: Any) -> list[Any]:
        """Every rank's value, in rank order. Values are what JSON holds; floats arrive with every bit."""
        if self.ranks == 1:
            return [value]
        mine = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.ranks)]
        dist.all_gather(sizes, torch.tensor([mine.numel()]), group=self.group)
        widest = max(int(size) for size in sizes)
        texts = [torch.zeros(widest, dtype=torch.uint8) for _ in range(self.ranks)]
        dist.all_gather(texts, nn.functional.pad(mine, (0, widest - mine.numel())), group=self.group)
        return [json.loads(text[: int(n)].numpy().tobytes()) for text, n in zip(texts, sizes, strict=True)]

    def together(self, work: Callable[[], T]) -> T:
        """What `work` gives, on each rank its own; a StropError that it raises on one rank, all of them raise."""
        if self.ranks == 1:
            return work()
        value, failed = None, None
        try:
            value = work()
        except StropError as error:
            failed = [type(error).__name__, str(error)]
        for found in self.exchange(failed):
            if found is not None:
                raise getattr(errors, found[0])(found[1])
        return cast("T", value)

    def told(self, work: Callable[[], Any]) -> Any:
        """What `work` gives on the first rank, on all of them; what it raises there, all of them raise."""
        return self.exchange(self.together(work if self.first else lambda: None))[0]

    def sum_gradients(self, weights: Sequence[Tensor]) -> None:
        """Make every weight's gradient the sum over ranks: THE place. A rank without a gradient brings zeros.

        A weight that no rank has a gradient for keeps none, as in one process. Sharded weights have been summed
        already, in the backward passes: `shard` asked for sums.
        """
        if self.ranks == 1 or self.slices:
            return
        held = torch.tensor([weight.grad is not None for weight in weights], dtype=torch.int32)
        dist.all_reduce(held, dist.ReduceOp.MAX, group=self.group)
        for weight, anybody in zip(weights, held.tolist(), strict=True):
            if anybody and weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        for bucket in buckets([weight.grad for weight in weights if weight.grad is not None]):
            flat = torch.cat([gradient.flatten() for gradient in bucket])
            dist.all_reduce(flat, dist.ReduceOp.SUM, group=self.group)
            for gradient, summed in zip(bucket, flat.split([g.numel() for g in bucket]), strict=True):
                gradient.copy_(summed.view_as(gradient))

    def shard(self, module: nn.Module, *, compute: torch.dtype | None = None) -> None:
        """Slice the module's weights over the ranks, block by block, in place. Data parallel leaves it whole.

        `compute` is the dtype of the forward and backward pass, if it is not that of the weights.
        """
        if not self.slices:
            return
        device = next(module.parameters()).device.type
        mesh = DeviceMesh.from_group(self.group or dist.group.WORLD, device)  # type: ignore[arg-type]
        policy = MixedPrecisionPolicy(param_dtype=compute, reduce_dtype=torch.float32) if compute else None
        named = {"mp_policy": policy} if policy else {}
        for part in [*blocks(module), module]:
            fully_shard(part, mesh=mesh, reshard_after_forward=True, **named)  # type: ignore[arg-type]
        for part in module.modules():
            if isinstance(part, FSDPModule):
                part.set_gradient_divide_factor(1.0)  # the default divides by the ranks: an average
                part.set_force_sum_reduction_for_comms(True)  # else fp32 is premultiplied, which gloo cannot

    def shared(self, error: Exception) -> bool:
        """Whether every rank has this error, as it has every StropError: then they can still work together.

        One that is not may be the echo of a rank that died, which then ends this one by name within a moment.
        """
        if self.ranks == 1 or isinstance(error, StropError):
            return True
        if self.alive is not None:
            self.alive.wait(ECHO_S)
        return False

    def close(self) -> None:
        """Leave, together with the others and in good order."""
        if self.ranks == 1:
            return
        dist.barrier(group=self.group)
        if self.alive is not None:
            self.alive.leave()
        dist.destroy_process_group()


ALONE = Mesh()
"""One process."""


def join(*, sharded: bool = False, device: str = "auto", environment: Mapping[str, str] = os.environ) -> Mesh:
    """The mesh of the ranks that a launcher such as torchrun started; ALONE if there is one process.

    On GPUs every rank takes its own, by LOCAL_RANK, and torch's current device is that one from then on.

    Raises:
        ConfigError: the launcher's variables are not whole, more ranks than GPUs were started on a machine, or the
            device is one GPU for all of them.
    """
    ranks = int(environment.get("WORLD_SIZE", "1"))
    if ranks == 1:
        return ALONE
    names = ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if missing := [name for name in names if name not in environment]:
        raise ConfigError(f"WORLD_SIZE is {ranks} but {', '.join(missing)} is not set: start the ranks with torchrun")
    gpus = torch.cuda.device_count() if device in ("auto", "cuda") else 0
    if device.startswith("cuda:") or device == "mps":
        raise ConfigError(f"device: {device} is one device, and each of {ranks} ranks needs its own; use auto")
    if gpus and int(environment["LOCAL_WORLD_SIZE"]) > gpus:
        raise ConfigError(f"{environment['LOCAL_WORLD_SIZE']} ranks were started here for {gpus} GPUs; start {gpus}")
    if gpus:
        torch.cuda.set_device(int(environment["LOCAL_RANK"]))
    rank, address = int(environment["RANK"]), environment["MASTER_ADDR"]
    store = dist.PrefixStore(f"strop/{next(JOINED)}", launchers_store())
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if gpus else "gloo", store=store, rank=rank, world_size=ranks, timeout=PATIENCE
    )
    one_machine = int(environment["LOCAL_WORLD_SIZE"]) == ranks
    alive = Alive.watching(store, rank=rank, ranks=ranks, address=address, one_machine=one_machine)
    return Mesh(rank, ranks, sharded, alive=alive)


@cache
def launchers_store() -> dist.Store:
    """Where the launcher's processes leave word for each other: one for the life of a process."""
    return next(dist.rendezvous("env://", timeout=PATIENCE))[0]


@contextmanager
def joined(*, sharded: bool = False, device: str = "auto") -> Iterator[Mesh]:
    """`join`, and leave in good order at the end, unless this rank ends alone: then the others are told."""
    mesh = join(sharded=sharded, device=device)
    try:
        yield mesh
    except StropError:
        mesh.close()
        raise
    except Exception:
        if mesh.alive is not None:
            mesh.alive.fall()  # whoever catches this may live on, and the others would wait for it
        raise
    mesh.close()


def whole(tensor: Tensor) -> Tensor:
    """A sharded tensor in one piece (all ranks ask together); any other as it is."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gathered(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Every weight of a module in one piece, one after the other. All ranks go through it together."""
    for name, weight in module.named_parameters():
        yield name, whole(weight.detach())


def blocks(module: nn.Module) -> list[nn.Module]:
    """The layers that a model names as its indivisible blocks: what FSDP gathers one at a time."""
    names = set(getattr(module, "_no_split_modules", None) or ())
    return [part for part in module.modules() if type(part).__name__ in names]


def buckets(gradients: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Neighbours of one dtype, together at most BUCKET values (a larger one is alone)."""
    held: list[Tensor] = []
    for gradient in gradients:
        size = sum(g.numel() for g in held)
        if held and (held[0].dtype != gradient.dtype or size + gradient.numel() > BUCKET):
            yield held
            held = []
        held.append(gradient)
    if held:
        yield held
