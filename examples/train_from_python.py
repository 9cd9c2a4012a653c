"""The same run from Python: a mapping with the keys of a config file, a reward of one's own, and a look at each step.

python examples/train_from_python.py
"""

import strop


def short_and_right(prompt: str, completion: str, *, answer: str, **columns: object) -> float:
    return float(completion.endswith(f"#{answer}") and len(completion) <= 40)


run = strop.train(
    {"algorithm": "dapo_prompt", "rollout": {"prompts": 16}, "train": {"steps": 10}},
    reward=short_and_right,
    on_step=lambda record: print(record["step"], record["accuracy/all"]),
)
print(run.folder, run.summary["verdict"])
