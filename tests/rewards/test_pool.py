"""A hang, a crash, a flood costs one completion and no worker; the others are answered as if it had not been there."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from strop.errors import RewardError
from strop.rewards import limits
from strop.rewards.scorer import Scorer
from tests.rewards.hostile import HOSTILE as NAMES
from tests.rewards.hostile import KEPT
from tests.rewards.made import HOSTILE, PROMPT, completions, numbers, reward_file, scorer_of

DEADLINE_S = 0.3
LATE_S = 0.5
"""What a completion's verdict may take beyond its deadline."""
QUICK = (
    *("spin", "c_loop_sum", "regex_nested_plus", "power_ten", "wait_shell", "ignores_sigterm", "bomb_of_daemons"),
    *("no_longer_dies_with_its_keeper", "leaves_a_spinning_daemon", "leaves_a_spinning_thread", "memory_append"),
    *("prints_a_lot", "end_exit_0", "end_keeper", "writes_nonsense_to_every_descriptor", "closes_every_descriptor"),
    *("recursion", "returns_slow_repr", "replaces_builtins", "sets_an_alarm"),
)
REWARD = f"{HOSTILE}:score"


def hold(scorer: Scorer, names: Sequence[str]) -> None:
    """Each hostile reward beside good ones: it is in time, it is told apart, and the good ones are right."""
    for name in names:
        start = time.monotonic()
        verdicts = scorer(PROMPT, completions("good", name, "good", "good"))
        took = time.monotonic() - start
        assert took < DEADLINE_S + LATE_S, f"{name} took {took:.2f} s"
        assert [verdicts[place].score for place in (0, 2, 3)] == [1.0] * 3, name
        assert bool(verdicts[1].error) == (name not in KEPT), f"{name}: {verdicts[1]}"
        assert numbers(scorer(PROMPT, completions(*["good"] * 8))) == [1.0] * 8, f"after {name}"


def settled(scorer: Scorer) -> None:
    """The processes that there are in the end are as many as in the beginning: a keeper and a worker for each slot."""
    until = time.monotonic() + 5
    wanted = 2 * (scorer.runner.workers + 1)  # type: ignore[union-attr]
    while (count := len(limits.descendants(scorer.runner.nest.pid))) != wanted:  # type: ignore[union-attr]
        assert time.monotonic() < until, f"{count} processes are left, of {wanted}"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_hundred_and_fifty_hostile_rewards_cost_one_completion_each_and_no_worker() -> None:
    """Goal R15: each returns within its deadline + 0.5 s, and no slot is lost."""
    assert len(NAMES) >= 100
    with scorer_of(REWARD, deadline_s=DEADLINE_S, memory_mb=512) as scorer:
        hold(scorer, [*NAMES])
        settled(scorer)


def test_twenty_kinds_of_hostile_rewards_cost_one_completion_each_and_no_worker() -> None:
    """Goal R15."""
    assert set(QUICK) <= set(NAMES)
    with scorer_of(REWARD, deadline_s=DEADLINE_S, memory_mb=512) as scorer:
        hold(scorer, QUICK)
        settled(scorer)


def test_the_naive_pool_starves_where_this_one_does_not() -> None:
    """Positive control: threads that cannot be killed are all taken by as many hangs, and the good one waits."""
    from concurrent.futures import ThreadPoolExecutor

    naive = ThreadPoolExecutor(2)
    stop: list[bool] = []

    def hang() -> None:
        while not stop:
            time.sleep(0.01)

    for _ in range(2):
        naive.submit(hang)
    good = naive.submit(lambda: 1.0)
    time.sleep(2 * DEADLINE_S)
    assert not good.done()
    stop.append(True)
    naive.shutdown()
    with scorer_of(REWARD, deadline_s=DEADLINE_S) as scorer:
        verdicts = scorer(PROMPT, completions("wait_sleep", "wait_event", "good"))
        assert [bool(verdict.error) for verdict in verdicts] == [True, True, False]


def test_many_hangs_at_once_take_turns_and_the_good_ones_between_them_are_answered() -> None:
    texts = ["good", "wait_sleep", "good", "wait_event", "wait_lock", "good", "good", "wait_pipe"]
    with scorer_of(REWARD, deadline_s=0.3, workers=2) as scorer:
        start = time.monotonic()
        verdicts = scorer(PROMPT, completions(*texts))
        assert time.monotonic() - start < 2 * 0.3 + LATE_S + 0.5
    assert [verdict.error == "" for verdict in verdicts] == [text == "good" for text in texts]


