"""Rewards as TRL's users write them: a batch of conversational completions, columns as lists, a list of floats back."""

import re


def accuracy_reward(completions, solution, **kwargs):
    """1.0 where the number after the last #### is the row's solution."""
    contents = [completion[0]["content"] for completion in completions]
    found = [re.findall(r"####\s*(-?[\d,.]+)", content) for content in contents]
    return [
        float(bool(numbers) and numbers[-1].rstrip(".").replace(",", "") == right.replace(",", ""))
        for numbers, right in zip(found, solution, strict=True)
    ]


def format_reward(completions, **kwargs):
    """1.0 where there is exactly one line that begins with ####."""
    return [float(len(re.findall(r"^####", completion[0]["content"], re.MULTILINE)) == 1) for completion in completions]
