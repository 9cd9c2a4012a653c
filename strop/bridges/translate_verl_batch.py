"""verl's batch sizes, filter, length penalty and optimizer as those of strop."""

from __future__ import annotations

from typing import Any

from strop.bridges.keys_verl import ACTOR, FILTER, OPTIM, OVERLONG, ROLLOUT
from strop.bridges.translate import Draft, Settings, number
from strop.errors import ConfigError

VERL = "https://github.com/verl-project/verl"
RECIPE = "https://github.com/verl-project/verl-recipe/blob/48ea0a797fa29867ea0ad92aff7d284eec7d4be3/dapo"


def draft_batch(settings: Settings, made: Draft) -> None:
    """rollout and train of the strop configuration."""
    _rollout(settings, made)
    _filter(settings, made)
    _overlong(settings, made)
    _updates(settings, made)
    _optimizer(settings, made)


def _rollout(settings: Settings, made: Draft) -> None:
    prompts, group = settings.whole("data.train_batch_size"), settings.whole(f"{ROLLOUT}.n")
    if not prompts or not group:
        raise ConfigError(f"data.train_batch_size and {ROLLOUT}.n must be 1 or more")
    made.say("data", f"prompts a step: {prompts}, completions of each: {group}")
    made.put("rollout.prompts", prompts)
    if group > 1:
        made.put("rollout.completions", group)
    else:
        given = "" if settings.has(f"{ROLLOUT}.n") else " (verl's default)"
        made.trap(
            f"{ROLLOUT}.n",
            f"1{given}: a group of one has nothing to compare; grpo's advantage is then the raw reward",
            f"{VERL}/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl/trainer/ppo/core_algos.py",
        )
        made.lack(f"{ROLLOUT}.n", "strop needs 2 completions or more to compare; the row has its default")
    made.put("rollout.max_tokens", settings.whole("data.max_response_length"))
    made.put("rollout.temperature", settings.number(f"{ROLLOUT}.temperature"))
    for name, harmless in (("top_p", (1,)), ("top_k", (-1, 0)), ("do_sample", (True,))):
        if settings[f"{ROLLOUT}.{name}"] not in harmless:
            made.lack(
                f"{ROLLOUT}.{name}",
                f"{settings[f'{ROLLOUT}.{name}']}: tokens are not drawn from the policy's whole distribution, and its "
                "log-probs are not those of what was drawn; strop refuses it",
                "https://github.com/huggingface/trl/issues/4159",
            )


def _filter(settings: Settings, made: Draft) -> None:
    if not settings.flag(f"{FILTER}.enable"):
        made.say("filter", "none: groups without spread are trained, and counted")
        made.put("rollout.filter", "none")
        return
    metric = settings[f"{FILTER}.metric"]
    made.say("filter", f"groups whose {metric} has std exactly 0 are drawn again")
    made.put("rollout.filter", "mixed")
    made.trap(
        f"{FILTER}.enable",
        "std == 0 keeps a group whose equal floats have a std of 1e-17",
        f"{RECIPE}/dapo_ray_trainer.py#L264",
    )
    if settings.flag(f"{OVERLONG}.enable") and metric == "reward":
        made.trap(
            f"{FILTER}.metric",
            "reward has the length penalty in it: an all-wrong group of several lengths is kept; "
            "DAPO filters on correctness, acc",
            "https://github.com/NVIDIA-NeMo/RL/issues/2431",
        )
    if settings.whole(f"{FILTER}.max_num_gen_batches"):
        text = "is accepted and ignored by the V1 trainer, which draws without end"
        made.trap(f"{FILTER}.max_num_gen_batches", text, f"{VERL}/issues/953")


def _overlong(settings: Settings, made: Draft) -> None:
    made.put("rollout.overlong.buffer", 0)
    if not settings.flag(f"{OVERLONG}.enable"):
        return
    if settings["reward.reward_manager.name"] != "dapo":
        manager = settings["reward.reward_manager.name"]
        made.trap(
            f"{OVERLONG}.enable", f"reward.reward_manager.name is {manager}, and only dapo reads the length penalty"
        )
        return
    buffer, penalty = settings.whole(f"{OVERLONG}.len"), settings.number(f"{OVERLONG}.penalty_factor")
    longest, limit = settings["reward.reward_kwargs.max_resp_len"], settings.whole("data.max_response_length")
    made.say("length penalty", f"0 to {number(penalty)} over the last {buffer} of {longest or limit} tokens")
    if longest is None:
        made.trap(
            "reward.reward_kwargs.max_resp_len", "is not set, and verl stops without it where there is a length penalty"
        )
    made.put("rollout.overlong.buffer", buffer)
    made.put("rollout.overlong.penalty", penalty)
    if longest is not None and longest != limit:
        made.lack(
            "reward.reward_kwargs.max_resp_len", f"{longest} is not data.max_response_length {limit}; strop has one"
        )
        made.trap(
            f"{OVERLONG}.len",
            "beyond max_resp_len the penalty goes on falling; DAPO's Eq. 13 stops at -1",
            f"{VERL}/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl/experimental/reward_loop/reward_manager/dapo.py",
        )


def _updates(settings: Settings, made: Draft) -> None:
    prompts, mini = settings.whole("data.train_batch_size"), settings.whole(f"{ACTOR}.ppo_mini_batch_size")
    passes = settings.whole(f"{ACTOR}.ppo_epochs")
    if not mini or mini > prompts:
        raise ConfigError(f"{ACTOR}.ppo_mini_batch_size {mini}: verl needs 1 to data.train_batch_size {prompts}")
    updates = prompts // mini
    made.say("steps", f"optimizer steps for each batch: {updates}, passes over it: {passes}")
    made.put("train.updates", updates)
    made.put("train.passes", passes)
    if prompts % mini:
        made.lack(f"{ACTOR}.ppo_mini_batch_size", f"{mini} does not divide data.train_batch_size {prompts}")
    elif updates > 1:
        text = (
            "rows are dealt to ranks by length before mini-batches are cut: groups are split; strop deals whole groups"
        )
        made.lack(f"{ACTOR}.ppo_mini_batch_size", text)


def _optimizer(settings: Settings, made: Draft) -> None:
    made.put("train.learning_rate", settings.number(f"{OPTIM}.lr"))
    made.put("train.adam.weight_decay", settings.number(f"{OPTIM}.weight_decay"))
    betas: Any = settings[f"{OPTIM}.betas"]
    if not isinstance(betas, list) or len(betas) != 2:
        raise ConfigError(f"{OPTIM}.betas is {betas!r}; it must be two numbers")
    for key, value in zip(("adam.beta1", "adam.beta2"), betas, strict=True):
        made.put(f"train.{key}", float(value))
    made.put("train.max_grad_norm", settings.number(f"{OPTIM}.clip_grad"))
    warmup, share = settings.number(f"{OPTIM}.lr_warmup_steps"), settings.number(f"{OPTIM}.lr_warmup_steps_ratio")
    made.put("train.warmup_steps", max(0, int(warmup)))
    if warmup <= 0 and share:
        made.lack(
            f"{OPTIM}.lr_warmup_steps_ratio", f"{number(share)} of all steps; strop's warm-up is a number of steps"
        )
    if settings[f"{OPTIM}.lr_scheduler_type"] != "constant":
        made.lack(f"{OPTIM}.lr_scheduler_type", "the learning rate falls afterwards; strop's stays")
