"""A reward as verl's users write it: one decoded completion at a time, under the name that verl looks for."""

import re


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 where the number after the last #### is the ground truth; a wrong number is logged apart from none at all."""
    numbers = re.findall(r"####\s*(-?[\d,.]+)", solution_str)
    found = numbers[-1].rstrip(".").replace(",", "") if numbers else ""
    right = found == ground_truth.replace(",", "")
    return {"score": float(right), "acc": right, "answered": bool(numbers)}
