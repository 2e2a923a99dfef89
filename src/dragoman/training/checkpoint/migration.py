"""Convert the training state of checkpoints of earlier format versions."""

from __future__ import annotations

from typing import Any

_TRAIN_STATE = {
    "validated": "last_validated",
    "guard": "divergence",
    "kept": "checkpoints",
    "sound": "last_good",
    "returns": "rollbacks",
}
_DIVERGENCE = {"seen": "good_updates", "bad": "consecutive_bad"}
_BEST = {"since": "validations_since"}


def migrate_state(state: dict[str, Any], version: int) -> dict[str, Any]:
    """The `state` of a checkpoint of a format version, with the current names of its fields."""
    if version >= 2 or "standing" not in state:
        return state
    state = _renamed(state, {"standing": "train_state"})
    train_state = _renamed(state["train_state"], _TRAIN_STATE)
    train_state["divergence"] = _renamed(train_state["divergence"], _DIVERGENCE)
    if train_state["best"] is not None:
        train_state["best"] = _renamed(train_state["best"], _BEST)
    return state | {"train_state": train_state}


def _renamed(table: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in table.items()}
