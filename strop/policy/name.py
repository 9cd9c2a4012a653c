"""What the name of a model means: where it lies, at which commit, and whether Python code of its own may run.

strop:tiny                          an embedded policy
FOLDER                              a Hugging Face model folder, or a folder of PEFT adapters
ORG/NAME  ORG/NAME@REVISION         of the Hugging Face hub: its main branch, or a commit, tag or branch
remote-code:ORG/NAME@COMMIT         the same, and the code of that very commit may run (40 hex digits)
remote-code:FOLDER@HASH             a folder whose .py files have this hash: `code_hash`
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from strop import assets
from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.policy.folder import ADAPTER, CONFIG, check_adapter, check_model, indexed

CODE = "remote-code:"
HUB_ID = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$")
REVISION = re.compile(r"^[A-Za-z0-9][\w./-]*$")
HASH = re.compile(r"^[0-9a-f]{40}$")

DESCRIPTIONS = ["*.json", "*.jinja", "*.model", "*.tiktoken", "*.txt", "LICENSE*"]
"""What is fetched of a hub's model before its weights: config, tokenizer, templates."""
WEIGHTS = "model.safetensors"
SNAPSHOT = re.compile(r"models--.*/snapshots/([0-9a-f]{40})$")


@dataclass(frozen=True, slots=True)
class Name:
    """A model's name in its parts. `code`: its own code may run, if it is that of `revision`."""

    text: str
    kind: Literal["embedded", "folder", "hub"]
    location: str
    revision: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A model on this machine.

    folder    config, weights and tokenizer of the whole model
    adapter   the PEFT folder whose adapters lie over it, if the name means one
    base      the name of the whole model, with the commit of a hub's, and without leave to run code
    commit    the hub's commit of the whole model; "" for a folder
    code      the 40 hex digits that allow its code to run; "" forbids it
    """

    folder: Path
    base: str
    adapter: Path | None = None
    commit: str = ""
    code: str = ""


def wrong(text: str) -> str:
    """What is wrong with a model's name, from the name and this machine's files alone; "" if it can mean something."""
    bare = text.removeprefix(CODE)
    if text.startswith(CODE) and not HASH.match(bare.rpartition("@")[2]):
        return f"{CODE} runs Python code that comes with a model, and must say which: read it, name {allowing(bare)}"
    location = bare.rpartition("@")[0] if text.startswith(CODE) else bare
    if location.startswith(assets.PREFIX):
        there = location in assets.names() and location == text
        return "" if there else f"there is no embedded model {text}{did_you_mean(assets.names())}"
    path = Path(location).expanduser()
    if path.is_dir():
        return ""
    hub, _, revision = location.partition("@")
    if location[:1] in ("/", ".", "~") or hub.count("/") > 1 or location.endswith("/") or path.exists():
        return f"there is no folder {location}{did_you_mean(siblings(path))}"
    if not HUB_ID.match(hub) or ("@" in location and not REVISION.match(revision)):
        return f"{location!r} is neither a folder nor a Hugging Face id such as Qwen/Qwen3-0.6B"
    return ""


def allowing(location: str, commit: str = "") -> str:
    """The name that lets the code of this model run: of a folder, with the hash that its .py files have now."""
    path, hub = Path(location).expanduser(), location.partition("@")[0]
    if path.is_dir():
        return f"{CODE}{location}@{code_hash(path)}"
    return f"{CODE}{hub}@{commit}" if commit else f"{CODE}{hub}@COMMIT, with the 40 hex digits of the commit"


def siblings(path: Path) -> list[str]:
    """The paths beside this one that have a like name."""
    there = (entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else ()
    return [str(path.parent / name) for name in nearest(path.name, there)]


def parse(text: str) -> Name:
    """The parts of a model's name.

    Raises:
        ConfigError: it can mean nothing (see `wrong`).
    """
    if problem := wrong(text):
        raise ConfigError(f"model: {problem}")
    code = text.startswith(CODE)
    bare = text.removeprefix(CODE)
    location, _, pinned = bare.rpartition("@") if code else (bare, "", "")
    if location.startswith(assets.PREFIX):
        return Name(text, "embedded", location)
    if Path(location).expanduser().is_dir():
        return Name(text, "folder", location, pinned, code)
    hub, _, revision = location.partition("@")
    return Name(text, "hub", hub, pinned or revision, code)


def locate(text: str) -> Place:
    """Where the model of this name lies, fetched from the hub if it is there, and checked: nothing of it has run.

    Raises:
        ConfigError: it cannot be found, or its folder holds what no model folder may (strop.policy.folder).
    """
    name = parse(text)
    folder = folder_of(name)
    return over_base(name, folder) if is_adapters(folder) else whole_model(name, folder)


def folder_of(name: Name) -> Path:
    return fetched(name.location, name.revision, code=name.code) if name.kind == "hub" else local(name)


def is_adapters(folder: Path) -> bool:
    return not (folder / CONFIG).is_file() and (folder / ADAPTER).is_file()


def whole_model(name: Name, folder: Path) -> Place:
    code = check_code(name, folder) if name.code else ""
    check_model(folder, name.location, code=bool(code))
    commit = commit_of(folder)
    base = f"{name.location}@{commit or name.revision}" if name.kind == "hub" else name.location
    return Place(folder, base, commit=commit, code=code)


def local(name: Name) -> Path:
    """The folder of an embedded policy, or of the model folder that is named."""
    if name.kind == "embedded":
        return Path(str(assets.folder(name.location)))
    folder = Path(name.location).expanduser()
    if not any((folder / file).is_file() for file in (CONFIG, ADAPTER)):
        raise ConfigError(f"model: folder {name.location} holds no {CONFIG}; name a Hugging Face model folder")
    return folder


def over_base(name: Name, folder: Path) -> Place:
    """Adapters over the whole model that they name. Leave to run code is for that model's code."""
    found = check_adapter(folder, name.location)
    named, revision = str(found["base_model_name_or_path"]), found.get("revision") or ""
    if name.code:
        named = f"{CODE}{named}@{name.revision}"
    elif revision and not Path(named).expanduser().is_dir():
        named = f"{named}@{revision}"
    try:
        base = parse(named)
        under = folder_of(base)
        if is_adapters(under):
            raise ConfigError(f"model: {named} is itself adapters; merge those first with strop export")
        whole = whole_model(base, under)
    except ConfigError as error:
        raise ConfigError(f"{error} (adapters {name.location} name it as their base)") from error
    return Place(whole.folder, whole.base, folder, whole.commit, whole.code)


