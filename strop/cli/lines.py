"""What a run prints, as plain text: the line of a step, a few completions, the comparison at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strop.cli.tables import sentence
from strop.types import Group, Prompt, Rollout

if TYPE_CHECKING:
    from strop.evaluate import Estimate, Evaluation

COUNTS = ("trained", "all_right", "all_wrong", "errored", "dropped", "carried")
PROMPT_LIMIT = 200
COMPLETION_LIMIT = 200


def duration(seconds: float) -> str:
    """0.4 s, 12 s, 3 m 05 s, 1 h 20 m."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} m {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} m"


def number(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def step_line(record: Mapping[str, Any], steps: int, left: float | None = None) -> str:
    """A step in one line: accuracy over all groups, reward over the trained ones, lengths, clipping, groups, time."""
    low, high = record.get("clip_ratio/low_mean"), record.get("clip_ratio/high_mean")
    evaluated = record.get("eval/avg")
    return sentence(
        [
            f"step {record['step']:>{len(str(steps))}}/{steps}",
            f"accuracy {number(record.get('accuracy/all'))}",
            f"reward {number(record.get('reward/trained'))}",
            f"length {number(record.get('completions/mean_length'), '.1f')}",
            f"entropy {number(record.get('entropy'), '.3f')}",
            f"clip {number(low, '.2%')} below {number(high, '.2%')} above",
            f"groups {record.get('groups/generated', 0)} drawn {record.get('groups/trained', 0)} kept",
            f"{record['rewards/unscorable']} unscorable" if record.get("rewards/unscorable") else "",
            f"{duration(record.get('time/step') or 0.0)}",
            "" if evaluated is None else f"held-out {evaluated:.1%}",
            "" if left is None else f"{duration(left)} left",
        ]
    )


def prompt_text(prompt: Prompt) -> str:
    if isinstance(prompt.content, str):
        return prompt.content
    return "\n".join(f"{message.get('role', '')}: {message.get('content', '')}" for message in prompt.content)


def sample_lines(groups: Sequence[Group], *, most: int = 3) -> list[str]:
    """A prompt and the best, the worst and the longest of its completions; a group of mixed scores if there is one."""
    if not groups:
        return []
    group = next((group for group in groups if len(set(group.scores)) > 1), groups[0])
    ranked = sorted(group.rollouts, key=lambda rollout: (bool(rollout.error), -rollout.score))
    picked = {id(rollout): rollout for rollout in (ranked[0], ranked[-1], max(ranked, key=_tokens))}
    lines = [cut(prompt_text(group.prompt), PROMPT_LIMIT)]
    return lines + [f"  {_verdict(rollout)}  {_said(rollout)}" for rollout in list(picked.values())[:most]]


def _tokens(rollout: Rollout) -> int:
    return rollout.completion.tokens


def _verdict(rollout: Rollout) -> str:
    penalty = f"{rollout.penalty:+.2f}" if rollout.penalty else "     "
    score = " none" if rollout.error else f"{rollout.score:5.2f}"
    return f"{score} {penalty} {rollout.completion.tokens:4d} tokens"


def _said(rollout: Rollout) -> str:
    ending = " [cut off]" if rollout.completion.truncated else ""
    failed = f" [unscorable: {cut(rollout.error, COMPLETION_LIMIT)}]" if rollout.error else ""
    return cut(rollout.completion.text, COMPLETION_LIMIT) + ending + failed


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit} more)"


def estimate(value: Estimate) -> str:
    """'91.2% [89.9, 92.5]': a share with its 95% interval."""
    return f"{value.value:.1%} [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def evaluation_rows(results: Mapping[str, Evaluation]) -> list[list[str]]:
    """The rows of the table of accuracies, a column for each evaluation: overall, then by what the task labels."""
    shown = list(results.values())
    rows = [
        _row(f"avg@{shown[0].k}", [estimate(result.avg) for result in shown]),
        _row("greedy", [estimate(result.greedy) for result in shown]),
    ]
    for k in sorted(set(shown[0].pass_at) - {1}):
        rows.append(_row(f"pass@{k}", [estimate(result.pass_at[k]) for result in shown]))
    rows.append(_row(f"maj@{shown[0].k}", [estimate(result.maj) for result in shown]))
    rows.append(_row("cut off", [f"{result.truncated:.1%}" for result in shown]))
    rows.append(_row("mean length", [f"{result.tokens:.1f} tokens" for result in shown]))
    if any(result.unscorable for result in shown):
        rows.append(_row("unscorable", [f"{result.unscorable} of {result.n * (result.k + 1)}" for result in shown]))
    for label in dict.fromkeys(label for result in shown for label in result.by):
        values = dict.fromkeys(value for result in shown for value in sorted(result.by.get(label, {}), key=_natural))
        rows += [_row(f"{label} {value}", [_share(result, label, value) for result in shown]) for value in values]
    return rows


def _row(name: str, cells: list[str]) -> list[str]:
    return [name, *cells]


def _share(result: Evaluation, label: str, value: str) -> str:
    mean, count = result.by.get(label, {}).get(value, (0.0, 0))
    best, greedy = result.greedy_by.get(label, {}).get(value, (0.0, 0))
    sampled = f"{mean:.1%} of {count}" if count else "-"
    return f"{sampled}, greedy {best:.1%} of {greedy}" if greedy else sampled


def _natural(value: str) -> tuple[int, int, str]:
    return (0, int(value), value) if value.isdecimal() else (1, 0, value)


def ledger_line(ledger: Mapping[str, int]) -> str:
    """'612 groups drawn = 320 trained + 201 all right + ...'."""
    parts = [f"{ledger.get(name, 0)} {name.replace('_', ' ')}" for name in COUNTS]
    return f"{ledger.get('generated', 0)} groups drawn = {' + '.join(parts)}"


def gain_line(summary: Mapping[str, Any]) -> str:
    """What the run did to held-out accuracy, paired by prompt."""
    gain = summary.get("gain")
    if not gain:
        return str(summary.get("verdict", ""))
    low, high = 100 * gain["low"], 100 * gain["high"]
    k = summary["accuracy_after"]["k"]
    return f"{summary['verdict']}: avg@{k} {100 * gain['avg']:+.1f} points [{low:+.1f}, {high:+.1f}], paired by prompt"