BATCH = """
    import os, time
    def score(completions, answer, **rest):
        for completion in completions:
            if completion == "hang":
                time.sleep(60)
            if completion == "exit":
                os._exit(1)
        return [float(len(completions))] * len(completions)
"""


@pytest.mark.parametrize("bad", ["hang", "exit"])
def test_a_batch_that_fails_is_asked_again_about_each_alone(bad: str, tmp_path: Path) -> None:
    with scorer_of(f"{reward_file(tmp_path, BATCH)}:score", deadline_s=0.2) as scorer:
        assert numbers(scorer(PROMPT, completions("a", "b", "c"))) == [3.0] * 3
        verdicts = scorer(PROMPT, completions("a", bad, "c"))
    assert [verdicts[0].score, verdicts[2].score] == [1.0, 1.0]
    assert "0.2 s" in verdicts[1].error if bad == "hang" else "exit code 1" in verdicts[1].error


def test_a_completion_that_another_spoiled_the_process_for_is_asked_again_in_a_new_one(tmp_path: Path) -> None:
    text = """
        import os
        asked = []
        def score(completion, **rest):
            asked.append(completion)
            if len(asked) == 3 or completion == "bad":
                os._exit(1)
            return 1.0
    """
    with scorer_of(f"{reward_file(tmp_path, text)}:score", workers=1) as scorer:
        assert numbers(scorer(PROMPT, completions("a", "b", "c", "d", "e", "f"))) == [1.0] * 6
        verdicts = scorer(PROMPT, completions("bad", "e"))
        assert "it ended its process (exit code 1) while it scored a completion of prompt 'p1'" in verdicts[0].error
        assert verdicts[1].score == 1.0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_verdicts_are_the_same_for_any_number_of_workers_and_in_order(workers: int, tmp_path: Path) -> None:
    text = """
        import time
        def score(completion, **rest):
            time.sleep(float(completion) / 1000)
            return float(completion)
        def batch(completions, **rest):
            time.sleep(max(map(float, completions)) / 1000)
            return [float(completion) + len(completions) for completion in completions]
    """
    file = reward_file(tmp_path, text)
    rng = random.Random(0)
    groups = [(PROMPT, completions(*(str(rng.randrange(9)) for _ in range(rng.randrange(7))))) for _ in range(40)]
    with scorer_of(f"{file}:score", f"{file}:batch", workers=workers) as scorer:
        streamed = list(scorer.stream(groups))
        assert streamed == [scorer(*group) for group in groups]
    expected = [[float(each.text) for each in group] for _, group in groups]
    assert [[verdict.score for verdict in verdicts] for verdicts in streamed] == expected
    bonus = [[float(each.text) + len(group) for each in group] for _, group in groups]
    assert [[verdict.bonus for verdict in verdicts] for verdicts in streamed] == bonus


def test_a_reward_that_waits_is_scored_by_all_workers_at_once(tmp_path: Path) -> None:
    text = "import time\ndef score(completion, **rest):\n    time.sleep(0.1)\n    return 1.0\n"
    with scorer_of(f"{reward_file(tmp_path, text)}:score", workers=4) as scorer:
        start = time.monotonic()
        assert numbers(scorer(PROMPT, completions(*"abcdefgh"))) == [1.0] * 8
        assert time.monotonic() - start < 0.8


THREADED = """
    import os, threading, time
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    def score(completion, **rest):
        if completion == "exit":
            os._exit(1)
        return 1.0
"""


def test_memory_is_bounded_and_that_is_said() -> None:
    with scorer_of(REWARD, memory_mb=256) as scorer:
        verdicts = scorer(PROMPT, completions("memory_bytes", "good", "memory_append"))
    assert ["raised MemoryError" in verdict.error for verdict in verdicts] == [True, False, True]


def test_the_pool_looks_at_its_workers_no_later_than_one_may_be_late() -> None:
    with scorer_of(REWARD, deadline_s=0.2) as scorer:
        assert scorer.runner.soonest() <= 0.2  # type: ignore[union-attr]
        job, running = scorer.submitted(PROMPT, completions("wait_sleep")), None
        while running is None:
            scorer.runner.step(0.0)  # type: ignore[union-attr]
            running = next(filter(None, (slot.running() for slot in scorer.runner.slots.values())), None)  # type: ignore[union-attr]
        assert scorer.runner.soonest() <= running[2] + 0.2 - time.monotonic() + 0.01  # type: ignore[union-attr]
        assert "took more than 0.2 s" in scorer.verdicts(job)[0].error


