"""What it costs to run rewards in processes that can be killed, and whether hostile ones leave them as fast as before.

python -m benchmarks.rewards        prints a table and writes benchmarks/results/HARDWARE-rewards-DATE.json
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import T95, Result, compared, seconds
from strop.rewards.find import find_reward
from strop.rewards.scorer import Part, Scorer, Scoring, make_scorer
from strop.types import Completion, Prompt
from tests.rewards.hostile import HOSTILE

ANSWERS, GROUP, WORKERS = 10_000, 8, 2
GOOD = 20_000
"""Good completions whose rate is taken before and after hostile ones."""
DEADLINE_S, LATE_S = 0.5, 0.5
PAIRS = 5
REWARD = str(Path(__file__).parents[1] / "tests" / "rewards" / "hostile.py") + ":score"
FORMS = (
    r"Half of them are left, so there are \boxed{{\frac{{{0}}}{{7}}}}.",
    "Let us see. First we add, then we divide. The answer is {0}/7.",
    "He buys some more of them.\n#### {0}/7",
    r"<think>\nWe add.\n</think>\n<answer>{0}/7</answer>",
)

Groups = list[tuple[Prompt, list[Completion]]]


def completion(text: str) -> Completion:
    return Completion((0,), (0.0,), text, "stop", 0)


def answers() -> Groups:
    """Groups of answers to word problems, half of them right, in the forms that models write."""
    rng = random.Random(0)
    groups: Groups = []
    for number in range(ANSWERS // GROUP):
        texts = [rng.choice(FORMS).format(number + place % 2) for place in range(GROUP)]
        prompt = Prompt(str(number), "How many are left?", {"answer": f"{number}/7", "level": 3})
        groups.append((prompt, list(map(completion, texts))))
    return groups


def throughput(name: str) -> list[Result]:
    """Issue: 10,000 answers by 2 workers at no less than half the speed of a bare loop: in twice its time at most."""
    groups, function = answers(), find_reward(name).function
    scorer = make_scorer([Part(name)], Scoring(workers=WORKERS))

    def bare() -> list[float]:
        return [function(completion=each.text, **prompt.columns)["score"] for prompt, some in groups for each in some]

    def streamed() -> list[float]:
        return [verdict.score for verdicts in scorer.stream(groups) for verdict in verdicts]

    def called() -> list[float]:
        return [verdict.score for group in groups for verdict in scorer(*group)]

    if not bare() == streamed() == called():
        raise SystemExit(f"the scores of {name} are not those of the bare loop")
    text = f"{ANSWERS:,} answers of {name} by {WORKERS} workers"
    found = [
        compared(f"{text}, streamed / in a bare loop", streamed, bare, target=2.0),
        compared(f"{text}, group by group / in a bare loop", called, bare, target=2.0),
    ]
    scorer.close()
    return found


def hostility() -> list[Result]:
    """Goal R15: every hostile reward back in time, and the good ones after them as fast as those before."""
    names = [*HOSTILE]
    random.Random(0).shuffle(names)
    good: Groups = [(Prompt("p", "2+2="), [completion("good")] * GROUP)] * (GOOD // GROUP)
    scorer = make_scorer([Part(REWARD)], Scoring(workers=WORKERS, deadline_s=DEADLINE_S, memory_mb=512))
    rates, late = [], []
    for turn in range(PAIRS):
        before = rate(scorer, good)
        late += [lateness(scorer, name) for name in names[turn::PAIRS]]
        rates.append(before / rate(scorer, good))
    scorer.close()
    mean = statistics.fmean(rates)
    half = T95[PAIRS] * statistics.stdev(rates) / PAIRS**0.5
    text = f"rate of good rewards after / before {len(names)} hostile ones, {len(names) // PAIRS} at a time"
    worst = max(late)
    name = f"latest of {len(names)} hostile rewards beyond its deadline of {DEADLINE_S} s / {LATE_S} s"
    return [
        Result(text, mean, mean - half, mean + half, PAIRS, "higher", 0.95),
        Result(name, worst / LATE_S, worst / LATE_S, worst / LATE_S, len(late), "lower", 1.0),
    ]


def rate(scorer: Scorer, groups: Groups) -> float:
    """Seconds for the good ones, the best of three."""
    return min(seconds(lambda: list(scorer.stream(groups))) for _ in range(3))


def lateness(scorer: Scorer, name: str) -> float:
    """How long beyond the deadline a group with one hostile completion took; the others must be right."""
    began = time.perf_counter()
    verdicts = scorer(Prompt("p", "2+2="), [completion(text) for text in ("good", name, "good", "good")])
    took = time.perf_counter() - began
    if [verdicts[place].score for place in (0, 2, 3)] != [1.0] * 3:
        raise SystemExit(f"{name} took a good completion along: {verdicts}")
    return took - DEADLINE_S


def report(results: Sequence[Result]) -> None:
    """Print the table, write it, and leave with 0 only if every target is met."""
    for one in results:
        word = "met" if one.met else "MISSED"
        print(f"{one.ratio:10.5f} [{one.low:.5f}, {one.high:.5f}]  target {one.target:g}  {word:6}  {one.name}")
    machine = f"{platform.machine()}-{os.cpu_count()}-cores"
    file = Path(__file__).parent / "results" / f"{machine}-rewards-{time.strftime('%Y-%m-%d')}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps([one.record() for one in results], indent=2) + "\n")
    print(f"written to {file}")
    sys.exit(not all(one.met for one in results))


if __name__ == "__main__":
    report([*throughput("math"), *hostility()])
