"""Real training steps of StropGRPOTrainer on a tiny random model, each beside the gradient of the formula.

As a program it runs LAYOUTS_OF_TWO and writes what each process found:  torchrun -m tests.bridges.trl_runs FOLDER
"""

from __future__ import annotations

import copy
import json
import math
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import strop
from strop.bridges.trl import trainer
from strop.check.wide import widen
from tests.bridges.trl_exact import (
    LETTERS,
    LONGEST,
    REWARD_WEIGHTS,
    REWARDS,
    TEMPERATURE,
    Sampled,
    expected,
    make_model,
)

PROMPTS = 48


@dataclass(frozen=True)
class Layout:
    """`batch` rows a micro-batch, `accumulate` of them a window, `generate` of them a generation batch."""

    name: str
    batch: int
    accumulate: int
    generate: int
    row: str = "dapo_prompt"
    changes: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    double: bool = True
    steps: int = 4
    prompts: int = PROMPTS

    def algorithm(self) -> strop.Algorithm:
        return strop.algorithm(self.row, length=LONGEST, **self.changes)


@dataclass(frozen=True)
class Window:
    """One optimizer step: what TRL left in `.grad` and logged, and what the formula says.

    `rows` were trained in it, `shared` is the number of prompts that were trained on more than one process.
    """

    gradient: dict[str, Tensor]
    exact: dict[str, Tensor]
    loss: float
    exact_loss: float
    rows: int
    shared: int
    logged: dict[str, float]
    metrics: dict[str, float]

    @property
    def error(self) -> float:
        """The worst parameter's |g - g*| / max(|g*|, 1e-6 |all g*|)."""
        whole = torch.stack([value.norm() for value in self.exact.values()]).norm()
        gaps = [
            (self.gradient[name] - right).norm() / torch.maximum(right.norm(), 1e-6 * whole).clamp(min=1e-300)
            for name, right in self.exact.items()
        ]
        return float(torch.stack(gaps).max())

    @property
    def metric_error(self) -> float:
        """The largest difference between a metric of the row as it is logged and as it is over the whole window."""
        named = [name for name in self.metrics if name not in ("loss", "clip_high", "clip_low")]
        pairs = [(self.logged.get(name), self.metrics[name]) for name in named]
        assert all(math.isnan(right) for value, right in pairs if value is None)
        return max((abs(value - right) for value, right in pairs if value is not None), default=0.0)


def make_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: number for number, token in enumerate(["<pad>", "<eos>", *LETTERS])}
    inner = Tokenizer(models.WordLevel(vocabulary, **{"unk_token": "<pad>"}))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "<eos>"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, padding_side="left", model_max_length=64, **special)


def make_prompts(size: int) -> Any:
    from datasets import Dataset

    random.seed(5)
    words = {" ".join(random.choices(LETTERS, k=random.randint(2, 4))): None for _ in range(20 * size)}
    return Dataset.from_dict({"prompt": list(words)[:size]})


def make_rewards() -> list[Any]:
    """The rewards as functions of TRL's signature."""
    return [lambda completion_ids, give=give, **_: [give(tuple(ids)) for ids in completion_ids] for give in REWARDS]


class Recorded:
    """What a trainer sampled and trained on, kept while it runs. Mixed into the trainer under test."""

    double: bool

    def _generate(self, prompts: Any) -> Any:
        out = super()._generate(prompts)
        masks = [(1,) * len(done) for done in out[1]] if out[2] is None else [tuple(mask) for mask in out[2]]
        samplers = [None for _ in out[1]] if out[4] is None else [tuple(logps) for logps in out[4]]
        pairs = [(tuple(prompt), tuple(done)) for prompt, done in zip(out[0], out[1], strict=True)]
        self.lists = list(zip(pairs, masks, samplers, strict=True))
        return out

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        from accelerate.utils import gather_object

        columns = super()._generate_and_score_completions(inputs)
        weights = copy.deepcopy(self.accelerator.unwrap_model(self.model).state_dict())
        first = len(self.sampled)
        batch, process = gather_object([pair for pair, _, _ in self.lists]), self.accelerator.process_index
        self.sampled += [Sampled(*pair, mask, mu, weights, batch, process) for pair, mask, mu in self.lists]
        mine = slice(process * len(inputs), (process + 1) * len(inputs))
        assert list(self._logs["advantages"])[-len(batch) :][mine] == columns["advantages"].tolist()
        return {**columns, "number": torch.arange(first, len(self.sampled))}

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        loss = super()._compute_loss(model, inputs)
        live = (inputs["completion_mask"] != 0).any(1).tolist()
        rows = [(self.sampled[i], lives) for i, lives in zip(inputs["number"].tolist(), live, strict=True)]
        if self.model.training:
            self.trained += rows
        else:
            self.evaluated.append((float(loss), rows))
        return loss

    def _get_per_token_logps_and_entropies(self, model: Any, ids: Any, mask: Any, keep: int, **named: Any) -> Any:
        if not self.double:
            return super()._get_per_token_logps_and_entropies(model, ids, mask, keep, **named)
        logits = model(input_ids=ids, attention_mask=mask).logits[:, -keep - 1 : -1] / self.temperature
        table = logits.log_softmax(-1)
        entropy = -(table.exp() * table).sum(-1)
        return table.gather(-1, ids[:, -keep:, None])[..., 0], entropy, None


