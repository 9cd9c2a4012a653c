"""Environments for verifiers, as a package of one would hold them: one that asks once, and some that do not."""

from __future__ import annotations

SUMS = """
from collections.abc import Iterable

import verifiers.v1 as vf


class SumData(vf.TaskData):
    answer: str


class SumConfig(vf.TasksetConfig):
    largest: int = 9
    system: str = "Be short."


class SumTask(vf.Task[SumData]):
    @vf.reward
    async def right(self, trace: vf.Trace) -> float:
        return float(trace.last_reply.endswith(self.data.answer))

    @vf.reward(weight=0.25)
    async def short(self, task, trace) -> float:
        return float(len(trace.last_reply) < 10 and task.answer != "" and "Be short." in trace.transcript)

    @vf.metric
    async def letters(self, trace) -> float:
        if trace.last_reply == "fail":
            raise KeyError("what it wants")
        return len(trace.last_reply)


class SumTaskset(vf.Taskset[SumTask, SumConfig]):
    def load(self) -> Iterable[SumTask]:
        for a in range(self.config.largest):
            for b in range(3):
                data = SumData(prompt=f"{a} + {b}?", system_prompt=self.config.system or None, answer=str(a + b))
                yield SumTask(data, self.config.task)


__all__ = ["SumTaskset"]
"""


def changed(*changes: tuple[str, str]) -> str:
    """The same with something else in a place or two."""
    text = SUMS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


TASK = "class SumTask(vf.Task[SumData]):\n"
SET = "class SumTaskset(vf.Taskset[SumTask, SumConfig]):\n"
ONE = "async def right(self, trace: vf.Trace)"

ENVIRONMENTS = {
    "toy_sums": SUMS,
    "toy_machine": changed((TASK, f"{TASK}    async def setup(self, trace, runtime): ...\n\n")),
    "toy_runtime": changed((ONE, "async def right(self, trace: vf.Trace, runtime)")),
    "toy_container": changed((TASK, f"{TASK}    NEEDS_CONTAINER = True\n\n")),
    "toy_tools": changed((SET, f"{SET}    @classmethod\n    def toolsets(cls, config): return [object()]\n\n")),
    "toy_endless": changed((SET, f"{SET}    INFINITE = True\n\n")),
    "toy_turns": changed((SET, f"class Turns(vf.Env): ...\n\n\n{SET}"), ('["SumTaskset"]', '["SumTaskset", "Turns"]')),
    "toy_silent": changed(('prompt=f"{a} + {b}?"', "prompt=None")),
    "toy_image": changed((", answer=str", ', image="a box", answer=str')),
    "toy_empty": changed(("range(self.config.largest)", "()")),
    "toy_broken": changed(("range(self.config.largest)", "[1, 1 / 0]")),
    "toy_nothing": "__all__ = []",
    "toy_import": "import a_package_that_is_not_there",
}
REASONS = {
    "toy_machine": "SumTask prepares a machine in setup",
    "toy_runtime": "its reward right looks into the machine",
    "toy_container": "it needs a container",
    "toy_tools": "it has tools",
    "toy_endless": "its problems have no end",
    "toy_turns": "its environment Turns plays the turns itself",
    "toy_silent": "problem 0 has no prompt: its user opens the conversation",
    "toy_image": "problem 0 has an image",
}
