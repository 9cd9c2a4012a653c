"""The README.md of an exported model: what it was made from, how, what came of it, and what nobody has measured.

Names, settings and errors come from others. In the card they stand in code spans, in one line, without paths, control
characters or anything that looks like a secret; the front matter is JSON strings, which YAML reads as they are.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from strop.algorithms import ROWS
from strop.policy.name import CODE, HUB_ID, shown

LONGEST = 200
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
PATH = re.compile(r"(?<![\w.@:-])(?:[A-Za-z]:|~|\.{1,2})?[/\\](?:[^\s/\\'\"]+[/\\])*([^\s/\\'\"]*)")
SECRET = re.compile(r"\b(?:hf|sk|gh[a-z]|glpat|xox[a-z]|AKIA|AIza)[_-]?[A-Za-z0-9_-]{16,}|(?<=://)[^/\s@]+@")
SETTINGS = ("rollout.", "objective.", "train.", "eval.", "seed")
"""The settings that a card lists, where they were not the defaults. None of them names a file."""
KINDS = {
    "model": "every weight",
    "merged": "low-rank adapters, merged here into the weights they lay over",
    "adapter": "low-rank adapters: this folder, over the base model",
}

Plain = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of an exported model. All but `kind` may be empty: then the card says less.

    config, sources    the run's settings by key path, and where each came from
    environment        environment.json
    before, after      evaluations.jsonl: before the first step, and at the step that is exported
    ledger             groups by fate, up to that step
    """

    kind: Literal["model", "merged", "adapter"]
    step: int = 0
    config: Plain = field(default_factory=dict)
    sources: Plain = field(default_factory=dict)
    environment: Plain = field(default_factory=dict)
    before: Plain = field(default_factory=dict)
    after: Plain = field(default_factory=dict)
    ledger: Plain = field(default_factory=dict)
    rounding: float = 0.0
    dtype: str = ""
    curves: bool = False


def render(card: Card) -> str:
    """The card as Markdown with YAML front matter."""
    base, row = shown(str(card.config.get("model", ""))), str(card.config.get("algorithm", ""))
    title = f"# {inline(base or 'A model')}, trained with {inline(row or 'reinforcement learning')}"
    parts = [
        front_matter(card, base, row),
        title,
        "A language model trained with strop, by reinforcement learning from verifiable rewards.",
        table([("what", "of this model"), *made_from(card, base)]),
        *accuracy(card),
        *(["![Curves of the run](curves.png)"] if card.curves else []),
        *ledger(card),
        loading(card, base),
        *settings(card),
        *versions(card),
        limits(card),
    ]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """The text in one line: no control or invisible character, no path but its last name, no secret; cut."""
    line = " ".join("".join(" " if c.isspace() else "\ufffd" if hidden(c) else c for c in text).split())
    bare = SECRET.sub("[removed]", PATH.sub(r"\1", line))
    return bare if len(bare) <= LONGEST else bare[:LONGEST] + "..."


def hidden(character: str) -> bool:
    return unicodedata.category(character) in UNSEEN


def inline(text: str) -> str:
    """The text as a Markdown code span, also inside a table: nothing in it is markup."""
    line = plain(text).replace("|", "\u2223") or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def front_matter(card: Card, base: str, row: str) -> str:
    """What the Hugging Face hub reads. A base is named if it is on the hub."""
    hub = bool(HUB_ID.match(base.partition("@")[0])) and "/" in base
    tags = ["strop", "reinforcement-learning", *([re.sub(r"[^a-z0-9]+", "-", row.lower())] if row else [])]
    fields: dict[str, Any] = {
        **({"base_model": base.partition("@")[0]} if hub else {}),
        **({"base_model_relation": "adapter" if card.kind == "adapter" else "finetune"} if hub else {}),
        "library_name": "peft" if card.kind == "adapter" else "transformers",
        "pipeline_tag": "text-generation",
        "tags": [*tags, *(["lora"] if card.kind != "model" else [])],
    }
    return "\n".join(["---", *(f"{key}: {json.dumps(value)}" for key, value in fields.items()), "---"])


def made_from(card: Card, base: str) -> list[tuple[str, str]]:
    """The rows of the first table."""
    config, model = card.config, card.environment.get("model", {})
    lora = f", rank {config.get('train.lora.rank')}, alpha {config.get('train.lora.alpha')}"
    rows = [
        ("base model", inline(base) + (f" at commit {inline(model['commit'])}" if model.get("commit") else "")),
        ("code of its own", remote_code(config, model)),
        ("trained", KINDS[card.kind] + ("" if card.kind == "model" or not config else lora)),
        *data(card),
        ("reward", reward(config, card.sources)),
        ("sandbox", sandbox(config)),
        ("algorithm", algorithm(config)),
        ("trained for", f"{card.step} step{'s' * (card.step > 1)}" if card.step else ""),
    ]
    return [(name, text) for name, text in rows if text and (config or name == "trained")]


def remote_code(config: Plain, model: Plain) -> str:
    code = model.get("code", "")
    if not code and not str(config.get("model", "")).startswith(CODE):
        return "none: no Python code that comes with the model was run"
    return f"**yes**: Python code that comes with the base model was run, that of {inline(str(code))}"


