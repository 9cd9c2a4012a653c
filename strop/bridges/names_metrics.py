"""What TRL and verl call the metrics of a run: ALIASES["completions/mean_length"].verl -> "response_length/mean".

"" where they have nothing of the kind; `apart` says what is not quite the same. NAME stands for a name of the user's,
of a reward or a data set, and N for a number of completions. TRL's names are those of 1.16.0 (and of the Trainer it
stands on), verl's those of 0.9.1; a test looks each of them up in the installed package.

`python -m strop.bridges.names_metrics` prints the table of docs/metrics.md.
"""

from __future__ import annotations

from typing import NamedTuple


class Alias(NamedTuple):
    """What a metric is called by the others, and what is not the same about theirs."""

    trl: str
    verl: str
    apart: str = ""


ALIASES: dict[str, Alias] = {
    "step": Alias("", "training/global_step"),
    "update": Alias("step", ""),
    "loss": Alias("loss", "actor/loss"),
    "policy_loss": Alias("policy_loss", "actor/pg_loss"),
    "clip_ratio/high_mean": Alias("clip_ratio/high_mean", "actor/pg_clipfrac", "verl's holds both sides"),
    "clip_ratio/low_mean": Alias("clip_ratio/low_mean", "actor/pg_clipfrac", "verl's holds both sides"),
    "correction": Alias("sampling/importance_sampling_ratio/mean", "rollout_corr/rollout_is_mean"),
    "entropy": Alias("entropy", "actor/entropy"),
    "kl": Alias("kl", "actor/kl_loss"),
    "grad_norm": Alias("grad_norm", "actor/grad_norm"),
    "learning_rate": Alias("learning_rate", "actor/lr"),
    "reward/all": Alias("reward", ""),
    "reward/trained": Alias("", "critic/rewards/mean", "verl's is less a KL penalty that is part of its reward"),
    "rewards/NAME/mean": Alias("rewards/NAME/mean", ""),
    "rewards/NAME/std": Alias("rewards/NAME/std", "", "TRL's divides by one completion less"),
    "completions/mean_length": Alias("completions/mean_length", "response_length/mean"),
    "completions/min_length": Alias("completions/min_length", "response_length/min"),
    "completions/max_length": Alias("completions/max_length", "response_length/max"),
    "completions/clipped_ratio": Alias(
        "completions/clipped_ratio", "response_length/clip_ratio", "verl counts what ends at the very limit too"
    ),
    "share/all_right": Alias("frac_reward_zero_std", "", "TRL's holds right and wrong, and judges the whole reward"),
    "share/all_wrong": Alias("frac_reward_zero_std", "", "TRL's holds right and wrong, and judges the whole reward"),
    "tokens/trained": Alias("num_tokens", "perf/total_num_tokens", "both count prompts too; TRL's is of the whole run"),
    "time/sample": Alias("", "timing_s/gen"),
    "time/train": Alias("", "timing_s/update_actor", "verl's is without the scoring before it"),
    "time/step": Alias("step_time", "timing_s/step"),
    "eval/avg": Alias("eval_reward", "val-core/NAME/mean@N", "TRL's is the whole reward"),
    "eval/pass": Alias("", "val-core/NAME/best@N/mean", "verl's is a bootstrap estimate"),
    "eval/maj": Alias("", "val-core/NAME/maj@N/mean", "verl's is a bootstrap estimate"),
}


def table() -> str:
    """ALIASES as the table of docs/metrics.md."""
    rows = [(f"`{ours}`", code(alias.trl), code(alias.verl), alias.apart) for ours, alias in ALIASES.items()]
    heads = ("strop", "TRL", "verl", "not quite the same")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ("---",) * 4, *rows))


def code(name: str) -> str:
    return f"`{name}`" if name else ""


if __name__ == "__main__":
    print(table())
