"""What a configuration will ask of this machine, and whether the machine has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from strop.plan.algebra import Algebra, algebra
from strop.plan.disk import Disk, disk
from strop.plan.lengths import Lengths, lengths_of
from strop.plan.machine import free_disk, free_gpu, free_memory
from strop.plan.memory import LOWER, PHASES, Found, Reckoned, Side, reckon, sides
from strop.plan.probe import Probe, Time, estimate
from strop.plan.program import measured, resident
from strop.policy.mesh import ALONE
from strop.policy.model import pick_device
from strop.prepare import mesh_warnings
from strop.tasks.find import find_task


@dataclass(frozen=True)
class Plan:
    """The counts, the memory, the disk, and after a probe the time of a run; `warnings` are keys without effect."""

    config: Any
    warnings: tuple[str, ...]
    lengths: Lengths
    counts: Algebra
    found: Found
    reckoned: Reckoned
    memory: tuple[Side, ...]
    disk: Disk
    probe: Probe | None = None

    @property
    def time(self) -> Time | None:
        return estimate(self.probe, self.counts, self.config.train.steps) if self.probe else None

    @cached_property
    def refusal(self) -> str:
        """Why the run cannot fit, and what to lower; "" if it fits."""
        for side in self.memory:
            if not side.fits:
                return self.too_large(side)
        if not self.disk.fits:
            kept = f"{self.disk.checkpoints} checkpoints of {shown(self.disk.checkpoint)}"
            return (
                f"the run writes {shown(self.disk.needed)} to {self.config.runs}, {kept} among it, and "
                f"{shown(self.disk.free)} are free there: lower save.keep, or set --runs to another disk"
            )
        return ""

    def too_large(self, side: Side) -> str:
        part, needs = side.largest, f"{side.peak_phase} needs {shown(side.peak)} of {side.name}"
        return (
            f"{needs}, and {shown(side.free)} are free; the largest part is the {part.name}, {shown(part.size)}: "
            f"{LOWER[part.name]}{self.room(side)}"
        )

    def room(self, side: Side) -> str:
        """Which value of the key that decides the peak would fit, if one does."""
        key = {"sampling": "rollout.rows", "training": "train.tokens_per_micro_batch"}.get(side.peak_phase)
        value = largest_fit(self, key) if key else 0
        return f"; {key} {value} fits" if value else ""

    def record(self) -> dict[str, Any]:
        """The plan as plain values; sizes in bytes, times in seconds."""
        return {
            "fits": not self.refusal,
            "refusal": self.refusal,
            "warnings": list(self.warnings),
            "prompts": asdict(self.lengths),
            "batch": asdict(self.counts),
            "memory": [side_record(side) for side in self.memory],
            "largest": {"rollout.rows": most_rows(self), "train.tokens_per_micro_batch": most_tokens(self)},
            "disk": {**asdict(self.disk), "needed": self.disk.needed},
            "probe": asdict(self.probe) if self.probe else None,
            "time": asdict(self.time) if self.time else None,
        }


def make(config: Any) -> Plan:
    """Plan a run. Its task is opened and its prompts are encoded; of its model only the config is read.

    Raises:
        StropError: what a run would raise before its model loads.
    """
    gpu = pick_device(config.device).startswith("cuda")
    program = measured(config.model, config.train.lora.rank)
    before = resident()
    task = find_task(config.task, seed=config.seed, reward=None)
    try:
        data = max(0, resident() - before)
        lengths = lengths_of(task, config)
    finally:
        task.close()
    counts = algebra(config, lengths.longest)
    found = Found(program, data, lengths.longest, gpu)
    reckoned = reckon(config, counts, found)
    needed = disk(config, counts, reckoned.weights, free_disk(Path(config.runs)))
    warnings = (*config.warnings, *mesh_warnings(config, ALONE))
    return Plan(config, warnings, lengths, counts, found, reckoned, memory_of(config, reckoned, found), needed)


def memory_of(config: Any, reckoned: Reckoned, found: Found) -> tuple[Side, ...]:
    free_there = free_gpu(pick_device(config.device)) if found.gpu else 0
    return sides(reckoned.parts, gpu=found.gpu, free=free_memory(), free_gpu=free_there)


def probed(plan: Plan, found: Probe) -> Plan:
    """The plan with what two steps took: the rollouts on disk are theirs, whatever they had to draw."""
    return replace(plan, probe=found, disk=replace(plan.disk, rollouts=-(-found.rollouts // len(found.step_s))))


def largest_fit(plan: Plan, key: str) -> int:
    """A value of a key under which the memory fits: what should fit, halved until it does; 0 if nothing does."""
    section, name = key.split(".")
    value, least = (most_rows(plan), 1) if name == "rows" else (most_tokens(plan), plan.counts.longest)
    while value >= least:
        part = getattr(plan.config, section).model_copy(update={name: value})
        changed = plan.config.model_copy(update={section: part})
        reckoned = reckon(changed, algebra(changed, plan.lengths.longest), plan.found)
        if all(side.fits for side in memory_of(changed, reckoned, plan.found)):
            return value
        value //= 2
    return 0


def most_rows(plan: Plan) -> int:
    """About how many completions can be decoded at once: the engine's memory grows with them."""
    return scaled(plan.reckoned.chunk.rows, plan.memory[0], "sampling", "keys and values", "engine's pass")


def most_tokens(plan: Plan) -> int:
    """About how many tokens a micro-batch can have."""
    tokens = plan.counts.rows * plan.counts.longest
    return scaled(tokens, plan.memory[0], "training", "activations", "logits", "holes between them")


def scaled(value: int, side: Side, phase: str, *names: str) -> int:
    """What `value` can be, in two digits, if these parts grow with it and nothing else does."""
    size = side.size(*names)
    most = max(0, value * (side.free - side.of(phase) + size) // size)
    digits = 10 ** max(0, len(str(most)) - 2)
    return most // digits * digits


def side_record(side: Side) -> dict[str, Any]:
    listed = [{"part": part.name, "bytes": part.size, "phases": list(part.phases)} for part in side.parts]
    totals = {phase: side.of(phase) for phase in PHASES}
    return {
        "memory": side.name,
        "parts": listed,
        "totals": totals,
        "peak": side.peak,
        "phase": side.peak_phase,
        "free": side.free,
        "fits": side.fits,
    }


def shown(size: float) -> str:
    """Bytes for a reader: 812 MiB, 12.3 GiB."""
    if size < 2**30:
        return f"{size / 2**20:.0f} MiB" if size >= 2**20 else f"{size / 2**10:.0f} KiB"
    return f"{size / 2**30:.1f} GiB" if size < 2**40 else f"{size / 2**40:.1f} TiB"
