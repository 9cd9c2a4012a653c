from __future__ import annotations

import importlib
import json
import runpy
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import Any

import pytest
import torch

import strop
from strop.bridges import peers, trl
from strop.bridges.trl import over_windows, replace_last
from strop.errors import ConfigError
from strop.metrics import High, Low, Mean, Sum
from tests.bridges.trl_runs import LAYOUTS_OF_TWO, MASKED, Layout, make_prompts, rollout, train
from tests.shape.source import ROOT

real = pytest.mark.peer("trl")
quiet = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:steps_per_generation=:UserWarning")

EPOCHS = {"max_steps": -1, "num_train_epochs": 2}

LAYOUTS = (
    Layout("one micro-batch a window", 8, 1, 1, row="rloo"),
    Layout("two micro-batches", 4, 2, 2),
    Layout("four micro-batches, groups split", 2, 4, 4, row="scalerl"),
    Layout("a generation batch spans two windows", 2, 2, 4),
    Layout("a generation batch spans two windows, exact token mean", 2, 2, 4, row="dapo"),
    Layout("a generation batch spans four windows", 1, 2, 8, row="dr_grpo"),
    Layout("a generation batch spans eight windows", 2, 1, 8, row="cispo"),
    Layout("a window spans two generation batches", 4, 4, 2, row="dapo"),
    Layout("a window spans four generation batches", 4, 4, 1),
    Layout("windows begin inside a generation batch", 4, 2, 3, row="gspo_token"),
    Layout("windows end inside a generation batch", 4, 3, 2),
    Layout("two passes, DPPO", 4, 2, 2, row="dppo_tv", arguments={"num_iterations": 2}),
    Layout("two passes inside a window", 4, 2, 1, row="gspo", arguments={"num_iterations": 2}),
    Layout("three passes across windows", 4, 4, 2, row="dapo_prompt", arguments={"num_iterations": 3}),
    Layout("a short last window", 4, 4, 2, prompts=7, arguments=EPOCHS),
    Layout("a short last window inside a generation batch", 4, 4, 3, row="sapo", prompts=9, arguments=EPOCHS),
    Layout("masked completions", 2, 4, 4, arguments=MASKED),
    Layout("masked completions in half a generation batch", 4, 2, 4, row="grpo", arguments={**MASKED, "beta": 0.04}),
    Layout("masked completions, DPPO", 2, 3, 4, row="dppo_kl", arguments=MASKED),
    Layout("an entropy bonus", 2, 2, 4, changes={"regularizers": {"kind": "entropy", "beta": 0.02}}),
    Layout("fp32, TRL's own log-probs", 2, 4, 4, double=False),
    Layout("fp32, TRL's own log-probs, half a generation batch", 2, 2, 4, row="dapo", double=False),
)


