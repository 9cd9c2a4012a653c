"""True of adapters: no layout and no number of ranks changes their gradient, and nothing but them moves.

The reference of a run that trains adapters is its own module with them off; the engine samples with them on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import strop
from strop.batch.build import Batch, build
from strop.batch.split import MicroBatch, pack, split
from strop.check.layouts import narrow
from strop.check.real import bounded, real_case
from strop.check.trials import real_trials
from strop.cli.main import run
from strop.config.load import load as load_config
from strop.policy.lora import Lora, add, trained, wrapped
from strop.policy.mesh import ALONE
from strop.policy.model import Policy, checkpoint_activations
from strop.policy.step import Learner, Scored
from strop.run.store import read_rows
from strop.watch import Watcher
from tests.laws.ranked_lora import ROWS, learner, tick, updated
from tests.laws.test_layouts import LAYOUTS, layout
from tests.laws.test_sampler_and_trainer import BOUND, padded_parts, sampled
from tests.learner import gradient_error, gradients, ragged_groups, tiny_llama
from tests.ranks import called, finished, start
from tests.rollout.conftest import ARCHITECTURES, randomized

LAWS = ("dapo", "dapo_prompt", "grpo", "gspo", "gspo_token", "dppo_kl", "cispo", "sapo")


def found(trainer: Learner, batch: Batch, parts: tuple[MicroBatch, ...], fixed: dict[str, Any]) -> dict[str, Any]:
    trainer.optimizer.clear()
    trainer.accumulate(Scored(batch, parts, **fixed), tick)
    return gradients(trainer.policy)


@pytest.mark.parametrize("row", LAWS)
def test_no_layout_changes_the_gradient_of_an_adapter(row: str) -> None:
    """In float64 to 1e-12, of every A and every B, the old policy a step away so that clips bind."""
    trainer = learner(row)
    [batch] = build(ragged_groups(), trainer.row)
    every = Scored(batch, tuple(split(batch, tokens=10_000)))
    assert trainer.reference is not None
    fixed = {
        "old_logp_N": trainer.score(Policy(tiny_llama(), 0.8), every, "", tick),
        "ref_logp_N": trainer.score(trainer.reference, every, "", tick),
    }
    rows = [s for s, alive in enumerate(batch.live_S.tolist()) if alive]
    right = found(trainer, batch, (pack(batch, rows),), fixed)
    assert len(right) == len(trained(trainer.policy.module)) == 28
    assert all(bool(gradient.any()) for gradient in right.values())
    for name in LAYOUTS:
        assert gradient_error(found(trainer, batch, layout(batch, name), fixed), right) < 1e-12, name


def test_recomputed_activations_give_an_adapter_the_same_gradient() -> None:
    plain, recomputing = learner("dapo"), learner("dapo")
    checkpoint_activations(recomputing.policy.module.train())
    [batch] = build(ragged_groups(), plain.row)
    parts = tuple(split(batch, tokens=40))
    right = found(plain, batch, parts, {})
    assert gradient_error(found(recomputing, batch, parts, {}), right) < 1e-12


def test_the_reference_is_the_base_to_the_bit_before_and_after_updates() -> None:
    trainer = learner("grpo")
    [batch] = build(ragged_groups(), trainer.row)
    scored = Scored(batch, tuple(split(batch, tokens=10_000)))
    assert trainer.reference is not None
    base = trainer.score(Policy(tiny_llama(), 0.8), scored, "", tick)
    assert torch.equal(trainer.score(trainer.reference, scored, "", tick), base)
    assert not torch.equal(trainer.score(trainer.policy, scored, "", tick), base)
    trainer.train([batch], tick)
    assert torch.equal(trainer.score(trainer.reference, scored, "", tick), base)


def test_only_adapters_move_and_only_they_have_moments() -> None:
    moved = updated("grpo", ALONE, torch.float64)
    assert moved["frozen"] and all(".lora_" in name for name in moved["names"])
    trainer = learner("dapo")
    assert sum(weight.numel() for weight in trainer.optimizer.masters) == sum(
        weight.numel() for weight in trained(trainer.policy.module)
    )


def test_the_sampler_and_the_trainer_agree_with_adapters_on() -> None:
    """To 1e-5 nats in fp32, whatever the padding; with them off, the numbers are others."""
    module = randomized(ARCHITECTURES["llama"]())
    add(module, Lora(4, 8.0), base="base")
    for number, weight in enumerate(trained(module)):
        weight.data.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(number)) / 25)
    groups = sampled(module, 0.7)
    [batch] = build(groups, strop.algorithm("dapo"))
    for part in padded_parts(batch):
        with torch.no_grad():
            on_n, _ = Policy(module, 0.7).score(part, with_entropy=False)
            off_n, _ = Policy(module, 0.7, bare=True).score(part, with_entropy=False)
        told_n = batch.sampler_logp_N[part.index_n]
        assert float((on_n - told_n).abs().max()) <= BOUND
        assert float((off_n - told_n).abs().max()) > 1000 * BOUND
    assert all(layer._disable_adapters is False for _, layer in wrapped(module))


def test_strop_check_finds_nothing_wrong_with_adapters() -> None:
    """The oracle's gradient, sequence by sequence, of every A and B, on a batch of the run's own."""
    small = {
        "rollout": {"prompts": 2, "completions": 3, "max_tokens": 24},
        "train": {"lora": {"rank": 2}, "updates": 1},
    }
    settings = bounded(load_config(mapping={"algorithm": "grpo", **small}))
    case = real_case(settings, Watcher())
    truth, *_ = real_trials(settings, case)
    lines = list(replace(truth, alone=(truth.alone[0], narrow(case.longest)[1:4])).run_alone())
    assert len(lines) == 3 and all(line.ok for line in lines), lines
    gradient = truth.oracle.truth(settings.row).gradient
    assert len(gradient) == 42 and all(bool(one.any()) for name, one in gradient.items() if ".lora_" in name)


@cache
def ranked() -> Any:
    return called(2, "tests.laws.ranked_lora:everything")


@pytest.mark.xdist_group("ranks")
@pytest.mark.parametrize("kind", ["data", "fsdp"])
@pytest.mark.parametrize("row", ROWS)
def test_ranks_give_adapters_the_gradients_and_weights_of_one_process(row: str, kind: str) -> None:
    for report in ranked():
        case = report[f"{row}, {kind}"]
        assert case["gradient"] < 1e-12 and case["weight"] < 1e-12 and case["metric"] < 1e-12
        assert case["frozen"] and case["dtypes"] == ["torch.float64"]


@pytest.mark.xdist_group("ranks")
def test_slices_of_a_bfloat16_base_stay_bfloat16_under_float32_adapters() -> None:
    for report in ranked():
        case = report["bfloat16 base"]
        assert case["frozen"] and case["dtypes"] == ["torch.bfloat16", "torch.float32"]
        assert case["whole gradient"] < 0.05


SMALL: dict[str, Any] = {
    "algorithm": "grpo",
    "rollout": {"prompts": 5, "completions": 4, "max_tokens": 48, "overlong": {"buffer": 24}},
    "train": {"steps": 2, "updates": 2, "learning_rate": 1e-3, "warmup_steps": 0, "lora": {"rank": 4}},
    "eval": {"prompts": 7, "completions": 2},
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield strop.train({**SMALL, "runs": str(tmp_path_factory.mktemp("runs")), "run": "one"}).folder


@pytest.mark.slow
@pytest.mark.xdist_group("ranks")
@pytest.mark.parametrize("parallel", ["data", "fsdp"])
def test_two_ranks_train_the_adapters_of_one_process(parallel: str, alone: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps({**SMALL, "runs": str(tmp_path)}))
    processes = start(2, "-m", "strop", "train", str(file), "--run", "two", "--train.parallel", parallel)
    printed = [finished(process)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], printed
    assert read_rows(tmp_path / "two" / "ledger.jsonl") == read_rows(alone / "ledger.jsonl")
    for name in ("adapter_model.safetensors", "optimizer.safetensors"):
        mine, theirs = (load_file(folder / "checkpoints/step-000002" / name) for folder in (tmp_path / "two", alone))
        assert mine.keys() == theirs.keys()
        assert all((mine[key].double() - theirs[key].double()).abs().max() < 1e-5 for key in mine)


def test_a_run_begins_as_its_base_saves_adapters_alone_and_goes_on_from_them(alone: Path, tmp_path: Path) -> None:
    before = read_rows(alone / "evaluations.jsonl")[0]
    full = {**SMALL, "train": {**SMALL["train"], "steps": 1, "lora": {"rank": 0}}, "runs": str(tmp_path), "run": "full"}
    assert read_rows(strop.train(full).folder / "evaluations.jsonl")[0]["avg"] == before["avg"]
    checkpoint = alone / "checkpoints" / "step-000002"
    assert not list(checkpoint.glob("model*"))
    weights = load_file(checkpoint / "adapter_model.safetensors")
    assert all(bool(weight.any()) for weight in weights.values())
    again = {**SMALL, "model": str(checkpoint), "task": {"kind": "arithmetic"}, "runs": str(tmp_path), "run": "again"}
    again["train"] = {**SMALL["train"], "lora": {"rank": 4, "alpha": 32.0}}
    folder = strop.train(again).folder
    after = read_rows(alone / "evaluations.jsonl")[-1]
    assert read_rows(folder / "evaluations.jsonl")[0]["avg"] == pytest.approx(after["avg"], abs=1e-9)
    config = json.loads((folder / "checkpoints/step-000002/adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "strop:tiny"


def test_a_run_of_adapters_is_evaluated_at_its_newest_ones(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", str(alone), "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)
    after = read_rows(alone / "evaluations.jsonl")[-1]
    assert (told["avg"], told["greedy"]) == (pytest.approx(after["avg"], abs=1e-9), after["greedy"])


def test_adapters_that_are_not_trained_on_are_merged_and_every_weight_trains(alone: Path, tmp_path: Path) -> None:
    start_from = {"model": str(alone / "checkpoints" / "step-000002"), "task": {"kind": "arithmetic"}}
    train = {**SMALL["train"], "lora": {"rank": 0}, "steps": 1}
    folder = strop.train({**SMALL, **start_from, "train": train, "runs": str(tmp_path), "run": "full"}).folder
    after = read_rows(alone / "evaluations.jsonl")[-1]
    assert read_rows(folder / "evaluations.jsonl")[0]["avg"] == pytest.approx(after["avg"], abs=1e-9)
    assert (folder / "checkpoints/step-000001/model.safetensors").is_file()
    assert not list((folder / "checkpoints/step-000001").glob("adapter*"))
