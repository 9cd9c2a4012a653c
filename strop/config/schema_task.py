"""The settings of a task: where prompts come from, how a file is read, and what scores an answer."""

from __future__ import annotations

from typing import Any, Literal

from strop.config.section import Section, Whole, setting


class Data(Section):
    columns: dict[str, str] = setting(
        dict, "Our name of a column -> the file's, such as `{prompt: input, answer: label}`. Others keep their names."
    )
    settings: dict[str, Any] = setting(dict, "What `reasoning_gym` or `verifiers` makes its problems with.")
    subset: str = setting("", "Subset (configuration) of a hub dataset, such as `main`. For kind `dataset`.")
    split: str = setting("train", "Split that is trained on. For kind `dataset`.", min_length=1)
    held_out_split: str = setting("", "Split that is evaluated on. Empty: `task.held_out_file`, or rows set aside.")
    duplicates: Literal["keep", "drop"] = setting(
        "keep", "Rows that are equal in every column: `drop` keeps the first. Their number is shown either way."
    )
    long_prompts: Literal["error", "drop", "left", "right"] = setting(
        "error",
        "A prompt over `task.max_prompt_tokens`: an error, dropped and counted, or cut to its last (`left` goes) or "
        "first (`right` goes) tokens.",
    )


class Scoring(Section):
    accuracy: str = setting(
        "", "The reward that says right or wrong: dynamic sampling filters on it. Empty: the first of `task.reward`."
    )
    workers: Whole = setting(2, "Processes that run rewards. Changes time, no result.", gt=0)
    deadline_s: float = setting(
        10.0, "Seconds that a reward may take over one completion; then its process ends.", gt=0
    )
    memory_mb: Whole = setting(2048, "Memory that a reward may take, in MiB beyond what its process starts with.", gt=0)
    max_unscorable: float = setting(
        0.2, "Share of completions whose reward fails above which, three steps in a row, the run stops.", ge=0, le=1
    )
    sandbox: Literal["auto", "unsafe"] = setting(
        "auto", "Where the `code` reward runs a program: in bubblewrap or not at all (`auto`), or as it is (`unsafe`)."
    )


class Source(Section):
    kind: Literal[
        "default", "arithmetic", "jsonl", "parquet", "csv", "dataset", "mixture", "reasoning_gym", "verifiers"
    ] = setting(
        "default",
        "Where prompts come from. `default`: a mixture where there is a `task.mix`, else what the ending of "
        "`task.file` says, else the task that the model names; only `strop:` models name one.",
    )
    name: str = setting("", "The dataset of `reasoning_gym`, or the environment of `verifiers`.")
    file: str = setting(
        "",
        "Training prompts: a file (.jsonl, .json, .parquet, .csv; a .json may be one array), a dataset folder or a "
        "hub id.",
    )
    held_out_file: str = setting(
        "",
        "Prompts for evaluation, in the same form. Empty: some prompts of `task.file` are set aside, never trained on.",
    )
    data: Data = setting(Data, "How a file is read.")
    reward: str | list[str | dict[str, Any]] = setting(
        "",
        "What scores: `file.py:function`, `module.function`, a built-in such as `math`, or a list of them or of "
        "`{use, weight, name}`. Empty: the task's own; files have none.",
    )
    max_bad: Whole = setting(0, "Malformed rows that are left out and counted; one more is an error.", ge=0)


class Mixed(Source):
    weight: float = setting(1.0, "Share of the prompts that come from here, beside the other weights.", gt=0)


class Task(Source):
    mix: list[Mixed] = setting(
        list, "What a `mixture` draws from: mappings with the keys above, each with a `weight` (1 if left out)."
    )
    scoring: Scoring = setting(Scoring, "The processes that rewards run in.")
    solved: float = setting(
        1.0, "Score from which a completion counts as right: a group whose scores all reach it is all right."
    )
    chat_template: Literal["auto", "off"] = setting(
        "auto", "`auto` puts a prompt into the tokenizer's chat template if it has one; `off` gives the text as it is."
    )
    max_prompt_tokens: Whole = setting(
        1024, "Longest prompt, in tokens; `task.data.long_prompts` says what then.", gt=0
    )
