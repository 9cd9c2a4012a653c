"""Names of models: what they mean, which are refused, and that a hub's model is of one commit, known by it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub.errors import EntryNotFoundError
from huggingface_hub.utils import are_progress_bars_disabled

from strop import assets
from strop.errors import ConfigError
from strop.policy.name import Name, code_hash, locate, model_record, parse, shown, wrong
from tests.policy.hub import cache

COMMIT, OTHER = "a" * 40, "0123456789abcdef0123456789abcdef01234567"
TINY = Path(str(assets.folder("strop:tiny")))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    return tmp_path / "home"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TINY, tmp_path / "model"))


@pytest.mark.parametrize(
    "text, name",
    [
        ("strop:tiny", Name("strop:tiny", "embedded", "strop:tiny")),
        ("gpt2", Name("gpt2", "hub", "gpt2")),
        ("Qwen/Qwen3-0.6B", Name("Qwen/Qwen3-0.6B", "hub", "Qwen/Qwen3-0.6B")),
        (f"a/b@{COMMIT}", Name(f"a/b@{COMMIT}", "hub", "a/b", COMMIT)),
        ("a/b@v1.0", Name("a/b@v1.0", "hub", "a/b", "v1.0")),
        (f"remote-code:a/b@{COMMIT}", Name(f"remote-code:a/b@{COMMIT}", "hub", "a/b", COMMIT, True)),
    ],
)
def test_a_name_has_a_place_a_revision_and_leave_to_run_code_or_not(text: str, name: Name) -> None:
    assert parse(text) == name


def test_a_folder_may_have_an_at_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "model@v2"
    folder.mkdir()
    assert parse(str(folder)) == Name(str(folder), "folder", str(folder))
    code = f"remote-code:{folder}@{COMMIT}"
    assert parse(code) == Name(code, "folder", str(folder), COMMIT, True)


@pytest.mark.parametrize(
    "text, says",
    [
        ("./nowhere", "there is no folder ./nowhere"),
        ("/nowhere/at/all", "there is no folder"),
        ("strop:huge", "there is no embedded model strop:huge; did you mean strop:tiny?"),
        ("strop:tiny@main", "there is no embedded model"),
        (f"remote-code:strop:tiny@{COMMIT}", "there is no embedded model"),
        ("a b/c", "neither a folder nor a Hugging Face id"),
        ("a/b@", "neither a folder nor a Hugging Face id"),
        ("a/b@../../x y", "neither a folder nor a Hugging Face id|there is no folder"),
        ("remote-code:a/b", "must say which: .*remote-code:a/b@COMMIT, with the 40 hex digits"),
        ("remote-code:a/b@main", "must say which: .*remote-code:a/b@COMMIT"),
        (f"remote-code:a/b@{COMMIT[:-1]}", "must say which"),
        (f"remote-code:a/b@{COMMIT.upper()}", "must say which"),
    ],
)
def test_a_name_that_can_mean_nothing_is_one_line(text: str, says: str) -> None:
    assert "\n" not in wrong(text)
    with pytest.raises(ConfigError, match=f"model: .*({says})"):
        parse(text)


def test_names_are_judged_without_torch() -> None:
    code = "import sys; from strop.policy.name import wrong; wrong('a/b'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no config\.json"):
        locate(str(tmp_path))


def test_a_hubs_model_is_found_in_its_cache_and_known_by_its_commit(hub: Path, model: Path) -> None:
    cache(hub, "someone/tiny", model, commit=COMMIT)
    place = locate("someone/tiny")
    assert (place.commit, place.base, place.code) == (COMMIT, f"someone/tiny@{COMMIT}", "")
    assert place.folder == hub / "hub" / "models--someone--tiny" / "snapshots" / COMMIT
    record = {"name": "someone/tiny", "base": f"someone/tiny@{COMMIT}", "commit": COMMIT, "code": ""}
    assert model_record("someone/tiny") == record


def test_a_revision_is_the_one_that_is_read_and_a_branch_is_resolved_once(hub: Path, model: Path) -> None:
    cache(hub, "someone/moves", model, commit=COMMIT)
    assert locate("someone/moves").commit == COMMIT
    (model / "config.json").write_text((model / "config.json").read_text() + "\n")
    cache(hub, "someone/moves", model, commit=OTHER)
    assert locate("someone/moves").commit == COMMIT
    assert locate(f"someone/moves@{OTHER}").commit == OTHER
    assert locate(f"someone/moves@{OTHER}").base == f"someone/moves@{OTHER}"
    cache(hub, "someone/moves", model, commit="b" * 40, branch="v2")
    assert locate("someone/moves@v2").commit == "b" * 40


@pytest.mark.parametrize("name", ["someone/nothing", f"someone/nothing@{COMMIT}", "someone/nothing@v9"])
def test_a_model_that_the_hub_cannot_give_is_one_line(name: str, hub: Path) -> None:
    with pytest.raises(
        ConfigError, match="model: cannot fetch 'someone/nothing' from the Hugging Face hub: "
    ) as caught:
        locate(name)
    assert "\n" not in str(caught.value)


def test_a_hubs_model_without_safetensors_is_not_fetched(
    hub: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise EntryNotFoundError("404 Client Error")

    cache(hub, "someone/pickled", model, commit=COMMIT)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", gone)
    with pytest.raises(ConfigError, match="'someone/pickled' has no safetensors weights on the hub, .* convert it"):
        locate("someone/pickled")


@pytest.mark.parametrize(
    "text, short",
    [
        ("strop:tiny", "strop:tiny"),
        ("Qwen/Qwen3-0.6B@v1", "Qwen/Qwen3-0.6B@v1"),
        ("/home/alice/models/mine", "mine"),
        ("~/mine", "mine"),
        (f"remote-code:/home/alice/mine@{COMMIT}", "mine"),
        (f"remote-code:a/b@{COMMIT}", f"a/b@{COMMIT}"),
    ],
)
def test_a_name_is_shown_without_the_place_of_a_folder(text: str, short: str) -> None:
    assert shown(text) == short


def test_a_download_shows_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def watched(*_: object, **__: object) -> str:
        seen.append(are_progress_bars_disabled())
        raise OSError("no network\nat all")

    monkeypatch.setattr("huggingface_hub.snapshot_download", watched)
    with pytest.raises(ConfigError, match="someone/large.*: no network$"):
        locate("someone/large")
    assert seen == [False]


def test_weights_that_are_not_in_the_cache_are_missed_when_the_name_is_looked_up(hub: Path, model: Path) -> None:
    (model / "model.safetensors").unlink()
    cache(hub, "someone/half", model, commit=COMMIT)
    with pytest.raises(ConfigError, match="cannot fetch 'someone/half'"):
        locate("someone/half")


def test_another_process_finds_it_by_hf_home(hub: Path, model: Path) -> None:
    cache(hub, "someone/tiny", model, commit=OTHER)
    code = "from strop.policy.name import locate; print(locate('someone/tiny').commit)"
    environment = {**os.environ, "HF_HOME": str(hub), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_HUB_CACHE", None)
    found = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == OTHER


def test_the_hash_of_code_is_that_of_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text("")
    first = code_hash(tmp_path)
    assert len(first) == 40 and int(first, 16)
    (tmp_path / "README.md").write_text("no code")
    assert code_hash(tmp_path) == first
    seen = {first}
    (tmp_path / "sub" / "b.py").rename(tmp_path / "b.py")
    seen.add(code_hash(tmp_path))
    (tmp_path / "a.py").write_text("x = 2\n")
    seen.add(code_hash(tmp_path))
    assert len(seen) == 3


def test_code_runs_only_if_it_is_what_was_allowed(hub: Path, model: Path) -> None:
    (model / "code.py").write_text("x = 1\n")
    allowed = code_hash(model)
    with pytest.raises(ConfigError, match=f"read it, name remote-code:{model}@{allowed}"):
        locate(f"remote-code:{model}")
    assert locate(f"remote-code:{model}@{allowed}").code == allowed
    (model / "code.py").write_text("x = 2\n")
    with pytest.raises(ConfigError, match=f"is {code_hash(model)}, and {allowed} was allowed to run"):
        locate(f"remote-code:{model}@{allowed}")
    cache(hub, "someone/code", model, commit=COMMIT)
    place = locate(f"remote-code:someone/code@{COMMIT}")
    assert (place.commit, place.code) == (COMMIT, COMMIT)
    assert locate("someone/code").code == ""


def adapters(folder: Path, base: str, **others: object) -> Path:
    folder.mkdir()
    config = {"peft_type": "LORA", "base_model_name_or_path": base, "r": 4, "lora_alpha": 8, **others}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").touch()
    return folder


def test_adapters_lie_over_the_model_that_they_name(hub: Path, model: Path, tmp_path: Path) -> None:
    over = adapters(tmp_path / "over", str(model))
    assert locate(str(over)).folder == model and locate(str(over)).adapter == over
    cache(hub, "someone/base", model, commit=COMMIT)
    pinned = locate(str(adapters(tmp_path / "pinned", "someone/base", revision=COMMIT)))
    assert (pinned.base, pinned.commit) == (f"someone/base@{COMMIT}", COMMIT)


def test_adapters_over_adapters_or_over_nothing_are_refused(model: Path, tmp_path: Path) -> None:
    over = adapters(tmp_path / "over", str(model))
    with pytest.raises(ConfigError, match="itself adapters; merge those first .*twice name it"):
        locate(str(adapters(tmp_path / "twice", str(over))))
    with pytest.raises(ConfigError, match=r"no folder \./gone.*adapters .*lost name it as their base"):
        locate(str(adapters(tmp_path / "lost", "./gone")))
    own = tmp_path / "own"
    with pytest.raises(ConfigError, match="itself adapters"):
        locate(str(adapters(own, str(own))))


def test_leave_to_run_code_goes_on_to_the_model_under_the_adapters(model: Path, tmp_path: Path) -> None:
    (model / "code.py").write_text("x = 1\n")
    over = adapters(tmp_path / "over", str(model))
    assert locate(str(over)).code == ""
    assert locate(f"remote-code:{over}@{code_hash(model)}").code == code_hash(model)
    with pytest.raises(ConfigError, match="was allowed to run"):
        locate(f"remote-code:{over}@{COMMIT}")
