"""Adapters: what they change and what not, PEFT's files, what does not fit, and the merge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from strop.assets.tiny.make import make_tokenizer
from strop.errors import ConfigError
from strop.policy.lora import OFF, Lora, add, agree, bare, chosen, linear_layers, merge, shortened, trained, wrapped
from strop.policy.model import describe, load, load_tokenizer, write
from tests.learner import tiny_llama
from tests.rollout.conftest import ARCHITECTURES, randomized

PLAIN = Lora(rank=4, alpha=8.0)
IDS = torch.tensor([[1, 5, 6, 7], [1, 9, 9, 4]])
ENDS = ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]


def logits(module: Any) -> Tensor:
    with torch.no_grad():
        return module(input_ids=IDS).logits


def adapted(lora: Lora = PLAIN, *, dtype: torch.dtype = torch.float64, moved: bool = True) -> Any:
    """The tiny Llama with adapters, their B not 0 where `moved`."""
    module = tiny_llama(dtype=dtype)
    add(module, lora, base="some/base@v1")
    generator = torch.Generator().manual_seed(2)
    for weight in trained(module) if moved else ():
        weight.data = torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.dtype) / 5
    return module


def test_fresh_adapters_change_no_bit_and_only_they_train() -> None:
    module = adapted(moved=False)
    assert torch.equal(logits(module), logits(tiny_llama()))
    names = [name for name, weight in module.named_parameters() if weight.requires_grad]
    assert names and all(".lora_" in name for name in names)
    assert len(names) == len(trained(module)) == 2 * len(wrapped(module)) == 2 * 14


def test_an_adapted_layer_is_its_formula() -> None:
    """W x + alpha / rank * B A x."""
    layer = dict(wrapped(adapted()))["model.layers.0.mlp.up_proj"]
    x = torch.randn(3, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    a, b = (part["default"].weight for part in (layer.lora_A, layer.lora_B))
    right = x @ layer.base_layer.weight.T + 8.0 / 4 * (x @ a.T @ b.T)
    assert torch.allclose(layer(x), right, rtol=0, atol=1e-14)


def test_adapters_follow_from_the_seed_alone() -> None:
    torch.manual_seed(5)
    one = trained(adapted(Lora(4, seed=1), moved=False))
    torch.manual_seed(6)
    state = torch.random.get_rng_state()
    same = trained(adapted(Lora(4, seed=1), moved=False))
    assert torch.equal(torch.random.get_rng_state(), state)
    other = trained(adapted(Lora(4, seed=2), moved=False))
    assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
    assert not torch.equal(one[0], other[0])


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)],
)
def test_adapters_are_float32_or_wider_over_weights_of_any_width(dtype: torch.dtype, wide: torch.dtype) -> None:
    module = adapted(dtype=dtype)
    assert {weight.dtype for weight in trained(module)} == {wide}
    assert module.model.layers[0].mlp.up_proj.base_layer.weight.dtype == dtype
    assert logits(module).dtype == dtype


def test_with_its_adapters_off_the_module_is_the_base_and_they_train_on_afterwards() -> None:
    module = adapted()
    before = logits(module)
    with pytest.raises(RuntimeError, match="lost"), bare(module):
        assert torch.equal(logits(module), logits(tiny_llama()))
        raise RuntimeError("lost")
    assert torch.equal(logits(module), before) and not torch.equal(before, logits(tiny_llama()))
    assert all(weight.requires_grad for weight in trained(module))
    with pytest.raises(ValueError, match="no adapters"), bare(tiny_llama()):
        pass


def test_without_targets_every_linear_layer_but_the_head_is_adapted() -> None:
    module = tiny_llama()
    assert {name.rpartition(".")[2] for name in linear_layers(module)} == set(ENDS)
    assert chosen(module, ()) == linear_layers(module)
    assert chosen(module, ("q_proj", "mlp.up_proj"))[:2] == [
        "model.layers.0.self_attn.q_proj",
        "model.layers.0.mlp.up_proj",
    ]
    assert len(chosen(module, ("layers.1.self_attn.q_proj",))) == 1


@pytest.mark.parametrize(
    "target, says",
    [("q_porj", "did you mean q_proj"), ("lm_head", "it has down_proj, "), ("embed_tokens", "it has down")],
)
def test_a_target_that_names_no_linear_layer_is_refused_with_those_that_there_are(target: str, says: str) -> None:
    with pytest.raises(ConfigError, match=f"train.lora.targets: no linear layer .* ends in '{target}'; {says}"):
        adapted(Lora(4, targets=("q_proj", target)))


def test_layers_are_named_by_their_ends_where_these_mean_no_other() -> None:
    module = tiny_llama()
    assert shortened(module, linear_layers(module)) == ENDS
    assert shortened(module, ["model.layers.1.mlp.up_proj"]) == ["model.layers.1.mlp.up_proj"]


def saved(module: Any, folder: Path) -> Path:
    write(module, make_tokenizer(), folder)
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return saved(tiny_llama(dtype=torch.float32), tmp_path / "base")


def over(base: Path, lora: Lora = PLAIN) -> Any:
    """The base with adapters whose B is not 0, as a run would hold it."""
    module = load(str(base), dtype="float32", device="cpu", lora=lora)
    for number, weight in enumerate(trained(module)):
        weight.data.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(number)) / 5)
    return module


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_what_is_written_is_what_peft_and_strop_read(base: Path, tmp_path: Path) -> None:
    from peft import PeftModel

    module = over(base)
    folder = saved(module, tmp_path / "adapters")
    assert not list(folder.glob("model*")) and not (folder / "config.json").exists()
    written = json.loads((folder / "adapter_config.json").read_text())
    told = {
        "base_model_name_or_path": str(base),
        "r": 4,
        "lora_alpha": 8,
        "target_modules": ENDS,
        "inference_mode": True,
    }
    assert {key: written[key] for key in told} == told
    names = load_file(folder / "adapter_model.safetensors").keys()
    assert "base_model.model.model.layers.1.mlp.up_proj.lora_B.weight" in names and len(names) == 28
    theirs = PeftModel.from_pretrained(load(str(base), dtype="float32", device="cpu"), str(folder))
    assert torch.equal(logits(theirs), logits(module))
    ours = load(str(folder), dtype="float32", device="cpu")
    assert torch.equal(logits(ours), logits(module))
    assert load_tokenizer(str(folder)).get_vocab() == make_tokenizer().get_vocab()
    assert load_tokenizer(str(folder)).name_or_path == str(folder)
    (folder / "tokenizer_config.json").unlink()
    assert load_tokenizer(str(folder)).name_or_path == str(base)


def test_a_revision_of_the_base_is_kept(tmp_path: Path) -> None:
    folder = saved(adapted(dtype=torch.float32), tmp_path / "adapters")
    written = json.loads((folder / "adapter_config.json").read_text())
    assert (written["base_model_name_or_path"], written["revision"]) == ("some/base", "v1")


def test_adapters_go_on_training_where_they_were(base: Path, tmp_path: Path) -> None:
    lora = Lora(4, 8.0, ("q_proj", "v_proj"))
    folder = saved(over(base, lora), tmp_path / "adapters")
    again = load(str(folder), dtype="float32", device="cpu", lora=Lora(4, 8.0, seed=7))
    assert all(weight.requires_grad for weight in trained(again)) and len(wrapped(again)) == 4
    assert torch.equal(logits(again), logits(over(base, lora)))
    assert again.peft_config["default"].target_modules == {"q_proj", "v_proj"}
    load(str(folder), dtype="float32", device="cpu", lora=lora)


@pytest.mark.parametrize(
    "lora, says",
    [
        (Lora(8, 8.0), "have rank 4 and alpha 8, not 8 and 8; set --train.lora.rank 4 --train.lora.alpha 8, or merge"),
        (Lora(4, 16.0), "not 4 and 16"),
        (Lora(4, 8.0, ("o_proj",)), "train.lora.targets: adapters .* lie over other layers"),
    ],
)
def test_adapters_other_than_those_that_are_asked_for_are_refused(lora: Lora, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        agree(Path("there"), lora, rank=4, alpha=8.0, layers=["a.q_proj"], wanted=["a.o_proj"])
    agree(Path("there"), OFF, rank=4, alpha=8.0, layers=["a.q_proj"], wanted=["a.q_proj", "a.o_proj"])


def spoil_rank(weights: dict[str, Tensor]) -> None:
    name = next(name for name in weights if "lora_A" in name)
    weights[name] = weights[name][:3].clone()


def spoil_shape(weights: dict[str, Tensor]) -> None:
    name = next(name for name in weights if "lora_B" in name)
    weights[name] = weights[name][:3].clone()


def spoil_name(weights: dict[str, Tensor]) -> None:
    for name in [name for name in weights if "layers.1.mlp.up_proj" in name]:
        weights[name.replace("layers.1", "layers.9")] = weights.pop(name)


def spoil_half(weights: dict[str, Tensor]) -> None:
    del weights[next(name for name in weights if "lora_B" in name)]


def spoil_more(weights: dict[str, Tensor]) -> None:
    weights["base_model.model.model.layers.0.mlp.up_proj.lora_E.weight"] = torch.zeros(1)


@pytest.mark.parametrize(
    "spoil, says",
    [
        (spoil_rank, "not all of rank 4"),
        (spoil_shape, "do not fit"),
        (spoil_name, "layers.9.mlp.up_proj, which is no linear layer"),
        (spoil_half, "do not fit"),
        (spoil_more, "do not fit"),
    ],
)
def test_adapters_that_do_not_fit_are_refused_and_never_filled_in(
    spoil: Any, says: str, base: Path, tmp_path: Path
) -> None:
    folder = saved(over(base), tmp_path / "adapters")
    weights = load_file(folder / "adapter_model.safetensors")
    spoil(weights)
    save_file(weights, folder / "adapter_model.safetensors")
    with pytest.raises(ConfigError, match=says):
        load(str(folder), dtype="float32", device="cpu")


@pytest.mark.parametrize("name", list(ARCHITECTURES))
def test_merged_weights_of_any_architecture_give_the_logits_of_the_adapters(name: str) -> None:
    """Within 1e-12 of the largest logit in float64 (Gemma's own arithmetic is narrower: 1e-5)."""
    module = randomized(ARCHITECTURES[name]()).double()
    plain, names = logits(module), module.state_dict().keys()
    add(module, PLAIN, base="x")
    assert torch.equal(logits(module), plain)
    head = module.get_output_embeddings()
    assert wrapped(module) and all(layer is not head for _, layer in wrapped(module))
    for number, weight in enumerate(trained(module)):
        weight.data.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(number)) / 25)
    with_adapters = logits(module)
    merge(module)
    assert wrapped(module) == [] and module.state_dict().keys() == names
    bound = 1e-12 if name in ("gpt2", "gpt_neox") else 1e-5
    assert (logits(module) - with_adapters).abs().max() < bound * with_adapters.abs().max()
    assert (logits(module) - plain).abs().max() > 1e-3


def test_a_merge_into_bfloat16_rounds_the_sum_once() -> None:
    module = adapted(dtype=torch.bfloat16)
    layer = dict(wrapped(module))["model.layers.0.mlp.up_proj"]
    a, b = (part["default"].weight for part in (layer.lora_A, layer.lora_B))
    right = (layer.base_layer.weight.float() + 2.0 * (b @ a)).bfloat16()
    merge(module)
    assert torch.equal(module.model.layers[0].mlp.up_proj.weight, right)


def test_a_model_with_adapters_is_described_in_one_line() -> None:
    assert describe(adapted()) == "LlamaForCausalLM, 0.01M parameters, 0.00M of them in 14 adapters, float64 on cpu"


def test_without_peft_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigError, match=r"need peft: pip install 'strop\[lora\]'"):
        adapted()
