"""The help of `strop train`: what every command says, and the keys that most runs set, as the schema describes them."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

COMMON = (
    "algorithm",
    "model",
    "task.file",
    "task.reward",
    "rollout.prompts",
    "rollout.completions",
    "rollout.max_tokens",
    "train.steps",
    "train.learning_rate",
    "train.updates",
    "eval.every",
    "seed",
    "run",
)


class WithKeys(TyperCommand):
    """A command whose help ends with the commonest keys. The schema is imported when the help is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        from strop.cli.tables import make_console, say, table

        console = make_console()
        say(console, "The commonest keys, with their defaults (strop:tiny brings some of its own):", "bold")
        table(console, common_keys(), indent=2)
        say(console, "strop config prints them all, with the values that a run would have.")


def common_keys() -> list[tuple[str, str, str]]:
    """Flag, default and meaning of each key of COMMON, from the schema."""
    from strop.config.schema import KEYS

    return [(f"--{key}", str(KEYS[key].default) or '""', KEYS[key].description) for key in COMMON]
