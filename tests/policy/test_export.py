"""Exported folders: others open them and get the same text; ties stay; nothing of the training or the machine is in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from strop.errors import ConfigError, NumericsError
from strop.policy import export
from strop.policy.export import MERGE_BOUND, export_model
from strop.policy.lora import OFF, Lora, trained
from strop.policy.model import load, load_tokenizer, write

TEXTS = ["....4+7-2............=", "...9-1+3-8+2=", "1+1="]


def checkpoint(folder: Path, *, lora: Lora = OFF, dtype: str = "float32", base: str = "strop:tiny") -> Path:
    """A checkpoint as a run saves it: moved weights, and the trainer's files beside them."""
    module = load(base, dtype=dtype, device="cpu", lora=lora)
    for number, weight in enumerate(trained(module) if lora.rank else module.parameters()):
        noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(number))
        weight.data.add_((noise / (6 if lora.rank else 30)).to(weight.dtype))
    write(module, load_tokenizer(base), folder)
    save_file({"0.step": torch.ones(1)}, folder / "optimizer.safetensors")
    for name in ("state.json", "MANIFEST.json", "carried.parquet"):
        (folder / name).write_text("{}")
    return folder


def greedy(module: Any, tokenizer: Any) -> list[str]:
    found: list[str] = []
    for text in TEXTS:
        ids = tokenizer(text, return_tensors="pt")
        out = module.generate(**ids, max_new_tokens=40, do_sample=False)
        found.append(tokenizer.decode(out[0]))
    return found


def opened(folder: Path) -> tuple[Any, Any]:
    """By plain transformers, as anybody would."""
    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def exported(source: Path, target: Path, **how: Any) -> Any:
    target.mkdir()
    return export_model(str(source), target, **how)


def test_a_whole_model_is_copied_byte_for_byte_without_the_trainers_files(tmp_path: Path) -> None:
    source, target = checkpoint(tmp_path / "step-000002"), tmp_path / "out"
    done = exported(source, target)
    assert done.kind == "model" and done.merge_error == done.rounding == 0.0
    names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert set(done.files) == names == {path.name for path in target.iterdir()}
    assert (target / "model.safetensors").read_bytes() == (source / "model.safetensors").read_bytes()
    ours = load(str(source), dtype="float32", device="cpu"), load_tokenizer(str(source))
    assert (
        greedy(*opened(target)) == greedy(*ours) != greedy(load("strop:tiny", dtype="float32", device="cpu"), ours[1])
    )