@real
@quiet
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_optimizer_step_of_trl_has_the_gradient_and_the_metrics_of_the_row_over_its_window(
    layout: Layout, tmp_path: Path
) -> None:
    windows = train(layout, tmp_path)
    assert len(windows) >= 4
    assert sum(torch.stack([g.norm() for g in w.exact.values()]).norm() > 0.1 for w in windows) >= 2
    for window in windows:
        assert window.error < (1e-12 if layout.double else 1e-5)
        assert window.metric_error < (1e-9 if layout.double else 1e-5)
        assert window.loss == pytest.approx(window.exact_loss, abs=1e-6)
    assert len({window.rows for window in windows}) == (2 if "short" in layout.name else 1)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What both processes of one torchrun found, layout by layout."""
    out = tmp_path_factory.mktemp("two")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    program = ["-m", "tests.bridges.trl_runs", str(out)]
    done = subprocess.run([*launch, *program], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((out / f"{process}.json").read_text(encoding="utf-8")) for process in (0, 1)]


@real
@pytest.mark.parametrize("layout", LAYOUTS_OF_TWO, ids=lambda layout: layout.name)
def test_two_processes_have_the_gradient_and_the_metrics_of_their_common_window(
    layout: Layout, two_processes: list[dict[str, Any]]
) -> None:
    assert two_processes[0][layout.name] == two_processes[1][layout.name]
    windows = two_processes[0][layout.name]
    assert max(error for error, _, _, _, _ in windows) < 1e-12
    assert max(error for _, _, _, _, error in windows) < 1e-9
    assert sum(prompts_on_both for _, _, _, prompts_on_both, _ in windows) >= 3
    assert any(abs(exact) > 1e-3 for _, _, exact, _, _ in windows)
    for _, loss, exact, _, _ in windows:
        assert loss == pytest.approx(exact, abs=1e-6)


def test_metrics_of_several_windows_are_those_of_all_their_tokens_and_sums_are_per_step() -> None:
    first = {"loss": Sum(1.0), "kl": Mean(2.0, 1.0), "kl/clamped": Sum(3.0), "ratio/max": High(2.0)}
    second = {"loss": Sum(3.0), "kl": Mean(4.0, 5.0), "kl/clamped": Sum(0.0), "ratio/max": High(1.0)}
    assert over_windows([first, {**second, "ratio/min": Low(0.5)}]) == {
        **{"kl": Mean(6.0, 6.0), "kl/clamped": Mean(3.0, 2.0)},
        **{"ratio/max": High(2.0), "ratio/min": Low(0.5)},
    }
    assert over_windows([]) == {}


def test_trls_table_of_completions_shows_the_advantages_that_are_trained_on() -> None:
    for size in (2, 4, 8):
        logged = deque([1.0, 2.0, 3.0, 4.0][-size:], maxlen=size)
        replace_last(logged, [5.0, 6.0])
        assert list(logged) == [1.0, 2.0, 3.0, 4.0][-size:][:-2] + [5.0, 6.0]


def test_without_trl_the_class_is_one_clear_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise peers.PackageNotFoundError(package)

    monkeypatch.setattr(peers, "version", absent)
    trl.trainer.cache_clear()
    module = importlib.import_module("strop.bridges.trl")
    with pytest.raises(ConfigError, match=r"^TRL is not installed here: make peer-trl .*pip install trl==1\.16\.0$"):
        _ = module.StropGRPOTrainer
    with pytest.raises(AttributeError, match="no attribute 'StropPPOTrainer'"):
        _ = module.StropPPOTrainer


@real
@quiet
@pytest.mark.parametrize(
    ("row", "arguments", "message"),
    [
        ("dapo_promt", {}, "unknown algorithm 'dapo_promt'; did you mean dapo_prompt"),
        ("dapo", {"entropy_coef": 0.1}, "^entropy_coef=0.1 is refused: it adds a term to the loss"),
        ("grpo", {}, "^grpo has a KL of beta 0.04 and GRPOConfig has beta=0.0"),
        ("dppo_tv", {"top_p": 0.9}, "^top_p=0.9 is refused"),
    ],
)
def test_the_real_trainer_refuses_when_it_is_made(
    row: str, arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    layout = Layout("refused", 4, 2, 2, arguments=arguments)
    with pytest.raises(ConfigError, match=message):
        train(layout, tmp_path, row=row)


@real
@quiet
def test_a_constant_mean_takes_the_token_budget_of_trl(tmp_path: Path) -> None:
    windows = train(Layout("constant", 4, 2, 2, row="dr_grpo"), tmp_path, row=strop.algorithm("dr_grpo"))
    assert max(window.error for window in windows) < 1e-12


@real
@quiet
@pytest.mark.parametrize("row", ["dppo_tv", "dapo_prompt"])
def test_a_rollout_functions_log_probs_are_the_samplers_and_its_mask_acts_before_counting(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    windows = train(Layout("rollout", 2, 2, 4, row=row), tmp_path, rollout_func=rollout)
    assert max(window.error for window in windows) < 1e-12
    assert max(abs(window.exact_loss) for window in windows) > 1e-2


@real
@quiet
def test_an_evaluation_between_two_windows_has_its_own_loss_and_leaves_them_as_they_are(tmp_path: Path) -> None:
    evaluated = {"eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 4}
    layout = Layout("evaluated", 4, 2, 3, arguments=evaluated)
    losses: list[tuple[float, float]] = []
    windows = train(layout, tmp_path, eval_dataset=make_prompts(2), evaluated=losses)
    assert max(window.error for window in windows) < 1e-12
    assert len(losses) == 2 * len(windows)
    assert max(abs(exact) for _, exact in losses) > 1e-2
    for loss, exact in losses:
        assert loss == pytest.approx(exact, abs=1e-12)


@real
@quiet
def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    layout = Layout("resumed", 4, 2, 2, arguments={"save_strategy": "steps", "save_steps": 2})
    whole = train(layout, tmp_path)
    again = train(layout, tmp_path, resume=str(tmp_path / "out" / "checkpoint-2"))
    assert [window.loss for window in again] == [window.loss for window in whole[2:]]
    assert max(window.error for window in again) < 1e-12


EXAMPLES = ROOT / "examples" / "trl_bridge"


def test_a_trl_user_changes_two_lines() -> None:
    theirs, ours = [
        (EXAMPLES / f"with_{name}.py").read_text(encoding="utf-8").splitlines() for name in ("trl", "strop")
    ]
    changed = [line for line in ours if line not in theirs]
    assert len(changed) == 2
    page = (ROOT / "docs" / "bridges" / "trl.md").read_text(encoding="utf-8")
    for line in changed:
        assert line in page


@real
@quiet
def test_the_example_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["with_strop.py", "2"])
    runpy.run_path(str(EXAMPLES / "with_strop.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "'policy_loss'" in printed
    assert "'train_loss'" in printed
