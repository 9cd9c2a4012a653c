"""Every setting of a run: its name, type, bounds, default, and what it means. Frozen, and nothing else is accepted.

    Config
    |- algorithm, model, device, seed, run, runs
    |- task        where prompts come from and how an answer is scored
    |  |- data        how a file is read
    |  '- scoring     the processes that rewards run in
    |- rollout     what is sampled, and which groups are kept
    |  '- overlong    the soft length penalty
    |- objective   changes to the row's choices
    |- train       the optimizer step
    |  |- adam        AdamW's other numbers
    |  '- lora        adapters in place of the weights
    |- eval        accuracy on held-out prompts
    '- save        checkpoints and trackers

A default of "" or 0 that stands for something else says so in its description; no key takes null.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, PrivateAttr

from strop.config.schema_task import Task
from strop.config.section import Choice, Section, Whole, setting


class Overlong(Section):
    buffer: Whole = setting(
        0,
        "Tokens before `rollout.max_tokens` over which the length penalty grows from 0 to full. 0 = no penalty.",
        ge=0,
    )
    penalty: float = setting(1.0, "What a completion of `rollout.max_tokens` tokens loses, in units of reward.", ge=0)
    mask_truncated: bool = setting(
        False, "Train on no token of a completion that reached `rollout.max_tokens` without an end token."
    )


class Rollout(Section):
    prompts: Whole = setting(32, "Groups trained in one step: prompts whose completions carry signal.", gt=0)
    completions: Whole = setting(8, "Completions sampled for each prompt: the size of a group.", gt=0)
    max_tokens: Whole = setting(64, "Longest completion, in tokens, the end token included.", gt=0)
    temperature: float = setting(
        1.0, "Sampling temperature in training and evaluation; logits are divided by it everywhere. Above 0."
    )
    overlong: Overlong = setting(Overlong, "What is done about completions that are too long.")
    filter: Literal["mixed", "none"] = setting(
        "mixed", "Which groups are trained: those with both better and worse scores (`mixed`), or all (`none`)."
    )
    tolerance: float = setting(
        1e-6, "A group is mixed if its highest score exceeds its lowest by more than this.", ge=0
    )
    surplus: Literal["drop", "carry"] = setting(
        "drop", "Mixed groups beyond `rollout.prompts`: dropped, or kept for the next step."
    )
    max_staleness: Whole = setting(
        0, "Oldest weights a carried group may come from, in steps behind the current ones.", ge=0
    )
    exhaustion: Literal["error", "short"] = setting(
        "error", "When `rollout.max_draws` is reached first: stop with an error, or train on the groups there are."
    )
    max_draws: Whole = setting(0, "Most prompts drawn in one step. 0 = 20 times `rollout.prompts`.", ge=0)
    rows: Whole = setting(
        256, "Completions sampled side by side: the rows of the engine's batch. Changes memory, no result.", gt=0
    )


class Objective(Section):
    advantage: Choice = setting("", "Rewards of a group to credit per completion. Empty: the row's own.")
    ratio: Choice = setting(
        "", "How far the policy moved: token, sequence, sequence_token, sequence_product. Empty: the row's own."
    )
    trust: Choice = setting(
        "", "What a move may earn, such as `{kind: clip, low: 0.2, high: 0.28}`. Empty: the row's own."
    )
    correction: Choice = setting(
        "",
        "What answers for a sampler whose log-probs are not the trainer's: token_truncate, sequence_truncate, "
        "token_mask, sequence_mask, or none. Empty: the row's own, and every row has none.",
    )
    aggregation: Choice = setting("", "Which mean: token, prompt, sequence, constant. Empty: the row's own.")
    regularizers: str | list[Choice] = setting(
        "", "Terms added to the loss, such as `[{kind: kl, beta: 0.01}]`; `[]` = none. Empty: the row's own."
    )
    length: Whole = setting(
        0, "Tokens that a constant mean divides by. 0 = `rollout.max_tokens`, or what the row fixes.", ge=0
    )


class Lora(Section):
    rank: Whole = setting(
        0, "Rank of the low-rank adapters that are trained in place of the weights. 0 = no adapters.", ge=0
    )
    alpha: float = setting(32.0, "Scale of the adapters: their output is multiplied by alpha / rank.", gt=0)
    targets: list[str] = setting(
        list, "Ends of the names of the layers that get one. Empty: every linear layer but the head."
    )


class Adam(Section):
    beta1: float = setting(0.9, "Decay of AdamW's mean gradient.", ge=0, lt=1)
    beta2: float = setting(0.999, "Decay of AdamW's mean squared gradient.", ge=0, lt=1)
    weight_decay: float = setting(0.0, "AdamW's decoupled weight decay.", ge=0)


class Train(Section):
    steps: Whole = setting(50, "Rollout batches to train on; the unit of every `every`.", gt=0)
    learning_rate: float = setting(1e-6, "AdamW's step size after warm-up.", gt=0)
    warmup_steps: Whole = setting(10, "Steps over which the learning rate rises from 0, linearly.", ge=0)
    adam: Adam = setting(Adam, "AdamW's other numbers.")
    max_grad_norm: float = setting(1.0, "The gradient is scaled down to this norm where it is longer.", gt=0)
    updates: Whole = setting(1, "Optimizer steps that a rollout batch is dealt into, as whole groups.", gt=0)
    passes: Whole = setting(1, "Times a rollout batch is gone through.", gt=0)
    tokens_per_micro_batch: Whole = setting(
        16384, "Most tokens in one forward pass, prompts and padding included. Changes memory, no result.", gt=0
    )
    dtype: Literal["float32", "bfloat16"] = setting("float32", "Type of the weights. The loss is at least float32.")
    parallel: Literal["data", "fsdp"] = setting(
        "data", "What several ranks (torchrun) hold: data = the whole model each, fsdp = a slice of each weight."
    )
    gradient_checkpointing: bool = setting(False, "Recompute activations in the backward pass: less memory, more time.")
    lora: Lora = setting(Lora, "Training adapters in place of the weights.")


class Eval(Section):
    every: Whole = setting(0, "Steps between evaluations. 0 = only before and after.", ge=0)
    prompts: Whole = setting(128, "Held-out prompts evaluated.", gt=0)
    completions: Whole = setting(8, "Completions per held-out prompt: the k of avg@k, pass@k and maj@k.", gt=0)


class Save(Section):
    every: Whole = setting(0, "Steps between checkpoints. 0 = only the last.", ge=0)
    keep: Whole = setting(2, "Checkpoints kept; older ones are deleted.", gt=0)
    trackers: list[Literal["tensorboard", "wandb", "trackio"]] = setting(
        list, "Where metrics are sent too, besides the run folder: tensorboard, wandb, trackio."
    )


class Config(Section):
    """A run's settings, where each came from (`sources`), and what was odd about them (`warnings`)."""

    algorithm: str = setting("dapo", "The row of the table of algorithms: `strop algorithms` lists them.", min_length=1)
    model: str = setting(
        "strop:tiny",
        "Policy to train: a Hugging Face id (`ORG/NAME@COMMIT` pins it), a local folder, or `strop:tiny`.",
        min_length=1,
    )
    device: str = setting(
        "auto",
        "auto, cpu, cuda, cuda:N or mps. `auto` takes a GPU if there is one.",
        pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$",
    )
    seed: Whole = setting(0, "Every random number of the run follows from it.", ge=0)
    run: str = setting(
        "", "Name of the run. Empty: a readable one is made.", pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$"
    )
    runs: str = setting("runs", "Folder that holds the run folders.", min_length=1)
    task: Task = setting(Task, "Where prompts come from and how an answer is scored.")
    rollout: Rollout = setting(Rollout, "What is sampled, and which groups are kept.")
    objective: Objective = setting(Objective, "Changes to the row's choices.")
    train: Train = setting(Train, "The optimizer step.")
    eval: Eval = setting(Eval, "Accuracy on held-out prompts.")
    save: Save = setting(Save, "Checkpoints and trackers.")

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)
    _warnings: tuple[str, ...] = PrivateAttr(default=())
    _row: Any = PrivateAttr(default=None)

    @property
    def sources(self) -> dict[str, str]:
        """Key path -> "default" | "row" | "strop:tiny" | "file PATH:LINE" | "flag" | "python".

        "row": left to the algorithm, whose own choice `row` holds.
        """
        found = {key: self._sources.get(key, "default") for key in LEAVES}
        left = [key for key in LEAVES if key.startswith("objective.") and self.value(key) in ("", 0)]
        return found | dict.fromkeys(left, "row")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Settings that have no effect beside the others, one line each."""
        return self._warnings

    @property
    def row(self) -> Any:
        """The strop.algorithms.Algorithm that is trained: the named row with the changes under `objective`."""
        if self._row is None:
            from strop.config.row import resolve_row

            self._row = resolve_row(self)
        return self._row

    def dump(self) -> dict[str, Any]:
        """Every value as a plain nested dict, which `load` reads back to the same configuration."""
        return self.model_dump()

    def to_yaml(self) -> str:
        """The same as YAML text with the source of each value beside it; `load` reads it back."""
        from strop.config.writer import to_yaml

        return to_yaml(self)

    def flat(self) -> dict[str, Any]:
        """Key path -> value, in the order of the schema."""
        return {key: self.value(key) for key in LEAVES}

    def value(self, key: str) -> Any:
        found: Any = self
        for name in key.split("."):
            found = getattr(found, name)
        return [entry.model_dump() for entry in found] if key == "task.mix" else found


def _walk(section: type[BaseModel], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in section.model_fields.items():
        inner = field.annotation
        found[prefix + name] = field
        if isinstance(inner, type) and issubclass(inner, Section):
            found |= _walk(inner, f"{prefix}{name}.")
    return found


KEYS = _walk(Config, "")
"""Key path -> pydantic field, sections and leaves."""

SECTIONS = tuple(key for key in KEYS if any(other.startswith(f"{key}.") for other in KEYS))
LEAVES = tuple(key for key in KEYS if key not in SECTIONS)
TEXT_LEAVES = frozenset(key for key in LEAVES if KEYS[key].annotation is str)
