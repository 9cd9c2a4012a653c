"""The pages of the rows, written from the code: `python -m strop.cli.rowpages [DOCS]` after a change of a row.

DOCS/rows/NAME.md is a row whole; the table of DOCS/rows.md, between its two marks, is all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop.cli.formula import CHOICES, absent, formula, members, name_of, values_of

if TYPE_CHECKING:
    from strop.algorithms import Algorithm

BEGIN, END = "<!-- the table, by strop.cli.rowpages -->\n", "<!-- the end of the table -->\n"
COLUMNS = ("advantage", "ratio", "trust", "aggregation", "regularizers")

WHEN = {
    "dapo": "The default. Answers that a verifier can score, long ones too: with `rollout.filter: mixed`, which "
    "refills the batch with groups that have signal, and `rollout.overlong.buffer`, it is the whole of "
    "DAPO.",
    "dapo_prompt": "When prompts differ much in how long their answers are, and each prompt should count equally. "
    "ScaleRL compared this mean with those over tokens and over completions, and kept this one.",
    "grpo": "To compare with runs of GRPO, or to stay near a reference: it is the one row with a KL in it, and it"
    " loads a second, frozen model for it.",
    "dr_grpo": "When long wrong answers should cost as much per token as short ones, and groups that are nearly all "
    "right or all wrong should not be scaled up by their small deviation.",
    "gspo": "Several updates for each rollout batch, and models whose single tokens jump between updates, such as"
    " mixtures of experts: one token that drifted cannot decide about itself, only the completion can.",
    "gspo_token": "GSPO with advantages that differ inside a completion, as a reward for single steps gives them. With "
    "equal ones it is `gspo`.",
    "dppo_tv": "When the engine's log-probs are not quite the trainer's, or groups are carried to a later step: "
    "ratio and trust region are taken against the sampler, so no correction is needed. Rare tokens may "
    "grow many times over, frequent ones cannot fall far. `topk` looks at more of the distribution than "
    "the sampled token.",
    "dppo_kl": "As `dppo_tv`, with the distance in nats: it is stricter with tokens that the policy all but rules out.",
    "cispo": "When rare tokens carry the idea, as at the turn of an argument: a clip takes their gradient away "
    "after a first update, this row never does. With one update for each batch it is a policy gradient.",
    "scalerl": "Groups of older weights, as asynchronous or carried sampling gives them, with every prompt counted "
    "equally. The paper drops groups without signal and draws no others: `rollout.max_draws` equal to "
    "`rollout.prompts` with `rollout.exhaustion: short` does so.",
    "sapo": "When the edge of a clip is the trouble: tokens fade as they drift, and there is no bound beyond "
    "which they count for nothing.",
    "luspo": "GSPO where answers must be free to grow. GSPO gives every completion the same weight, so a token of "
    "a long one counts less; here every token counts the same. Sums over tokens make a larger gradient, "
    "so `train.max_grad_norm` binds sooner.",
    "vespo": "Stale data: many updates for each batch, or groups of older weights (with anchor `sampler`). The "
    "ratio is that of the whole completion and is not divided by its length, so on long completions a "
    "small drift is far from 1: watch `clip_ratio/high_mean` and `clip_ratio/low_mean`.",
    "gmpo": "When single tokens with extreme ratios unsettle GRPO: a geometric mean hardly feels them, so the "
    "bounds can be wider.",
    "rloo": "Plain policy gradient with a baseline: one update for each batch, and nothing that holds a token "
    "back. The row to compare the others with.",
}
"""When a row is the one to take; what others found is said to be theirs."""

HELD = {
    "clip": "tokens whose gradient the clip took away, above its upper bound with a positive advantage, below its"
    " lower one with a negative advantage",
    "divergence": "tokens that were dropped, those whose ratio is above 1 and those below",
    "truncate": "tokens whose weight was capped; there is no lower bound, so low is 0",
    "gate": "none: a gate fades and cuts nothing off, so both are 0",
    "gamma": "tokens of completions that the kernel gives less than half of what they get at ratio 1, above and "
    "below it",
    "geometric": "tokens whose own log-ratio was clipped, before the mean",
    "open": "none: nothing is held back, so both are 0",
}
"""Trust region -> what clip_ratio/high_mean and clip_ratio/low_mean count."""


def page(row: Algorithm) -> str:
    """The page of a row."""
    lines = [
        f"# {row.name}",
        "",
        f"{row.summary[0].upper()}{row.summary[1:]}.",
        "",
        *(f"    {line}" for line in formula(row)),
        "",
        "| choice | here |",
        "|---|---|",
        *(f"| {choice} | {name_of(getattr(row, choice))} |" for choice in CHOICES),
        "",
        f"It reads `logp`, {', '.join(f'`{name}`' for name in sorted(row.reads))}. `clip_ratio/high_mean` and "
        f"`clip_ratio/low_mean` count {HELD[row.trust.kind]}.",
        "",
        f"Source: {row.source}.",
        "",
        "## Where it leaves its source",
        "",
        *(f"- {deviation}" for deviation in row.deviations),
        "",
        "## In a configuration",
        "",
        f"`algorithm: {row.name}` is all it takes. Written out, to be changed:",
        "",
        "```yaml",
        *written(row),
        "```",
        "",
        "## When to use it",
        "",
        WHEN[row.name],
        "",
        f"`strop explain {row.name}` prints the code of every part. [All rows](../rows.md). This page is written from "
        "the code by `python -m strop.cli.rowpages`.",
    ]
    return "\n".join(lines) + "\n"


def written(row: Algorithm) -> list[str]:
    """The row as the lines of a configuration, with every choice and its numbers."""
    lines = [f"algorithm: {row.name}", "objective:"]
    for choice in CHOICES:
        value = getattr(row, choice)
        if isinstance(value, tuple):
            lines.append(f"  {choice}: [{', '.join(map(inline, members(value)))}]")
        elif value is not None:
            lines.append(f"  {choice}: {inline(value)}")
    return lines


def inline(choice: Any) -> str:
    """A choice as YAML on one line: `prompt`, `{kind: clip, low: 0.2, high: 0.28}`."""
    numbers = {name: value for name, value in values_of(choice).items() if not absent(name, value)}
    shown = [
        f"{name}: {value:g}" if isinstance(value, float) else f"{name}: {value}" for name, value in numbers.items()
    ]
    return f"{{{', '.join([f'kind: {choice.kind}', *shown])}}}" if shown else str(choice.kind)


def table() -> str:
    """The table of all rows, each with a link to its page."""
    from strop.algorithms import ROWS

    lines = [f"| row | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for name, row in ROWS.items():
        cells = [name_of(getattr(row, choice)) for choice in COLUMNS]
        lines.append(f"| [`{name}`](rows/{name}.md) | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def with_table(index: str) -> str:
    """The page of all rows with the table of the code between its marks."""
    before, rest = index.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def write(docs: Path) -> list[Path]:
    """Write every page; the files, in the order of the table."""
    from strop.algorithms import ROWS

    folder, index = docs / "rows", docs / "rows.md"
    folder.mkdir(exist_ok=True)
    for name, row in ROWS.items():
        (folder / f"{name}.md").write_text(page(row), encoding="utf-8")
    index.write_text(with_table(index.read_text(encoding="utf-8")), encoding="utf-8")
    return [index, *(folder / f"{name}.md" for name in ROWS)]


if __name__ == "__main__":
    print(*write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")), sep="\n")
