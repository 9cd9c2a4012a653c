"""Loading: what is found, what is refused, what is never run, dropout off, and log-probs in fp32 or wider."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from strop.algorithms import algorithm
from strop.assets.tiny.make import make_tokenizer
from strop.batch.build import build
from strop.batch.split import split
from strop.errors import ConfigError
from strop.policy import model
from strop.policy.model import Policy, describe, load, load_tokenizer, pick_device, positions, write
from strop.policy.name import code_hash, locate
from tests.learner import VOCABULARY, ragged_groups, tiny_llama
from tests.policy.hub import cache

CODE = """
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
Path(__file__).with_name("ran").touch()
class Config(LlamaConfig): model_type = "unheard_of"
class Model(LlamaForCausalLM): config_class = Config
class Tokenizer(PreTrainedTokenizerFast): pass
"""


def load_on_cpu(name: str) -> Any:
    return load(name, dtype="float32", device="cpu")


@pytest.mark.parametrize("reader", [load_on_cpu, load_tokenizer, positions])
def test_code_that_comes_with_a_model_is_neither_run_nor_asked_about(
    reader: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda text="": asked.append(text) or "y")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    names = {
        "AutoConfig": "code.Config",
        "AutoModelForCausalLM": "code.Model",
        "AutoTokenizer": [None, "code.Tokenizer"],
    }
    tiny_llama().save_pretrained(tmp_path)
    (tmp_path / "code.py").write_text(CODE)
    small = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**small, "model_type": "unheard_of", "auto_map": names}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Tokenizer", "auto_map": names}))
    allowing = f"read it, then name remote-code:{tmp_path}@{code_hash(tmp_path)}"
    with pytest.raises(ConfigError, match=f"needs Python code of its own, .* {allowing}") as caught:
        reader(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert not asked
    assert not list(tmp_path.rglob("ran"))


OWN = """
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM
from .part import doubled
Path(__file__).with_name("ran").touch()
class Config(LlamaConfig):
    model_type = "unheard_of"
class Model(LlamaForCausalLM):
    config_class = Config
    def forward(self, **inputs):
        output = super().forward(**inputs)
        output.logits = doubled(output.logits)
        return output