@pytest.mark.parametrize("lora", [Lora(4, 8.0), Lora(2, 4.0, ("q_proj", "down_proj"))])
def test_merged_adapters_give_the_greedy_text_of_the_checkpoint(lora: Lora, tmp_path: Path) -> None:
    source, target = checkpoint(tmp_path / "step-000002", lora=lora), tmp_path / "out"
    done = exported(source, target)
    assert done.kind == "merged" and 0 <= done.merge_error <= MERGE_BOUND
    assert not [name for name in done.files if "adapter" in name or "optimizer" in name]
    ours = load(str(source), dtype="float32", device="cpu"), load_tokenizer(str(source))
    assert (
        greedy(*opened(target)) == greedy(*ours) != greedy(load("strop:tiny", dtype="float32", device="cpu"), ours[1])
    )


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_adapters_that_are_kept_apart_open_over_their_base(tmp_path: Path) -> None:
    from peft import PeftModel

    source, target = checkpoint(tmp_path / "step-000002", lora=Lora(4, 8.0)), tmp_path / "out"
    done = exported(source, target, adapter=True)
    weights = {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert done.kind == "adapter" and set(done.files) == weights
    theirs = PeftModel.from_pretrained(load("strop:tiny", dtype="float32", device="cpu"), str(target))
    ours = load(str(source), dtype="float32", device="cpu"), load_tokenizer(str(source))
    assert greedy(theirs, AutoTokenizer.from_pretrained(target)) == greedy(*ours)


def test_a_folder_that_is_exported_is_what_vllm_looks_for(tmp_path: Path) -> None:
    """architectures in the config, safetensors, and of weights that are tied in it one, as in the checkpoint."""
    source = checkpoint(tmp_path / "step-000002", lora=Lora(2))
    exported(source, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"] and config["tie_word_embeddings"] is True
    assert config["dtype"] == "float32"
    names = load_file(tmp_path / "out" / "model.safetensors").keys()
    assert "model.embed_tokens.weight" in names and "lm_head.weight" not in names
    assert not [name for name in names if "lora" in name or "base_layer" in name]
    module, info = AutoModelForCausalLM.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert module.lm_head.weight is module.model.embed_tokens.weight


def test_an_index_and_its_parts_go_along(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "step-000002")
    module = load(str(source), dtype="float32", device="cpu")
    (source / "model.safetensors").unlink()
    module.save_pretrained(source, max_shard_size="1MB")
    parts = sorted(path.name for path in source.glob("model-*.safetensors"))
    done = exported(source, tmp_path / "out")
    assert len(parts) > 1 and {*parts, "model.safetensors.index.json"} <= set(done.files)
    assert greedy(*opened(tmp_path / "out")) == greedy(module, load_tokenizer(str(source)))


def test_bfloat16_is_merged_in_float32_and_rounded_once(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "step-000002", lora=Lora(4, 8.0), dtype="bfloat16")
    done = exported(source, tmp_path / "out", dtype="bfloat16")
    assert done.merge_error <= MERGE_BOUND < done.rounding < 0.1
    weights: dict[str, Tensor] = load_file(tmp_path / "out" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}


def scaled(module: Any) -> None:
    module.model.layers[0].mlp.up_proj.weight.data.mul_(1.02)


def forgotten(module: Any) -> None:
    for name, weight in load("strop:tiny", dtype="float32", device="cpu").state_dict().items():
        module.state_dict()[name].copy_(weight)


def not_a_number(module: Any) -> None:
    module.model.norm.weight.data.fill_(float("nan"))


@pytest.mark.parametrize("fault", [scaled, forgotten, not_a_number])
def test_a_merge_that_changes_the_model_is_refused(fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = checkpoint(tmp_path / "step-000002", lora=Lora(4, 8.0))
    merge = export.merge
    monkeypatch.setattr(export, "merge", lambda module: (merge(module), fault(module)))
    with pytest.raises(NumericsError, match="the merged model is not the model with its adapters: a logit is off by"):
        exported(source, tmp_path / "out")


def test_there_are_no_adapters_to_keep_apart_in_a_whole_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--adapter: .* is a whole model"):
        exported(checkpoint(tmp_path / "step-000002"), tmp_path / "out", adapter=True)


@pytest.mark.parametrize("adapter", [False, True])
def test_no_file_names_a_place_on_this_machine(adapter: bool, tmp_path: Path) -> None:
    place = tmp_path / "home" / "alice"
    base = checkpoint(place / "base")
    source = checkpoint(place / "step-000002", lora=Lora(2), base=str(base))
    for folder in (base, source):
        held = json.loads((folder / "tokenizer_config.json").read_text())
        held |= {"name_or_path": str(base), "special_tokens_map_file": str(base / "special_tokens_map.json")}
        (folder / "tokenizer_config.json").write_text(json.dumps(held))
    exported(source, tmp_path / "out", adapter=adapter)
    for file in (tmp_path / "out").iterdir():
        assert b"alice" not in file.read_bytes() and str(tmp_path).encode() not in file.read_bytes(), file
    if adapter:
        assert json.loads((tmp_path / "out" / "adapter_config.json").read_text())["base_model_name_or_path"] == "base"
    else:
        assert greedy(*opened(tmp_path / "out"))


def test_a_link_out_of_a_checkpoint_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for lora, adapter in ((OFF, False), (Lora(2), True)):
        source = checkpoint(tmp_path / f"step-{lora.rank}", lora=lora)
        (source / "chat_template.jinja").symlink_to(tmp_path / "secret")
        with pytest.raises(ConfigError, match=r"chat_template\.jinja .* is a link out of the folder"):
            exported(source, tmp_path / f"out-{lora.rank}", adapter=adapter)
