"""Model cards: what they say; nothing hostile, private or secret in a run's files gets out of its code span."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from strop.algorithms import ROWS
from strop.policy.card import LONGEST, Card, inline, plain, render

MEASURED = {"avg": 0.25, "low": 0.2, "high": 0.305, "n": 200, "k": 8, "greedy": 0.15, "truncated": 0.1}
CARD = Card(
    "model",
    step=50,
    config={
        "algorithm": "dapo_prompt",
        "model": "Qwen/Qwen3-0.6B@" + "a" * 40,
        "task.kind": "jsonl",
        "task.reward": "/home/alice/work/rewards.py:score",
        "task.file": "/home/alice/work/train.jsonl",
        "task.scoring.sandbox": "auto",
        "rollout.prompts": 8,
        "rollout.max_tokens": 64,
        "train.learning_rate": 1e-6,
        "train.lora.rank": 8,
        "train.lora.alpha": 16.0,
    },
    sources={
        "rollout.prompts": "file /home/alice/c.yaml:3",
        "train.learning_rate": "flag",
        "rollout.max_tokens": "default",
    },
    environment={
        "packages": {"strop": "0.1.0", "torch": "2.13.0"},
        "model": {"commit": "a" * 40, "code": ""},
        "inputs": {"task.file": {"name": "train.jsonl", "bytes": 1234, "sha256": "e" * 64}},
    },
    before={**MEASURED, "pass": {"1": 0.25, "8": 0.5}},
    after={**MEASURED, "avg": 0.979, "low": 0.973, "high": 0.986, "greedy": 1.0, "pass": {"1": 0.979, "8": 1.0}},
    ledger={"generated": 4212, "trained": 1600, "all_right": 2517},
    curves=True,
)


def front(text: str) -> dict[str, Any]:
    _, matter, _ = text.split("---\n", 2)
    return yaml.safe_load(matter)


def test_the_front_matter_is_what_the_hub_reads() -> None:
    assert front(render(CARD)) == {
        "base_model": "Qwen/Qwen3-0.6B",
        "base_model_relation": "finetune",
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["strop", "reinforcement-learning", "dapo-prompt"],
    }
    adapter = front(render(replace(CARD, kind="adapter")))
    assert (adapter["library_name"], adapter["base_model_relation"]) == ("peft", "adapter")
    assert adapter["tags"][-1] == "lora"


@pytest.mark.parametrize("base", ["strop:tiny", "/home/alice/model", "./model"])
def test_a_base_that_is_not_on_the_hub_is_none_in_the_front_matter(base: str) -> None:
    assert "base_model" not in front(render(replace(CARD, config={**CARD.config, "model": base})))


def test_a_card_says_where_the_model_comes_from_how_it_was_made_and_what_came_of_it() -> None:
    text = render(CARD)
    for told in (
        f"| base model | `Qwen/Qwen3-0.6B@{'a' * 40}` at commit `{'a' * 40}` |",
        "| code of its own | none",
        "| trained | every weight |",
        "| task | `jsonl` |",
        f"| `task.file` | `train.jsonl`, 1234 bytes, SHA-256 `{'e' * 64}` |",
        "| reward | `rewards.py:score` |",
        "| sandbox | on: ",
        f"| algorithm | `dapo_prompt`: {ROWS['dapo_prompt'].summary} |",
        "| trained for | 50 steps |",
        "| avg@8, 95% interval | 25.0% [20.0, 30.5] | 97.9% [97.3, 98.6] |",
        "| greedy | 15.0% | 100.0% |",
        "| pass@8 | 50.0% | 100.0% |",
        "On 200 held-out prompts of the task, 8 completions each",
        "![Curves of the run](curves.png)",
        "| generated | 4212 |",
        "| all right | 2517 |",
        "| `rollout.prompts` | `8` |",
        "| `train.learning_rate` | `1e-06` |",
        "| `torch` | `2.13.0` |",
        'AutoModelForCausalLM.from_pretrained("FOLDER")',
        "vllm serve FOLDER",
        "## Limits",
    ):
        assert told in text, told
    assert "rollout.max_tokens" not in text and "alice" not in text


def test_what_endangers_is_said_plainly() -> None:
    code = {**CARD.environment, "model": {"commit": "", "code": "b" * 40}}
    text = render(replace(CARD, environment=code, config={**CARD.config, "task.scoring.sandbox": "unsafe"}))
    assert (
        f"| code of its own | **yes**: Python code that comes with the base model was run, that of `{'b' * 40}`" in text
    )
    assert "| sandbox | **unsafe**: " in text
    assert "pass `trust_remote_code` too" in text


def test_several_rewards_and_one_from_python_are_named() -> None:
    parts = [{"use": "/x/y/mine.py:f", "weight": 0.5}, "math"]
    text = render(replace(CARD, config={**CARD.config, "task.reward": parts}))
    assert "| reward | `mine.py:f, weight 0.5`, `math` |" in text
    given_from_python = replace(CARD, sources={"task.reward": "python function mine"})
    assert "| reward | `python function mine` |" in render(given_from_python)


def test_merged_adapters_say_their_rank_and_what_rounding_did() -> None:
    text = render(replace(CARD, kind="merged", rounding=0.0123, dtype="bfloat16"))
    assert "merged here into the weights they lay over, rank 8, alpha 16.0" in text
    assert "rounding the weights to bfloat16 moved a logit by at most 1.2e-02" in text


def test_a_step_that_was_not_evaluated_says_so_and_a_bare_folder_claims_nothing() -> None:
    assert "This step was not evaluated." in render(replace(CARD, after={}))
    text = render(Card("model"))
    assert front(text)["library_name"] == "transformers"
    for absent in ("| base model", "algorithm |", "none: no Python code", "Settings", "Versions", "generated"):
        assert absent not in text


HOSTILE = [
    "<script>alert(1)</script>",
    "x` | injected | `y",
    "``` \n# Title\n| a | b |",
    "[link](javascript:alert(1))",
    "![img](http://evil/x.png)",
    "---\nlicense: evil",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202eeziser",
    '"\nbase_model: other/model',
    "{{ template }}",
    "\ud800",
]


@pytest.mark.parametrize("kind", ["merged", "adapter"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_anywhere_stays_in_its_code_span(text: str, kind: Any) -> None:
    config = {
        **CARD.config,
        "task.reward": text,
        "task.kind": text,
        "algorithm": text,
        "rollout.prompts": text,
        "model": text,
    }
    environment = {
        "packages": {text: text, "strop": text},
        "model": {"commit": text, "code": text},
        "inputs": {text: {"name": text, "bytes": 1, "sha256": text}},
        "task": text,
    }
    card = render(
        replace(CARD, kind=kind, config=config, environment=environment, sources=dict.fromkeys(config, "flag"))
    )
    assert set(front(card)) <= {"base_model", "base_model_relation", "library_name", "pipeline_tag", "tags"}
    card.encode()
    body = re.sub(r"\n```python\n.*?\n```\n", "", card.split("---\n", 2)[2], flags=re.DOTALL)
    outside = re.sub(r"(`+).*?(?<!`)\1(?!`)", "", body)
    for mark in ("<script", "injected", "javascript:", "evil", "\x1b", "\u202e", "{{"):
        assert mark not in outside.replace("![Curves of the run](curves.png)", ""), outside
    assert len([line for line in card.splitlines() if line.startswith("# ")]) == 1


@given(st.text())
def test_any_text_is_one_line_of_a_span_that_ends_where_it_should(text: str) -> None:
    span = inline(text)
    fence = re.match("`+", span)
    assert fence and "\n" not in span and "|" not in span
    inner = span[len(fence[0]) : -len(fence[0])]
    assert span.endswith(fence[0]) and fence[0] not in inner and len(inner) <= LONGEST + 5
    span.encode()


@pytest.mark.parametrize(
    "text, shown",
    [
        ("/home/alice/data/train.jsonl", "train.jsonl"),
        ("reads /home/alice/x.py:12 and ~/y/z", "reads x.py:12 and z"),
        (r"C:\Users\alice\train.jsonl", "train.jsonl"),
        ("../../home/alice/m.py:score", "m.py:score"),
        ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("a/b: 1/2", "a/b: 1/2"),
        ("hf_" + "a" * 34, "[removed]"),
        ("key sk-" + "B1" * 12 + " end", "key [removed] end"),
        ("ghp_" + "a" * 36, "[removed]"),
        ("https://bob:hunter2secret@host.x/y", None),
    ],
)
def test_paths_are_cut_to_their_last_name_and_secrets_removed(text: str, shown: str | None) -> None:
    found = plain(text)
    assert found == shown if shown else "hunter2" not in found


def test_a_card_holds_no_secret_of_a_setting_it_does_not_list() -> None:
    config = {**CARD.config, "task.data.settings": {"token": "canary"}, "runs": "/home/alice/canary", "run": "canary"}
    assert "canary" not in render(replace(CARD, config=config, sources=dict.fromkeys(config, "flag")))
    assert json.dumps("canary")
