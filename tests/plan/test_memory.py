"""The parts of the peak; and that together they are what a run of this machine was measured to take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strop.config.load import load
from strop.plan.algebra import algebra
from strop.plan.memory import LOWER, PHASES, Found, Part, Side, reckon, sides
from strop.plan.plan import make
from strop.plan.program import Program
from tests.shape.source import ROOT

MIB = 2**20
FOUND = Found(Program(400 * MIB, 25 * MIB), 3 * MIB, 22, gpu=False)


def named(found: Found = FOUND, **changes: Any) -> dict[str, Part]:
    config = load(mapping={"model": "strop:tiny", **changes})
    reckoned = reckon(config, algebra(config, found.longest_prompt), found)
    return {part.name: part for part in reckoned.parts}


def test_every_part_says_what_makes_it_smaller_and_stands_in_a_phase() -> None:
    every = named(**{"train.dtype": "bfloat16", "algorithm": "grpo"})
    assert every.keys() | {"reward workers"} == LOWER.keys()
    assert all(part.phases and set(part.phases) <= set(PHASES) for part in every.values())


@pytest.mark.slow
def test_a_key_that_is_said_to_make_a_part_smaller_does() -> None:
    whole = named()
    for name, change in {
        "activations": {"train.tokens_per_micro_batch": 1000},
        "logits": {"train.tokens_per_micro_batch": 1000},
        "keys and values": {"rollout.rows": 16},
        "gradients": {"train.lora.rank": 4},
        "Adam's moments": {"train.lora.rank": 4},
        "copy of what is saved": {"train.lora.rank": 4},
        "completions of a step": {"rollout.prompts": 8},
        "weights": {"train.dtype": "bfloat16"},
    }.items():
        assert named(**change)[name].size < 0.6 * whole[name].size, name
    assert named(**{"train.gradient_checkpointing": True})["activations"].size < whole["activations"].size / 3


def test_a_reference_is_there_where_the_row_reads_one_and_adapters_are_their_own() -> None:
    weights = named()["weights"].size
    assert "reference model" not in named()
    assert named(algorithm="grpo")["reference model"].size == weights
    assert "reference model" not in named(algorithm="grpo", **{"train.lora.rank": 4})


def test_narrow_weights_have_float32_copies_and_gradients_that_a_checkpoint_keeps() -> None:
    whole, narrow = named(), named(**{"train.dtype": "bfloat16"})
    assert narrow["weights"].size * 2 == whole["weights"].size == narrow["float32 copies of the weights"].size
    assert narrow["gradients"].size == whole["gradients"].size
    assert narrow["copy of what is saved"].size == 1.5 * whole["copy of what is saved"].size


def test_a_gpu_leaves_the_program_and_what_is_saved_to_the_host() -> None:
    listed = tuple(named(Found(FOUND.program, 0, 22, gpu=True)).values())
    gpu, host = sides(listed, gpu=True, free=9, free_gpu=7)
    assert (gpu.free, host.free) == (7, 9)
    assert {part.name for part in host.parts} == {"program", "completions of a step", "copy of what is saved"}
    assert gpu.of("training") + host.of("training") == sum(p.size for p in listed if "training" in p.phases)
    assert "holes between them" not in {part.name for part in listed}


def test_the_peak_is_the_largest_phase_and_what_fits_is_not_over_what_is_free() -> None:
    listed = (Part("weights", 5), Part("gradients", 3, ("training",)), Part("engine's pass", 4, ("sampling",)))
    side = Side("memory", listed, 9)
    assert (side.peak_phase, side.peak, side.fits, side.largest.name) == ("sampling", 9, True, "weights")
    assert not Side("memory", listed, 8).fits


MEASURED = """
import json, sys
from strop.config.load import load
from strop.loop import run_training
from strop.plan.program import resident
from strop.watch import Watcher
run_training(load(mapping=json.loads(sys.argv[1])), Watcher())
print(resident("VmHWM"))
"""


def planned_over_measured(config: dict[str, Any]) -> float:
    """What the plan says of the main process, over the most that a run in a process of its own had in memory."""
    [side] = make(load(mapping=config)).memory
    command = [sys.executable, "-c", MEASURED, json.dumps(config)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (side.peak - side.size("reward workers")) / int(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_embedded_models_run_takes_what_the_plan_says_within_a_fifth(tmp_path: Path) -> None:
    """The default run with fewer steps; its evaluations are whole. The same for a real model: tests/examples."""
    config = {"model": "strop:tiny", "train.steps": 3, "eval.every": 0, "device": "cpu", "runs": str(tmp_path)}
    assert 1 / 1.2 < planned_over_measured(config) < 1.2