"""


@pytest.fixture
def own_code(tmp_path: Path) -> Path:
    """A model of a kind that only its own two files of Python know: a Llama with doubled logits."""
    folder = tmp_path / "own"
    write(tiny_llama(dtype=torch.float32), make_tokenizer(), folder)
    (folder / "modeling.py").write_text(OWN)
    (folder / "part.py").write_text("def doubled(x): return 2 * x\n")
    small = json.loads((folder / "config.json").read_text())
    names = {"AutoConfig": "modeling.Config", "AutoModelForCausalLM": "modeling.Model"}
    small |= {"model_type": "unheard_of", "auto_map": names, "architectures": ["Model"]}
    (folder / "config.json").write_text(json.dumps(small))
    return folder


@pytest.mark.parametrize("by_hub", [False, True])
def test_code_of_the_hash_that_was_named_runs_and_goes_with_what_is_saved(
    by_hub: bool,
    own_code: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules = tmp_path_factory.getbasetemp() / "modules"  # one, for Python finds the package that was first
    before = len(list(modules.rglob("ran")))
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(modules))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    name = f"remote-code:{own_code}@{code_hash(own_code)}"
    if by_hub:
        cache(tmp_path / "home", "someone/own", own_code, commit="d" * 40)
        name = f"remote-code:someone/own@{'d' * 40}"
    assert positions(name) == 64
    ids = torch.tensor([[1, 5, 6]])
    module = load_on_cpu(name)
    assert len(list(modules.rglob("ran"))) == before + 1
    assert torch.equal(module(input_ids=ids).logits, 2 * tiny_llama(dtype=torch.float32)(input_ids=ids).logits)
    saved = tmp_path / "saved"
    write(module, load_tokenizer(name), saved)
    with pytest.raises(ConfigError, match=f"read it, then name remote-code:{saved}@{code_hash(saved)}"):
        load_on_cpu(str(saved))
    again = load_on_cpu(f"remote-code:{saved}@{code_hash(saved)}")
    assert torch.equal(again(input_ids=ids).logits, module(input_ids=ids).logits)


def test_leave_to_run_the_code_of_a_base_is_none_for_code_beside_its_adapters(own_code: Path, tmp_path: Path) -> None:
    over = tmp_path / "over"
    over.mkdir()
    config = {"peft_type": "LORA", "base_model_name_or_path": str(own_code), "r": 2, "lora_alpha": 4}
    (over / "adapter_config.json").write_text(json.dumps(config))
    (over / "adapter_model.safetensors").touch()
    (over / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": [None, "evil.Tokenizer"]}}))
    (over / "evil.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    tokenizer = load_tokenizer(f"remote-code:{over}@{code_hash(own_code)}")
    assert tokenizer.get_vocab() == make_tokenizer().get_vocab()
    with pytest.raises(ConfigError):
        load_tokenizer(str(over))
    assert not list(tmp_path.rglob("ran"))


def test_code_of_another_repository_is_refused_also_where_code_may_run(own_code: Path) -> None:
    small = json.loads((own_code / "config.json").read_text())
    small["auto_map"]["AutoModelForCausalLM"] = "another/one--modeling.Model"
    (own_code / "config.json").write_text(json.dumps(small))
    with pytest.raises(ConfigError, match="takes its code from another repository .another/one--modeling.Model."):
        load_on_cpu(f"remote-code:{own_code}@{code_hash(own_code)}")


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "mps"])
def test_a_device_that_is_not_there_is_named_before_anything_loads(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(ConfigError, match=f"device: this machine has no {device} that torch can use; it has cpu"):
        load("./nowhere", dtype="float32", device=device)


def test_a_gpu_is_counted_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [pick_device(device) for device in ("cuda", "cuda:1", "cpu")] == ["cuda", "cuda:1", "cpu"]
    with pytest.raises(ConfigError, match="no cuda:2 .* it has cpu, cuda:0, cuda:1"):
        pick_device("cuda:2")


@pytest.mark.parametrize(
    "name, text", [("model.safetensors", "damaged"), ("config.json", "{}"), ("config.json", '{"model_type": "x"}')]
)
def test_a_damaged_file_is_one_line(name: str, text: str, tmp_path: Path) -> None:
    folder = shutil.copytree(locate("strop:tiny").folder, tmp_path / "model")
    (folder / name).write_text(text)
    with pytest.raises(ConfigError, match="model: cannot load '.*', it as a causal language model: .") as caught:
        load_on_cpu(str(folder))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [ImportError("\nIt needs tiktoken:\n pip install tiktoken"), Exception("It needs")])
def test_a_tokenizer_that_lacks_a_library_is_one_line(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(model.AutoTokenizer, "from_pretrained", broken)
    with pytest.raises(ConfigError, match="model: cannot load 'strop:tiny', its tokenizer: It needs[^\n]*$"):
        load_tokenizer("strop:tiny")


def test_memory_that_runs_out_is_no_fault_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(model.AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(torch.OutOfMemoryError):
        load_on_cpu("strop:tiny")


def test_the_positions_of_a_model_are_known_without_its_weights(tmp_path: Path) -> None:
    tiny_llama().config.save_pretrained(tmp_path)
    assert positions(str(tmp_path)) == 64
    GPT2Config(n_positions=32).save_pretrained(tmp_path)
    assert positions(str(tmp_path)) == 32
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    assert positions(str(tmp_path)) == 0


def test_a_model_is_described_in_one_line() -> None:
    assert describe(tiny_llama()) == "LlamaForCausalLM, 0.01M parameters, float64 on cpu"


def test_a_written_model_loads_with_the_same_numbers_and_without_dropout(tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=1, n_head=2, n_positions=32, bos_token_id=1)
    config.eos_token_id = 2
    module = GPT2LMHeadModel(config)
    write(module, make_tokenizer(), tmp_path)
    loaded = load(str(tmp_path), dtype="float32", device="cpu", gradient_checkpointing=True)
    assert loaded.training
    ids = torch.tensor([[1, 5, 6]])
    assert torch.equal(loaded(input_ids=ids).logits, module.eval()(input_ids=ids).logits)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_log_probs_are_fp32_or_wider(dtype: torch.dtype) -> None:
    [batch] = build(ragged_groups((2,)), algorithm("dapo"))
    [micro, *_] = split(batch, tokens=100)
    logp_n, entropy_n = Policy(tiny_llama(dtype=dtype)).score(micro)
    assert entropy_n is not None
    assert logp_n.dtype == entropy_n.dtype == torch.promote_types(dtype, torch.float32)


def test_log_probs_without_entropy_are_the_same_bits_and_no_entropy_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    [batch] = build(ragged_groups((2,)), algorithm("dapo"))
    [micro, *_] = split(batch, tokens=100)
    policy = Policy(tiny_llama(), temperature=0.7)
    logp_n, entropy_n = policy.score(micro)
    assert entropy_n is not None and not entropy_n.requires_grad
    monkeypatch.setattr(model, "entropy", None)
    alone_n, absent = policy.score(micro, with_entropy=False)
    assert absent is None
    assert torch.equal(alone_n, logp_n)


def test_a_token_that_the_model_rules_out_adds_no_entropy_and_no_nan() -> None:
    module = tiny_llama()
    head = module.lm_head.forward
    ruled_out = torch.zeros(VOCABULARY, dtype=torch.float64).index_fill(0, torch.tensor([0]), float("-inf"))
    module.lm_head.forward = lambda hidden: head(hidden) + ruled_out  # type: ignore[method-assign]
    [batch] = build(ragged_groups((2,)), algorithm("dapo"))
    [micro, *_] = split(batch, tokens=100)
    _, entropy_n = Policy(module).score(micro, entropy_gradient=True)
    assert entropy_n is not None
    entropy_n.sum().backward()
    assert bool(entropy_n.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in module.parameters() if p.grad is not None)


def test_a_model_that_lacks_weights_is_refused_and_never_filled_in_at_random(tmp_path: Path) -> None:
    write(tiny_llama(dtype=torch.float32), make_tokenizer(), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=r"lacks 1 weights, model\.layers\.1\.mlp\.up_proj\.weight among them"):
        load(str(tmp_path), dtype="float32", device="cpu")
