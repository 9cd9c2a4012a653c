from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from strop.check.cases import Models, nudged
from strop.check.files import read_case, read_truth, write_case, write_truth
from strop.check.trials import made_row, row_of
from strop.policy.lora import Lora
from strop.policy.model import load
from strop.types import Completion, Group
from tests.check.beds import hard_case, oracle_of


def numbers(group: Group) -> tuple[object, ...]:
    return group.draw, group.prompt_ids, group.rollouts


def test_a_case_comes_back_with_every_bit(tmp_path: Path) -> None:
    case = hard_case()
    write_case(tmp_path / "case", case)
    back = read_case(tmp_path / "case")
    assert [numbers(group) for group in back.groups] == [numbers(group) for group in case.groups]
    assert isinstance(back.groups[0].rollouts[0].completion, Completion)
    assert replace(back, groups=(), models=case.models) == replace(case, groups=())
    for one, other in zip(back.models, case.models, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_case_of_adapters_comes_back_with_them(tmp_path: Path) -> None:
    lora = Lora(2, 4.0, ("q_proj",), seed=3)
    module = nudged(load("strop:tiny", dtype="float32", device="cpu", lora=lora), 0.5, seed=1)
    case = replace(hard_case(), models=Models(module, module, module), model="strop:tiny", lora=lora)
    write_case(tmp_path / "case", case)
    back = read_case(tmp_path / "case")
    assert back.lora == lora
    pairs = zip(back.models.policy.named_parameters(), module.named_parameters(), strict=True)
    assert all(one[0] == other[0] and torch.equal(one[1], other[1]) for one, other in pairs)


def test_a_module_that_plays_two_parts_is_written_once(tmp_path: Path) -> None:
    case = hard_case()
    narrow = Models(case.models.policy, case.models.old, case.models.old).to(torch.bfloat16)
    write_case(tmp_path / "case", replace(case, models=narrow))
    assert len(list((tmp_path / "case").glob("*.safetensors"))) == 2
    back = read_case(tmp_path / "case").models
    assert back.old is back.reference
    assert {weight.dtype for weight in back.policy.parameters()} == {torch.bfloat16}


def test_a_right_answer_comes_back_with_every_bit(tmp_path: Path) -> None:
    """A metric without an observation has no mean, and is kept all the same."""
    truth = oracle_of().truth(row_of(made_row("cispo")))
    write_truth(tmp_path / "cispo.safetensors", truth)
    back = read_truth(tmp_path / "cispo.safetensors")
    assert back.metrics == truth.metrics
    assert back.scale == truth.scale
    assert back.gradient.keys() == truth.gradient.keys()
    assert all(torch.equal(back.gradient[name], g) for name, g in truth.gradient.items())
