"""When rewards fail too often a run stops, with examples: else it would learn from what happens to be scorable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from strop.errors import RewardError
from strop.types import Group

IN_A_ROW = 3
"""Steps over the limit after which a run stops."""
EXAMPLES = 3


@dataclass(slots=True)
class Guard:
    """Counts unscorable completions. All ranks are shown the same groups, so all of them stop, or none.

    share   the largest share of a step's completions that may be unscorable; one step over it may be chance
    lost    completions of the latest rounds, as far back as not one of a round could be scored
    """

    share: float
    over: int = 0
    seen: int = 0
    failed: int = 0
    lost: tuple[int, ...] = ()
    examples: dict[str, str] = field(default_factory=dict)

    def saw(self, groups: Sequence[Group]) -> str:
        """Count the groups of a round; -> the first failure of the run in words, "" for any later one.

        Raises:
            RewardError: no completion could be scored in this step so far, or in two rounds on end.
        """
        first = not self.examples
        seen, failed = sum(len(group.rollouts) for group in groups), sum(group.unscorable for group in groups)
        self.seen, self.failed = self.seen + seen, self.failed + failed
        self.lost = (*self.lost, seen) if failed == seen else ()
        for group in groups:
            for rollout in group.rollouts:
                if rollout.error and len(self.examples) < EXAMPLES:
                    self.examples.setdefault(rollout.error, group.prompt.label)
        if len(self.lost) > 1 or self.failed == self.seen > 0:
            raise RewardError(
                f"the reward failed on all of the last {sum(self.lost)} completions, such as {self.told()}"
            )
        return self.told() if first and self.examples else ""

    def ended(self) -> None:
        """A step is over.

        Raises:
            RewardError: more than `share` of its completions were unscorable, and of so many steps before it.
        """
        failed = self.failed / max(1, self.seen)
        self.over = self.over + 1 if failed > self.share else 0
        self.seen = self.failed = 0
        self.lost = ()
        if self.over >= IN_A_ROW:
            raise RewardError(
                f"the reward failed on {failed:.0%} of the completions, and on more than {self.share:.0%} in "
                f"{self.over} steps in a row (task.scoring.max_unscorable), such as {self.told()}"
            )
        if not self.over:
            self.examples = dict(list(self.examples.items())[:1])

    def told(self) -> str:
        return "; ".join(f"prompt {label}: {error}" for error, label in self.examples.items())