def data(card: Card) -> list[tuple[str, str]]:
    """The task, and each file of it by name, size and hash."""
    config, inputs = card.config, card.environment.get("inputs", {})
    task = [str(config[key]) for key in ("task.kind", "task.name") if config.get(key)]
    described = str(card.environment.get("task", ""))
    rows = [("task", inline(", ".join(task)) + (f": {inline(described)}" if described else ""))] if task else []
    for key, file in inputs.items():
        told = f"{inline(str(file.get('name', '')))}, {file.get('bytes', 0)} bytes"
        rows.append((inline(str(key)), f"{told}, SHA-256 {inline(str(file.get('sha256', '')))}"))
    return rows


def reward(config: Plain, sources: Plain) -> str:
    """The names of the rewards, without the places of their files."""
    given = str(sources.get("task.reward", ""))
    if given.startswith("python function"):
        return inline(given)
    asked = config.get("task.reward") or "the task's own"
    every = asked if isinstance(asked, list) else [asked]
    return ", ".join(inline(weighted(one) if isinstance(one, Mapping) else str(one)) for one in every)


def weighted(part: Plain) -> str:
    return f"{part.get('name') or part.get('use')}, weight {part.get('weight', 1.0)}"


def sandbox(config: Plain) -> str:
    if config.get("task.scoring.sandbox") == "unsafe":
        return "**unsafe**: code in completions, if the reward runs any, ran without a sandbox"
    return "on: rewards ran in processes of their own, and code in completions, if the reward runs any, in bubblewrap"


def algorithm(config: Plain) -> str:
    name = str(config.get("algorithm", ""))
    row = ROWS.get(name)
    return inline(name) + (f": {row.summary}" if row else "")


def accuracy(card: Card) -> list[str]:
    """Held-out accuracy before the first step and at this one, with intervals over prompts."""
    measured = [(name, found) for name, found in (("before", card.before), ("after", card.after)) if found]
    if not measured:
        return ["## Accuracy", "This step was not evaluated."]
    first = measured[0][1]
    rows: list[list[str]] = [["", *(name for name, _ in measured)]]
    rows.append([f"avg@{first['k']}, 95% interval", *(interval(found) for _, found in measured)])
    rows.append(["greedy", *(share(found.get("greedy")) for _, found in measured)])
    for k in sorted(map(int, first.get("pass", {}))):
        if k > 1:
            rows.append([f"pass@{k}", *(share(found.get("pass", {}).get(str(k))) for _, found in measured)])
    rows.append(["cut off", *(share(found.get("truncated")) for _, found in measured)])
    lacks = "" if card.after else " This step was not evaluated."
    text = f"On {first['n']} held-out prompts of the task, {first['k']} completions each; intervals are over prompts."
    return ["## Accuracy", text + lacks, table(rows)]


def interval(found: Plain) -> str:
    return f"{share(found['avg'])} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def share(value: Any) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else "-"


def ledger(card: Card) -> list[str]:
    """What became of every group that was sampled."""
    if not card.ledger:
        return []
    rows = [("groups", "number"), *((plain(str(name)).replace("_", " "), str(n)) for name, n in card.ledger.items())]
    return ["## What was sampled", "A group is all completions of one prompt.", table(rows)]


def loading(card: Card, base: str) -> str:
    """How to open the folder."""
    named = json.dumps(plain(base.partition("@")[0]))
    lines = [
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")',
        'model = AutoModelForCausalLM.from_pretrained("FOLDER")',
    ]
    if card.kind == "adapter":
        lines[-1:] = [
            f"base = AutoModelForCausalLM.from_pretrained({named})",
            'model = PeftModel.from_pretrained(base, "FOLDER")',
        ]
        lines.insert(0, "from peft import PeftModel")
    code = "\n".join(lines)
    parts = [f"## How to load it\n\n```python\n{code}\n```"]
    if card.kind != "adapter":
        parts.append("`vllm serve FOLDER` serves it.")
    parts.append("Transformers before 5 may read its config or tokenizer otherwise, or not at all.")
    if card.environment.get("model", {}).get("code"):
        parts.append("It needs Python code of its own: read that, then pass `trust_remote_code` too.")
    return "\n\n".join(parts)


def settings(card: Card) -> list[str]:
    """The settings that were not the defaults."""
    given = {key: value for key, value in card.config.items() if card.sources.get(key) not in ("default", "row", None)}
    rows = [(inline(key), inline(json.dumps(value))) for key, value in given.items() if key.startswith(SETTINGS)]
    return (
        ["## Settings", "Those that were not strop's defaults.", table([("setting", "value"), *rows])] if rows else []
    )


def versions(card: Card) -> list[str]:
    packages = card.environment.get("packages", {})
    rows = [(inline(str(name)), inline(str(version))) for name, version in packages.items()]
    return ["## Versions", table([("package", "version"), *rows])] if rows else []


def limits(card: Card) -> str:
    """What the card cannot promise."""
    rounded = (
        f"- Merging the adapters and rounding the weights to {card.dtype} moved a logit by at most {card.rounding:.1e} "
        "of the largest, on random tokens.\n"
        if card.kind == "merged"
        else ""
    )
    return (
        "## Limits\n\n"
        f"{rounded}"
        "- Accuracy is that of this task's own reward on its held-out prompts. Nothing else was measured: no other "
        "task, no language but that of the prompts, no safety.\n"
        "- A model may learn what the reward accepts instead of what it was meant to ask.\n"
        "- The license and the limits of the base model hold for this one too."
    )