def train(
    layout: Layout,
    folder: Path,
    *,
    resume: str | None = None,
    evaluated: list[tuple[float, float]] | None = None,
    **more: Any,
) -> list[Window]:
    """The optimizer steps of a real run of TRL under this layout, each beside its exact gradient.

    `evaluated` is filled with the loss of every evaluation batch and the exact one.
    """
    from accelerate import PartialState
    from accelerate.utils import gather_object
    from transformers import PrinterCallback, TrainerCallback

    class Watch(TrainerCallback):
        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            module = run.accelerator.unwrap_model(run.model)
            gradient = {name: value.grad.double().clone() for name, value in module.named_parameters()}
            taken.append((gradient, copy.deepcopy(module.state_dict()), gather_object(run.trained)))
            run.trained = []

    taken: list[Any] = []
    model = make_model(double=layout.double)
    first = folder / layout.name
    if "beta" in layout.arguments:
        model.save_pretrained(first)
        PartialState().wait_for_everyone()
    model.config._name_or_path = str(first)
    start = copy.deepcopy(model.state_dict())
    if layout.double:
        widen(model)
    given: dict[str, Any] = {"args": make_arguments(layout, folder), "row": layout.algorithm(), **more}
    run = type("Run", (Recorded, trainer()), {"double": layout.double})(
        model=model,
        reward_funcs=make_rewards(),
        train_dataset=make_prompts(layout.prompts),
        processing_class=make_tokenizer(),
        callbacks=[Watch()],
        **given,
    )
    if layout.double and run.ref_model is not None:
        widen(run.ref_model)
    run.remove_callback(PrinterCallback)
    run.sampled, run.trained, run.evaluated = [], [], []
    run.train(resume_from_checkpoint=resume)
    steps = [line for line in run.state.log_history if "loss" in line][-len(taken) :]
    found = [expected(run.row, weights, rows, start) for _, weights, rows in taken]
    for loss, rows in run.evaluated if evaluated is not None else ():
        evaluated.append((loss, expected(run.row, rows[0][0].weights, rows, start)[1].value))
    return [
        Window(gradient, exact, logged["loss"], out.value, len(rows), shared(rows), logged, means(out))
        for (gradient, _, rows), (exact, out), logged in zip(taken, found, steps, strict=True)
    ]


def shared(rows: list[tuple[Sampled, bool]]) -> int:
    """How many prompts of these rows lie on more than one process."""
    homes = {(one.prompt, one.process) for one, _ in rows}
    return len(homes) - len({prompt for prompt, _ in homes})


def rollout(prompts: list[str], run: Any) -> dict[str, Any]:
    """Scripted completions, with log-probs of another sampler (one of them unknown) and tokens that are not trained."""
    tokens = random.Random(len(run.sampled))
    done = [[tokens.randrange(2, 6) for _ in range(tokens.randint(1, LONGEST))] for _ in prompts]
    return {
        "prompt_ids": run.processing_class(prompts)["input_ids"],
        "completion_ids": done,
        "logprobs": [[tokens.uniform(-2.5, -0.5) for _ in ids] for ids in done[:-1]] + [[float("nan")] * len(done[-1])],
        "env_mask": [[int(place % 4 != 1) for place, _ in enumerate(ids)] for ids in done],
    }


def means(out: Any) -> dict[str, float]:
    return {name: metric.mean for name, metric in out.metrics.items()}


def make_arguments(layout: Layout, folder: Path) -> Any:
    from trl import GRPOConfig

    return GRPOConfig(
        **{
            **{"output_dir": str(folder / "out"), "use_cpu": True, "report_to": "none", "disable_tqdm": True},
            **{"save_strategy": "no", "logging_steps": 1, "max_grad_norm": 0.0, "optim": "sgd", "learning_rate": 0.05},
            **{"lr_scheduler_type": "constant", "temperature": TEMPERATURE, "max_completion_length": LONGEST},
            **{"reward_weights": list(REWARD_WEIGHTS)},
            **{
                "num_generations": 4,
                "max_steps": layout.steps,
                "seed": 11,
                "bf16": False,
                "logging_nan_inf_filter": False,
            },
            **{"per_device_train_batch_size": layout.batch, "gradient_accumulation_steps": layout.accumulate},
            **{"steps_per_generation": layout.generate},
            **layout.arguments,
        }
    )


MASKED = {"mask_truncated_completions": True}

LAYOUTS_OF_TWO = (
    Layout("groups lie on both processes", 3, 2, 2),
    Layout("groups lie on both processes and in several windows", 3, 1, 2, row="dapo"),
    Layout("windows and generations overlap", 3, 3, 2, row="gspo_token", arguments={"num_iterations": 2}),
    Layout("masked completions", 2, 3, 3, row="grpo", arguments={**MASKED, "beta": 0.04}),
    Layout("a process without a live token", 1, 2, 2, row="dppo_tv", arguments=MASKED),
)


def main(out: Path) -> None:
    from accelerate import PartialState

    process = PartialState(cpu=True).process_index
    found = {}
    for layout in LAYOUTS_OF_TWO:
        windows = train(layout, out)
        found[layout.name] = [[w.error, w.loss, w.exact_loss, w.shared, w.metric_error] for w in windows]
    (out / f"{process}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