def test_rewards_whose_import_starts_threads_are_imported_by_each_worker(tmp_path: Path) -> None:
    with scorer_of(f"{reward_file(tmp_path, THREADED)}:score") as scorer:
        verdicts = scorer(PROMPT, completions("a", "exit", "b"))
    assert [verdict.error == "" for verdict in verdicts] == [True, False, True]


def test_a_time_out_in_the_first_call_of_a_process_speaks_of_imports(tmp_path: Path) -> None:
    text = "import time\ndef score(completion):\n    time.sleep(9 * (completion == 'hang'))\n    return 1.0\n"
    with scorer_of(f"{reward_file(tmp_path, text)}:score", workers=1, deadline_s=0.2) as scorer:
        [first] = scorer(PROMPT, completions("hang"))
        _, later = scorer(PROMPT, completions("a", "hang"))
    assert first.error.endswith("if it imported something then, import it at the top of the reward's file")
    assert later.error.endswith("task.scoring.deadline_s is what it may take")


CHANGED = "its file changed while the run was going, .* as its import started a thread; put the file back, or go on"


def test_an_edit_of_a_file_while_a_run_goes_changes_nothing(tmp_path: Path) -> None:
    file = reward_file(tmp_path, "import os\ndef score(completion):\n    return 1.0 if completion else os._exit(1)\n")
    with scorer_of(f"{file}:score", workers=1) as scorer:
        Path(file).write_text("def score(completion):\n    return 0.0\n")
        for _ in range(4):
            right, ended = scorer(PROMPT, completions("a", ""))
            assert (right.score, "exit code 1" in ended.error) == (1.0, True)


def test_an_edited_file_that_a_new_nursery_imports_is_an_error(tmp_path: Path) -> None:
    file = reward_file(tmp_path, "def score(completion):\n    return 1.0\n")
    with (
        scorer_of(f"{file}:score") as scorer,
        pytest.raises(RewardError, match="as the process that had imported it"),
    ):
        Path(file).write_text("def score(completion):\n    return 0.0\n")
        os.kill(scorer.runner.nest.pid, 9)  # type: ignore[union-attr]
        for _ in range(500):
            scorer(PROMPT, completions("a"))
            time.sleep(0.02)


def test_a_file_that_changes_while_such_workers_start_is_an_error_and_never_mixed(tmp_path: Path) -> None:
    file = reward_file(tmp_path, THREADED)
    with scorer_of(f"{file}:score") as scorer, pytest.raises(RewardError, match=CHANGED):
        Path(file).write_text(Path(file).read_text() + "\n")
        for _ in range(9):
            scorer(PROMPT, completions("exit"))
            time.sleep(0.3)


def test_a_file_that_breaks_while_such_workers_start_is_an_error(tmp_path: Path) -> None:
    file = reward_file(tmp_path, THREADED)
    with scorer_of(f"{file}:score", workers=1) as scorer, pytest.raises(RewardError, match="cannot be started again: "):
        while any(slot.state == "starting" for slot in scorer.runner.slots.values()):  # type: ignore[union-attr]
            scorer(PROMPT, completions("a"))
        Path(file).write_text("1 / 0")
        for _ in range(9):
            scorer(PROMPT, completions("exit"))
            time.sleep(0.3)


def test_a_nursery_that_is_killed_is_replaced_by_another() -> None:
    with scorer_of(REWARD) as scorer:
        os.kill(scorer.runner.nest.pid, 9)  # type: ignore[union-attr]
        while any(verdict.error for verdict in scorer(PROMPT, completions("a", "b"))):
            continue
        assert numbers(scorer(PROMPT, completions("a", "b"))) == [1.0] * 2


def test_a_scorer_that_is_dropped_ends_its_processes() -> None:
    import gc

    from strop.rewards.scorer import Part, Scoring, make_scorer

    scorer = make_scorer([Part(REWARD)], Scoring())
    nest = scorer.runner.nest  # type: ignore[union-attr]
    del scorer
    gc.collect()
    assert nest.ended()


def test_a_worker_that_stops_answering_between_calls_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from strop.rewards import pool

    monkeypatch.setattr(pool, "SILENT_S", 0.3)
    with scorer_of(REWARD, deadline_s=0.3) as scorer:
        first = limits.children(scorer.runner.nest.pid)[0]  # type: ignore[union-attr]
        for pid in limits.descendants(first):
            os.kill(pid, 19)
        assert numbers(scorer(PROMPT, completions("a", "b"))) == [1.0] * 2
