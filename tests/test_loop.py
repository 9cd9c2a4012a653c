"""A whole run on the embedded policy, small: what it leaves in its folder, that it balances, stops and starts alike."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from transformers import AutoModelForCausalLM

import strop
from strop.config.load import load
from strop.errors import ConfigError, NotEnoughSignal, RewardError
from strop.loop import run_training
from strop.rollout.collect import balanced
from strop.run.store import read_rows
from strop.tasks.arithmetic import solve
from strop.types import Group
from strop.watch import Watcher

SMALL: dict[str, Any] = {
    "rollout": {"prompts": 4, "completions": 4, "max_tokens": 48, "overlong": {"buffer": 24}},
    "train": {"steps": 3, "updates": 2, "learning_rate": 3e-4, "warmup_steps": 0},
    "eval": {"prompts": 8, "completions": 2, "every": 2},
    "save": {"every": 1, "keep": 2},
}


def small(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    merged = json.loads(json.dumps(SMALL))
    for key, value in changes.items():
        merged[key] = {**merged[key], **value} if isinstance(merged.get(key), dict) else value
    return {**merged, "runs": str(tmp_path), "run": changes.get("run", "r")}


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[strop.loop.Run, list[Any], list[Any]]:  # type: ignore[name-defined]
    steps: list[dict[str, Any]] = []
    seen: list[tuple[int, Sequence[Group]]] = []
    run = strop.train(
        small(tmp_path_factory.mktemp("runs")),
        on_step=steps.append,
        on_rollouts=lambda step, groups: seen.append((step, groups)),
    )
    return run, steps, seen


def test_a_run_folder_has_every_file_that_is_promised(a_run: Any) -> None:
    run, _, _ = a_run
    names = {str(path.relative_to(run.folder)) for path in run.folder.rglob("*") if path.is_file()}
    for name in (
        "config.yaml",
        "provenance.json",
        "environment.json",
        "metrics.jsonl",
        "ledger.jsonl",
        "summary.json",
        "plots/curves.png",
        "rollouts/step-000001.parquet",
        "rollouts/step-000003.parquet",
        "checkpoints/step-000003/MANIFEST.json",
        "checkpoints/step-000002/model.safetensors",
    ):
        assert name in names
    assert "checkpoints/step-000001/model.safetensors" not in names
    assert not [name for name in names if "/.tmp" in name or name.startswith(".tmp")]


def test_the_ledger_balances_at_every_step_and_adds_up_in_the_summary(a_run: Any) -> None:
    run, _, _ = a_run
    rows = read_rows(run.folder / "ledger.jsonl")
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert all(balanced(row) for row in rows)
    totals = run.summary["ledger"]
    for name in ("generated", "trained", "all_right", "all_wrong", "errored", "dropped"):
        assert totals[name] == sum(row[name] for row in rows)


def test_every_sampled_completion_is_in_the_rollouts_as_the_callback_saw_it(a_run: Any) -> None:
    run, _, seen = a_run
    for step, groups in seen:
        table = pq.read_table(run.folder / "rollouts" / f"step-{step:06d}.parquet").to_pylist()
        assert len(table) == sum(len(group.rollouts) for group in groups)
        by_place = {(row["draw"], row["completion"]): row for row in table}
        for group in groups:
            for i, rollout in enumerate(group.rollouts):
                row = by_place[group.draw, i]
                assert tuple(row["ids"]) == rollout.completion.ids
                assert row["version"] == step - 1
                assert row["reward"] == rollout.reward


def test_a_token_counts_once_and_draws_go_on_where_the_last_step_ended(a_run: Any) -> None:
    run, steps, seen = a_run
    draws = [group.draw for _, groups in seen for group in groups]
    assert draws == list(range(len(draws)))
    for record, (_, groups) in zip(steps, seen, strict=True):
        assert record["tokens/generated"] == sum(group.tokens for group in groups)


def test_metrics_hold_what_the_field_looks_at(a_run: Any) -> None:
    _, steps, _ = a_run
    for name in (
        "step",
        "update",
        "loss",
        "entropy",
        "prob",
        "ratio",
        "clip_ratio/low_mean",
        "clip_ratio/high_mean",
        "clip_ratio/high_prob",
        "grad_norm",
        "learning_rate",
        "padding_share",
        "reward/all",
        "reward/trained",
        "accuracy/all",
        "completions/mean_length",
        "completions/max_length",
        "completions/clipped_ratio",
        "overlong/penalized",
        "groups/rounds",
        "share/all_right",
        "time/step",
    ):
        assert name in steps[0], name
    assert [record["update"] for record in steps] == [2, 4, 6]
    assert all(record["padding_share"] <= 0.10 for record in steps)
    assert "eval/avg" in steps[1]
    assert "eval/avg" not in steps[0]


def test_every_value_of_the_configuration_has_a_source(a_run: Any) -> None:
    run, _, _ = a_run
    provenance = json.loads((run.folder / "provenance.json").read_text())
    assert provenance["rollout.prompts"] == "python"
    assert provenance["rollout.temperature"] == "default"
    assert "strop:tiny" in provenance["task.kind"]
    again = load([run.folder])
    assert again.rollout.prompts == 4


def test_the_checkpoint_is_the_model_that_train_returns(a_run: Any) -> None:
    run, _, _ = a_run
    loaded = AutoModelForCausalLM.from_pretrained(run.folder / "checkpoints" / "step-000003")
    for (name, mine), theirs in zip(run.module.named_parameters(), loaded.parameters(), strict=True):
        assert mine.equal(theirs), name


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path, a_run: Any) -> None:
    run, _, _ = a_run
    again = strop.train(small(tmp_path))
    other = strop.train(small(tmp_path, run="other", seed=1))
    untimed = [
        [{k: v for k, v in row.items() if not k.startswith("time/")} for row in read_rows(r.folder / "metrics.jsonl")]
        for r in (run, again, other)
    ]
    assert untimed[0] == untimed[1]
    assert untimed[0] != untimed[2]
    assert all(a.equal(b) for a, b in zip(run.module.parameters(), again.module.parameters(), strict=True))


def test_ctrl_c_ends_at_a_whole_step_with_what_was_learned_saved(tmp_path: Path) -> None:
    def press(record: dict[str, Any]) -> None:
        if record["step"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    run = strop.train(small(tmp_path, save={"every": 0}), on_step=press)
    assert run.interrupted
    assert run.summary["steps"] == 2
    assert run.summary["accuracy_after"] is None
    assert [path.name for path in (run.folder / "checkpoints").iterdir()] == ["step-000002"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_reward_that_is_handed_over_scores_in_place_of_the_tasks_own(tmp_path: Path) -> None:
    def longer(prompt: str, completion: str, *, answer: str, **columns: Any) -> float:
        return float(len(completion) > 10) + 0.1 * int(answer)

    run = strop.train(small(tmp_path, train={"steps": 1}), reward=longer)
    table = pq.read_table(run.folder / "rollouts" / "step-000001.parquet").to_pylist()
    expected = [float(len(row["text"]) > 10) + 0.1 * int(solve(row["prompt_id"])) for row in table]
    assert [row["score"] for row in table] == expected


@pytest.mark.parametrize("value", [float("nan"), None, "1"])
def test_a_reward_that_is_no_number_stops_the_run_with_its_name(tmp_path: Path, value: Any) -> None:
    def bad(prompt: str, completion: str, **columns: Any) -> Any:
        return value

    with pytest.raises(RewardError, match="could be scored, such as reward bad returned"):
        strop.train(small(tmp_path), reward=bad)


def test_a_data_set_whose_groups_never_have_signal_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(NotEnoughSignal, match=r"drew 12 .*0 of the 4 needed.*12 were all right"):
        strop.train(small(tmp_path, rollout={"max_draws": 12}), reward=lambda prompt, completion, **columns: 1.0)


def test_a_run_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    with pytest.raises(ConfigError, match="r is there already"):
        strop.train(small(tmp_path))


def test_carried_groups_are_trained_first_in_the_next_step_under_a_sampler_anchor(tmp_path: Path) -> None:
    config = small(tmp_path, algorithm="dppo_tv", rollout={"surplus": "carry", "max_staleness": 2, "prompts": 3})
    run = strop.train(config)
    rows = read_rows(run.folder / "ledger.jsonl")
    assert all(balanced(row) for row in rows)
    assert [row["carried_in"] for row in rows[1:]] == [row["carried_out"] for row in rows[:-1]]


def test_an_error_leaves_what_was_learned_before_it(tmp_path: Path) -> None:
    calls, warnings = {"left": 60}, list[str]()

    def tires(prompt: str, completion: str, **columns: Any) -> float:
        calls["left"] -= 1
        if calls["left"] < 0:
            raise RuntimeError("no more")
        return float(len(completion) % 2)

    listener = Watcher()
    listener.warned = warnings.append  # type: ignore[method-assign]
    one = {"scoring": {"workers": 1}}
    with pytest.raises(RewardError, match="no more"):
        run_training(load(mapping=small(tmp_path, save={"every": 0}, task=one)), listener, reward=tires)
    assert any("steps are saved in" in text for text in warnings)
    folder = tmp_path / "r"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["steps"] == len(read_rows(folder / "metrics.jsonl")) > 0
    assert re.match(r"stopped: .* such as .*reward tires raised RuntimeError: no more", summary["verdict"])
    assert (folder / "checkpoints" / f"step-{summary['steps']:06d}" / "model.safetensors").is_file()
    assert (folder / "plots" / "curves.png").is_file()


def test_a_run_that_never_measured_anything_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RewardError):
        strop.train(small(tmp_path), reward=lambda prompt, completion, **columns: None)
    assert not (tmp_path / "r").exists()


def test_ctrl_c_in_an_evaluation_between_steps_keeps_the_row_of_the_step(tmp_path: Path) -> None:
    class Impatient(Watcher):
        def progress(self, phase: str, done: int, total: int) -> None:
            if phase == "evaluate" and (tmp_path / "r" / "rollouts" / "step-000002.parquet").exists():
                os.kill(os.getpid(), signal.SIGINT)

    run = run_training(load(mapping=small(tmp_path, eval={"every": 2})), Impatient())
    assert run.interrupted
    assert [row["step"] for row in read_rows(run.folder / "metrics.jsonl")] == [1, 2]
    assert [row["step"] for row in read_rows(run.folder / "ledger.jsonl")] == [1, 2]


def test_groups_that_are_carried_are_in_the_checkpoint_that_has_passed_them(tmp_path: Path) -> None:
    mixed = itertools.cycle((0.0, 1.0))
    config = small(tmp_path, algorithm="dppo_tv", rollout={"surplus": "carry", "max_staleness": 2}, eval={"every": 0})
    run = strop.train(config, reward=lambda prompt, completion, **columns: next(mixed) * (len(completion) % 3 > 0))
    for folder in sorted((run.folder / "checkpoints").iterdir()):
        state = json.loads((folder / "state.json").read_text())
        held = state["ledger"]["carried"]
        rows = pq.read_table(folder / "carried.parquet").to_pylist() if held else []
        assert len({row["draw"] for row in rows}) == held
        assert all(row["draw"] < state["cursor"] for row in rows)


def test_masked_truncated_completions_train_no_token(tmp_path: Path) -> None:
    run = strop.train(small(tmp_path, rollout={"max_tokens": 8, "overlong": {"buffer": 0, "mask_truncated": True}}))
    assert all(row["loss"] is not None for row in read_rows(run.folder / "metrics.jsonl"))


def test_the_page_of_metrics_explains_every_metric_and_no_other(a_run: Any) -> None:
    _, steps, _ = a_run
    page = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text()
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    explained = {name for cell in cells for name in cell.replace("`", "").replace(" ", "").split(",")}
    measured = {name for record in steps for name in record}
    several = {"rewards/NAME/mean", "rewards/NAME/std"}
    unread = {"kl", "kl/clamped", "correction", "correction/dropped", "correction/capped"}
    assert explained == measured | unread | several


def test_the_page_of_metrics_reads_the_rollouts_as_it_says(a_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _, _ = a_run
    page = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text()
    [block] = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(run.folder.parent.parent)
    names: dict[str, Any] = {}
    exec(compile(block.replace("runs/NAME", str(run.folder)), "page", "exec"), names)  # noqa: S102
    assert all(isinstance(text, str) for text in names["cut_off"])