def check_code(name: Name, folder: Path) -> str:
    """The 40 hex digits of the code that may run: the commit, or the hash of a folder's .py files.

    Raises:
        ConfigError: they are not those that the name gives.
    """
    found = commit_of(folder) if name.kind == "hub" else code_hash(folder)
    if found != name.revision:
        raise ConfigError(
            f"model: the code of {name.location} is {found or 'not of a commit'}, and {name.revision} was allowed to "
            f"run; read it, then name {allowing(name.location, found)}"
        )
    return found


def code_hash(folder: Path) -> str:
    """The first 40 hex digits of a SHA-256 over the names and bytes of a folder's .py files."""
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        text = file.read_bytes()
        whole.update(f"{file.relative_to(folder).as_posix()}\n{len(text)}\n".encode())
        whole.update(text)
    return whole.hexdigest()[:40]


def commit_of(folder: Path) -> str:
    """The commit of a folder of the hub's cache; "" for any other."""
    found = SNAPSHOT.search(folder.as_posix())
    return found.group(1) if found else ""


@cache
def fetched(repository: str, revision: str, *, code: bool) -> Path:
    """The hub cache's folder of one commit of a model, with everything strop reads of it, and nothing else.

    Asked once a process: whatever is read of a model is of one commit, also where its branch moves on meanwhile.
    """
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    kinds = [*DESCRIPTIONS, *(["*.py"] if code else [])]
    try:
        folder = Path(
            snapshot_download(repository, revision=revision or None, allow_patterns=kinds, ignore_patterns=["*/*"])
        )
        commit = commit_of(folder) or revision or None
        whole = (folder / CONFIG).is_file()
        for file in indexed(folder, repository) or [WEIGHTS if whole else "adapter_model.safetensors"]:
            hf_hub_download(repository, file, revision=commit)
    except ConfigError:
        raise
    except Exception as error:  # hub, network and cache have errors of their own
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            raise ConfigError(
                f"model: {repository!r} has no safetensors weights on the hub, and pickles are never fetched; name a "
                "model that has, or convert it: https://huggingface.co/docs/safetensors/convert-weights"
            ) from error
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConfigError(f"model: cannot fetch {repository!r} from the Hugging Face hub: {reason}") from error
    return folder


def shown(text: str) -> str:
    """The name without the place of a folder on this machine: of /data/mine/model, model."""
    bare = text.removeprefix(CODE)
    path = Path(bare.rpartition("@")[0] if text.startswith(CODE) else bare).expanduser()
    hub = HUB_ID.match(bare.partition("@")[0]) and not path.is_dir()
    return bare if hub or bare.startswith(assets.PREFIX) else path.name


def model_record(text: str) -> dict[str, str]:
    """What a run keeps of where its model came from: the name, the hub's commit, and the code that may run, if any."""
    place = locate(text)
    return {"name": text, "base": place.base, "commit": place.commit, "code": place.code}
