"""verl's configuration as a row of strop: what its losses and trainers compute from it (verl 0.9.1).

Whole (actor_rollout_ref, algorithm, data, ...), nested or in dotted keys, or the actor's part alone (actor.yaml).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from strop.bridges.keys_verl import ACTOR, DEFAULTS, LOSS, NO_DEFAULT, OVERLONG, SECTIONS
from strop.bridges.translate import Draft, Settings
from strop.bridges.translate_verl_batch import draft_batch
from strop.bridges.translate_verl_loss import draft_loss
from strop.errors import ConfigError
from strop.names import did_you_mean, nearest

MOVED = {
    "reward_model.reward_manager": "reward.reward_manager.name",
    "reward_model.reward_kwargs.": "reward.reward_kwargs.",
    f"{ACTOR}.grad_clip": f"{ACTOR}.optim.clip_grad",
}
"""Old names that verl 0.9.1 still takes over into new ones."""
OLD_OVERLONG = "reward_model.overlong_buffer."


def draft(given: Mapping[str, Any]) -> Draft:
    """The translation of these settings over verl's defaults."""
    flat = dotted(given)
    for key in flat:
        _check(key)
    made = Draft()
    lost = sorted(key for key in flat if key.startswith(OLD_OVERLONG))
    if lost:
        made.trap(
            lost[0], f"nothing in verl 0.9.1 reads it: the length penalty is {OVERLONG}.enable, len and penalty_factor"
        )
    settings = Settings(_moved(flat), {**DEFAULTS, **NO_DEFAULT})
    draft_loss(settings, made, alone=not any(key.startswith("algorithm.") for key in flat))
    draft_batch(settings, made)
    return made


def dotted(given: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted key -> value. Settings of the actor alone get their place; ${...} stands for what is elsewhere."""
    flat = {key: value for key, value in _flat(given, "") if not _stands_for_another(value)}
    if not any(key.split(".")[0] in SECTIONS[""] for key in flat):
        flat = {f"{ACTOR}.{key}": value for key, value in flat.items() if key != "defaults"}
    return {key: value for key, value in flat.items() if key.split(".")[0] not in ("defaults", "hydra")}


def _flat(values: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            found += _flat(cast("Mapping[str, Any]", value), f"{key}.")
        else:
            found.append((key, value))
    return found


def _stands_for_another(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("${")


def _check(key: str) -> None:
    """ConfigError for a name that is not in its section."""
    if key.startswith(f"{LOSS}.rollout_correction."):
        return
    for section, names in SECTIONS.items():
        prefix = f"{section}." if section else ""
        name = key.removeprefix(prefix).split(".")[0]
        if key.startswith(prefix) and name not in names:
            near = did_you_mean([f"{prefix}{one}" for one in nearest(name, names)])
            raise ConfigError(f"verl has no setting {key!r}{near}")


def _moved(flat: Mapping[str, Any]) -> dict[str, Any]:
    moved = dict(flat)
    for key, value in flat.items():
        for old, new in MOVED.items():
            if value is not None and key.startswith(old) and (old.endswith(".") or key == old):
                moved.setdefault(new + key.removeprefix(old), value)
    return moved
