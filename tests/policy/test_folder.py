"""Hostile model folders: nothing in them runs, nothing outside them is read, and each is refused in one line.

Every folder is opened in each way that strop opens one; the code in it would leave a file behind.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jinja2.exceptions import SecurityError

from strop import assets
from strop.errors import ConfigError
from strop.policy import folder as folders
from strop.policy.model import load, load_tokenizer, positions
from strop.policy.name import locate

TINY = Path(str(assets.folder("strop:tiny")))
Spoil = Callable[[Path], None]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TINY, tmp_path / "model"))


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "model"))
    yield
    assert not list(tmp_path.rglob("ran*"))
    assert not {"evil", "evil_kernel"} & sys.modules.keys()


def config(**keys: Any) -> Spoil:
    def spoil(model: Path) -> None:
        held = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**held, **keys}))
        (model / "evil.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")

    return spoil


def index(*files: str) -> Spoil:
    def spoil(model: Path) -> None:
        (model / "model.safetensors").rename(model.parent / "outside.safetensors")
        weights = {f"w{number}": file for number, file in enumerate(files)}
        (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))

    return spoil


def text(name: str, content: str) -> Spoil:
    return lambda model: (model / name).write_text(content) and None


def linked(name: str) -> Spoil:
    def spoil(model: Path) -> None:
        outside = model.parent / "secret"
        if (model / name).exists():
            (model / name).rename(outside)
        else:
            outside.write_text("{}")
        (model / name).symlink_to(outside)

    return spoil


class Bomb:
    """Unpickled, it leaves a file."""

    def __reduce__(self) -> Any:
        return os.system, ("touch ran",)


def pickled(*names: str) -> Spoil:
    def spoil(model: Path) -> None:
        import pickle

        (model / "model.safetensors").unlink()
        for name in names:
            with zipfile.ZipFile(model / name, "w") as archive:
                archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
                archive.writestr("archive/zeros", b"\0" * 2**24, zipfile.ZIP_DEFLATED)

    return spoil


def fifo(model: Path) -> None:
    os.mkfifo(model / "generation_config.json.new")
    (model / "generation_config.json.new").replace(model / "generation_config.json")


def templates(model: Path) -> None:
    (model / "additional_chat_templates").mkdir()
    (model / "additional_chat_templates" / "x.jinja").symlink_to(model.parent / "secret")
    (model.parent / "secret").write_text("secret")


KERNEL = "evil/kernel"
HOSTILE: dict[str, tuple[Spoil, str]] = {
    "pickle .bin": (pickled("pytorch_model.bin"), "pytorch_model.bin .* is a pickle.*never opened"),
    "pickle .pt beside evil DCP metadata": (pickled("weights.pt", ".metadata"), "weights.pt .* is a pickle"),
    "attention of a hub": (config(attn_implementation=KERNEL), "attention code from a hub .attn_implementation: 'evil"),
    "internal attention": (config(_attn_implementation_internal=KERNEL), "_attn_implementation_internal"),
    "attention, nested": (config(text_config={"_attn_implementation": {"": KERNEL}}), "attention code from a hub"),
    "trust flag": (config(trust_remote_code=True), "sets trust_remote_code, which only you may"),
    "trust flag, nested": (config(sub=[{"text_config": {"trust_remote_code": True}}]), "sets trust_remote_code"),
    "quantized": (config(quantization_config={"quant_method": "evil"}), "are quantized .evil."),
    "a billion layers": (config(num_hidden_layers=10**9), "num_hidden_layers 1000000000, beyond any model"),
    "index up": (index("../outside.safetensors"), r"names '\.\./outside.safetensors', which is no safetensors file"),
    "index absolute": (index("/etc/passwd"), "names '/etc/passwd', which is no safetensors"),
    "index to a pickle": (index("pytorch_model.bin"), "names 'pytorch_model.bin'"),
    "index to nothing": (index("gone.safetensors"), "names gone.safetensors, which is not there"),
    "index of nothing": (text("model.safetensors.index.json", "{}"), "has no weight_map"),
    "config linked out": (linked("config.json"), "config.json .* is a link out of the folder"),
    "weights linked out": (linked("model.safetensors"), "model.safetensors .* is a link out of the folder"),
    "template linked out": (linked("chat_template.jinja"), "chat_template.jinja .* is a link out"),
    "a second template linked out": (templates, "x.jinja .* is a link out of the folder"),
    "pipe": (fifo, "generation_config.json .* is no regular file"),
    "config too large": (text("config.json", " " * (4 * 2**20 + 1)), "config.json .* has 4 MiB, and 4 is the most"),
    "no object": (text("config.json", "[]"), "config.json .* holds a list where a JSON object belongs"),
    "half a config": (text("config.json", "{"), "config.json .* is no JSON"),
    "too deep": (
        text("tokenizer_config.json", '{"a":' + "[" * 10**5 + "]" * 10**5 + "}"),
        "tokenizer_config.json .* is",
    ),
    "adapters beside a model": (text("adapter_config.json", '{"auto_mapping": {"parent_library": "evil"}}'), "beside"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_folder_is_refused_in_one_line_and_nothing_of_it_runs(kind: str, model: Path) -> None:
    spoil, says = HOSTILE[kind]
    spoil(model)
    for opened in (locate, load_tokenizer, positions, lambda name: load(name, dtype="float32", device="cpu")):
        with pytest.raises(ConfigError, match=says) as caught:
            opened(str(model))
        assert "\n" not in str(caught.value) and str(caught.value).startswith("model: ")


def adapters(spoil: dict[str, Any]) -> Spoil:
    def spoiled(model: Path) -> None:
        over = model.parent / "over"
        over.mkdir()
        plain = {"peft_type": "LORA", "base_model_name_or_path": str(model), "r": 2, "lora_alpha": 4}
        (over / "adapter_config.json").write_text(json.dumps({**plain, "target_modules": ["q_proj"], **spoil}))
        (over / "adapter_model.safetensors").write_bytes(b"")

    return spoiled


@pytest.mark.parametrize(
    "key, value",
    [
        ("auto_mapping", {"parent_library": "evil", "base_model_class": "X"}),
        ("megatron_core", "evil"),
        ("peft_type", "EVIL"),
        ("modules_to_save", ["lm_head"]),
        ("use_dora", True),
        ("layer_replication", [[0, 10**9]]),
        ("rank_pattern", {"(a+)+$": 3}),
        ("unheard_of", 1),
    ],
)
def test_adapters_that_are_not_plain_lora_are_refused_by_the_key(key: str, value: Any, model: Path) -> None:
    adapters({key: value})(model)
    with pytest.raises(ConfigError, match=rf"adapter_config\.json of .* has {key} .*plain LoRA"):
        load(str(model.parent / "over"), dtype="float32", device="cpu")


def test_adapters_without_a_base_or_with_pickled_weights_are_refused(model: Path) -> None:
    adapters({"base_model_name_or_path": None})(model)
    over = model.parent / "over"
    with pytest.raises(ConfigError, match="does not say base_model_name_or_path"):
        locate(str(over))
    adapter = json.loads((over / "adapter_config.json").read_text())
    (over / "adapter_config.json").write_text(json.dumps({**adapter, "base_model_name_or_path": str(model)}))
    (over / "adapter_model.safetensors").rename(over / "adapter_model.bin")
    with pytest.raises(ConfigError, match=r"adapter_model\.safetensors .* is not there, and a pickle"):
        locate(str(over))


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('touch ran') }}",
        "{% for m in messages %}{{ m.__class__.__base__.__subclasses__() }}{% endfor %}",
        "{{ messages.append(1) }}",
        "{{ (messages | attr('__class__')).__mro__ }}",
    ],
)
def test_a_chat_template_with_code_in_it_runs_none(template: str, model: Path) -> None:
    (model / "chat_template.jinja").write_text(template)
    tokenizer = load_tokenizer(str(model))
    with pytest.raises(SecurityError):
        tokenizer.apply_chat_template([{"role": "user", "content": "1+1="}], tokenize=False)


def test_what_real_models_carry_is_no_reason_to_refuse_them(model: Path) -> None:
    """Names of code that transformers itself has, attention that it has, other formats beside safetensors."""
    config(
        auto_map={"AutoModelForCausalLM": "other/repo--evil.X"}, attn_implementation="sdpa", trust_remote_code=False
    )(model)
    (model / "pytorch_model.bin").write_bytes(b"never read")
    (model / "inside.json").symlink_to("config.json")
    assert positions(str(model)) == 256
    assert load(str(model), dtype="float32", device="cpu").dtype.is_floating_point


def test_a_commit_of_a_hub_cache_may_link_to_its_blobs_and_no_further(model: Path) -> None:
    snapshot = model.parent / "models--a--b" / "snapshots" / ("c" * 40)
    blobs = snapshot.parents[1] / "blobs"
    blobs.mkdir(parents=True)
    shutil.copytree(model, snapshot)
    (snapshot / "config.json").rename(blobs / "1")
    (snapshot / "config.json").symlink_to("../../blobs/1")
    folders.check_files(snapshot, "a/b")
    (snapshot / "generation_config.json").unlink(missing_ok=True)
    (snapshot / "generation_config.json").symlink_to("../../refs")
    with pytest.raises(ConfigError, match="link out of the folder"):
        folders.check_files(snapshot, "a/b")


def test_no_pickle_is_opened_while_a_model_loads(model: Path) -> None:
    """The audit event of every global that an unpickler looks up."""
    found: list[str] = []
    armed = [True]
    sys.addaudithook(lambda event, _: found.append(event) if armed[0] and event == "pickle.find_class" else None)
    (model / "pytorch_model.bin").write_bytes(b"never read")
    load(str(model), dtype="float32", device="cpu")
    load_tokenizer(str(model))
    armed[0] = False
    assert found == []
