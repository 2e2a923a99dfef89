"""Data class of the conclusion of a report: a level (such as ok or warning), a sentence and details."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Verdict:
    """A conclusion in one sentence, and the numbers behind it."""

    level: Literal["ok", "warning", "error"]
    text: str
    detail: str = ""
