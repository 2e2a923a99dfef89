"""An opened translation as plain values, for programs."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dragoman.inspection.inspected import Inspected, coverage, entropy

__all__ = ["inspected_json"]

_DIGITS = 6


def inspected_json(inspected: Inspected) -> dict[str, Any]:
    """All of it, and entropy and coverage by layer and head; a number that JSON does not know is None.

    ``entropy`` is [layers][heads][target words], ``coverage`` [layers][heads][source words], both of ``predicted``
    without the row of the end.
    """
    words = inspected.predicted[:, :, : len(inspected.target_words)]
    maps = {"predicted": inspected.predicted, "given": inspected.given, "steps": inspected.steps}
    maps |= {"entropy": entropy(words), "coverage": coverage(words)[..., : len(inspected.source_words)]}
    fields = {name: value for name, value in asdict(inspected).items() if name not in maps}
    plain = _plain(fields)
    assert isinstance(plain, dict)
    return plain | {name: values.round(_DIGITS).tolist() for name, values in maps.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return round(value, _DIGITS) if math.isfinite(value) else None
    return value
