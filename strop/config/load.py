"""Layers to a Config: defaults < what the model brings < files, left to right < flags. Every value keeps its source.

    load(["base.yaml", "mine.yaml"], [("rollout.prompts", "8")])      files and flags, as the command line gives them
    load(mapping={"rollout": {"prompts": 8}})                         a Python mapping, checked the same way
    resolve(anything)                                                 a Config, a mapping, a file or a run folder

Errors are ConfigError: one line with file, line, key and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from strop import assets
from strop.config.check import check, where
from strop.config.reader import Setting, Settings, read_file, read_flags, read_mapping, read_text
from strop.config.row import row_warnings
from strop.config.schema import KEYS, LEAVES, Config
from strop.config.schema_task import Mixed
from strop.errors import ConfigError
from strop.names import did_you_mean, nearest
from strop.tasks.reading import kind_of

SUFFIXES = (".yaml", ".yml")


def load(
    paths: Sequence[str | Path] = (),
    flags: Sequence[tuple[str, str]] = (),
    *,
    mapping: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration that files, values and flags add up to, whole and checked, its row too."""
    given: Settings = {}
    for path in paths:
        given |= _read_path(Path(path))
    given |= read_mapping(mapping or {})
    given |= read_flags(flags)
    return _checked(_validate(_with_model_layer(given)))


def resolve(config: Config | Mapping[str, Any] | str | Path) -> Config:
    """The Config that is meant by one: itself (checked), a mapping, a YAML file, or a run folder."""
    if isinstance(config, Mapping):
        return load(mapping=config)
    if not isinstance(config, Config):
        return load([config])
    return _checked(_validate({key: Setting(value, config.sources[key]) for key, value in config.flat().items()}))


def _checked(config: Config) -> Config:
    """The same, refused here, before a model loads, where its settings or its row cannot mean anything."""
    config._warnings = check(config)
    config._warnings += row_warnings(config)
    return config


def _read_path(path: Path) -> Settings:
    """A YAML file, or the config.yaml of a run folder without the run's own name: a name is taken once."""
    if path.is_dir():
        file = path / "config.yaml"
        if not file.is_file():
            raise ConfigError(f"{path} is a folder without a config.yaml, so it is no run")
        return {key: setting for key, setting in read_file(file).items() if key != "run"}
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{path} is neither a .yaml file nor a run folder")
    if not path.is_file():
        names = (entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else ()
        raise ConfigError(f"there is no file {path}{did_you_mean(nearest(path.name, names))}")
    return read_file(path)


def _with_model_layer(given: Settings) -> Settings:
    """`given` over what the model brings. `task.kind: default` is a mixture where there is a `task.mix`, else what
    `task.file` ends in, else the model's task."""
    model = given["model"].value if "model" in given else KEYS["model"].default
    brought = model_layer(model) if isinstance(model, str) else {}
    settings = brought | given
    file = given.get("task.file", Setting("", ""))
    if given.get("task.kind", Setting("default", "")).value != "default":
        return settings
    if "task.mix" in given and given["task.mix"].value:
        settings["task.kind"] = Setting("mixture", given["task.mix"].source)
    elif isinstance(file.value, str) and file.value:
        settings["task.kind"] = Setting(kind_of(file.value) or "default", file.source)
    elif "task.kind" in brought:
        settings["task.kind"] = brought["task.kind"]
    return settings


def model_layer(model: str) -> Settings:
    """The settings that an embedded model ships with, source `strop:NAME`; none for any other model."""
    text = assets.settings(model)
    return {key: Setting(setting.value, model) for key, setting in read_text(text, name=model).items()} if text else {}


def _validate(settings: Settings) -> Config:
    nested: dict[str, Any] = {}
    for key, setting in settings.items():
        *sections, name = key.split(".")
        inner = nested
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = setting.value
    try:
        config = Config.model_validate(nested)
    except ValidationError as error:
        raise ConfigError(_first_problem(error, settings)) from error
    config._sources = {key: setting.source for key, setting in settings.items()}
    return config


def _first_problem(error: ValidationError, settings: Settings) -> str:
    """The first problem, in one line, and how many more keys have one."""
    problems: dict[str, str] = {}
    for found in error.errors(include_url=False):
        key = next(key for key in _prefixes(found["loc"]) if key in LEAVES)
        inside = found["loc"][len(key.split(".")) :]
        text = inner_problem(inside, found["msg"]) if inside and KEYS[key].annotation == list[Mixed] else ""
        problems.setdefault(key, text or describe(key, found["type"], settings[key].value, found.get("ctx", {})))
    [key, text], *others = problems.items()
    more = f" (and {len(others)} more: {', '.join(other for other, _ in others)})" if others else ""
    return f"{where(settings[key].source)}{key}: {text}{more}"


def _prefixes(location: tuple[int | str, ...]) -> list[str]:
    names = [str(part) for part in location]
    return [".".join(names[:length]) for length in range(len(names), 0, -1)]


def inner_problem(place: tuple[int | str, ...], text: str) -> str:
    """What is wrong inside an entry of a list: 'entry 2, kind: ...'."""
    entry, *names = place
    name = ".".join(map(str, names))
    known = list(Mixed.model_fields)
    hint = did_you_mean(nearest(name, known)) if name and names[0] not in known else ""
    return f"entry {int(entry) + 1}{f', {name}' if name else ''}: {text[0].lower()}{text[1:]}{hint}"


BOUNDS = {
    "greater_than": "greater than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}
TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "finite_number": "finite",
    "string_type": "text (put quotes around it)",
}

FORMS = {
    "task.data.columns": "a mapping, such as '{prompt: question}'",
    "task.data.settings": "a mapping, such as '{max_terms: 4}'",
    "task.mix": "a list, such as '[{file: a.jsonl}, {file: b.jsonl}]'",
    "train.lora.targets": "a list, such as '[q_proj, v_proj]'",
    "save.trackers": "a list, such as '[tensorboard]'",
}
"""Keys whose value is a mapping or a list, and how it is written."""

PLAIN = (int, float, bool, str)
NO_VALUE = "has no value; leave the key out to keep the default"
NAMES = "must hold letters, digits, '.', '-' and '_' only, and start with a letter or digit"


def describe(key: str, kind: str, value: Any, context: Mapping[str, Any]) -> str:
    """What is wrong with `value`, and what would be right, in words."""
    if value is None:
        return NO_VALUE
    if kind == "literal_error":
        inside = get_args(KEYS[key].annotation)
        listed = get_origin(KEYS[key].annotation) is list
        allowed = list(get_args(inside[0]) if listed else inside)
        names = f"{'a list of ' * listed}{' or '.join(allowed)}"
        return f"must be {names}, is {_shown(value)}{did_you_mean(nearest(str(value), allowed))}"
    return f"{_demand(key, kind, context)}, is {_shown(value)}"


def _demand(key: str, kind: str, context: Mapping[str, Any]) -> str:
    if kind in BOUNDS:
        return f"must be {BOUNDS[kind]} {next(iter(context.values()))}"
    if key in FORMS:
        return f"must be {FORMS[key]}"
    if KEYS[key].annotation not in PLAIN and key.startswith("objective."):
        return "must be a name or {kind: NAME, ...}" + ", or a list of them" * key.endswith("s")
    if kind in TYPES:
        return f"must be {TYPES[kind]}"
    return {"device": "must be auto, cpu, cuda, cuda:N or mps", "run": NAMES}.get(key, "must be text")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
