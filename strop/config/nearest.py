"""The key that a wrong one was meant for: where a known name does live, and what other trainers call it."""

from __future__ import annotations

from strop.config.schema import KEYS, LEAVES, SECTIONS
from strop.names import did_you_mean, likeness, nearest

FULL_DISTRIBUTION = "training samples the full distribution, or the log-probs would not be the policy's; take it out"
REFUSED = {
    name: FULL_DISTRIBUTION
    for name in ("top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
} | {"min_tokens": FULL_DISTRIBUTION, "min_new_tokens": FULL_DISTRIBUTION}
"""Settings of other samplers that strop has on purpose not, with the reason."""

ELSEWHERE = {
    "batch_size": "rollout.prompts",
    "beta": "objective.regularizers",
    "clip_ratio_high": "objective.trust",
    "clip_ratio_low": "objective.trust",
    "dataset": "task.file",
    "dynamic_sampling": "rollout.filter",
    "epochs": "train.passes",
    "epsilon": "objective.trust",
    "epsilon_high": "objective.trust",
    "eval_steps": "eval.every",
    "gradient_accumulation_steps": "train.tokens_per_micro_batch",
    "group_size": "rollout.completions",
    "kl_coef": "objective.regularizers",
    "loss_agg_mode": "objective.aggregation",
    "loss_type": "objective.aggregation",
    "lr": "train.learning_rate",
    "mask_truncated_completions": "rollout.overlong.mask_truncated",
    "max_completion_length": "rollout.max_tokens",
    "max_new_tokens": "rollout.max_tokens",
    "max_num_gen_batches": "rollout.max_draws",
    "max_prompt_length": "task.max_prompt_tokens",
    "max_response_length": "rollout.max_tokens",
    "max_steps": "train.steps",
    "micro_batch_size": "train.tokens_per_micro_batch",
    "mini_batch_size": "train.updates",
    "model_name_or_path": "model",
    "num_generations": "rollout.completions",
    "num_iterations": "train.passes",
    "ppo_epochs": "train.passes",
    "reward_function": "task.reward",
    "reward_funcs": "task.reward",
    "run_name": "run",
    "save_steps": "save.every",
    "train_batch_size": "rollout.prompts",
}
"""What other trainers call it -> the key that does it here."""


def nearest_keys(path: str) -> list[str]:
    """Keys that `path` may be meant for: its name in another section, another trainer's word, or a near spelling."""
    name = path.rpartition(".")[2]
    homes = [key for key in KEYS if key.rpartition(".")[2] == name]
    if homes:
        return sorted(homes, key=lambda key: -likeness(path, key))[:2]
    if name in ELSEWHERE:
        return [ELSEWHERE[name]]
    if "." in path:
        return nearest(path, KEYS)
    return nearest(path, KEYS) or nearest_names(path)


def nearest_names(name: str) -> list[str]:
    """Keys whose last name is like `name`, for a name given without its section."""
    last = {key.rpartition(".")[2]: key for key in LEAVES}
    return [last[found] for found in nearest(name, last)]


def unknown_key(path: str) -> str:
    """One line that says why `path` is no key, and which is."""
    name = path.rpartition(".")[2]
    if name in REFUSED:
        return f"{path} is not a setting: {REFUSED[name]}"
    owner = next((key for key in LEAVES if path.startswith(f"{key}.")), "")
    if owner.startswith("objective."):
        return f"{path} is inside one value: give {owner} whole, such as {owner} '{{kind: ..., {name}: ...}}'"
    if owner:
        return f"{path} is no key: {owner} is a single value"
    homes = nearest_keys(path)
    known = [key for key in homes if key.rpartition(".")[2] == name]
    if known:
        return f"there is no key {path}; {name} is a key of {_sections(known)}{did_you_mean(homes)}"
    return f"there is no key {path}{did_you_mean(homes) or f'; the sections are {_all_sections()}'}"


def _sections(keys: list[str]) -> str:
    return " and of ".join(key.rpartition(".")[0] or "the top level" for key in keys)


def _all_sections() -> str:
    return ", ".join(key for key in SECTIONS if "." not in key)
