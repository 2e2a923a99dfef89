"""Judge whether the two sides of a corpus are in the declared languages, and say it in the words of all commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.language_codes import primary_language
from dragoman.reporting.number_format import format_percent
from dragoman.text.language_scripts import language_scripts
from dragoman.text.other_language import is_detectable

_MOSTLY = 0.5
_UNDETECTABLE_MOSTLY = 0.8  # of text that looks like one language, if the declared one cannot be detected


@dataclass(frozen=True)
class SideLanguage:
    """The declared language of a side, and the evidence: the share of each language that its texts look like."""

    declared: str
    shares: Mapping[str, float]

    @property
    def other(self) -> str:
        """The most frequent language if most texts are not in the declared one, else nothing."""
        most, own = main_language(self.shares, 0.0), primary_language(self.declared)
        if is_detectable(self.declared):
            return most if self.foreign > _MOSTLY else ""
        return most if most != own and self.shares.get(most, 0.0) >= _UNDETECTABLE_MOSTLY else ""

    @property
    def share(self) -> float:
        return self.shares.get(self.other, 0.0)

    @property
    def foreign(self) -> float:
        """The share of all texts that are not in the declared language; 0 if nothing is known."""
        return 1.0 - self.shares.get(primary_language(self.declared), 0.0) if self.shares else 0.0

    @property
    def is_wrong(self) -> bool:
        """Whether there is another language, and the declared one can be detected or has none of its scripts."""
        scripts, others = set(language_scripts(self.declared)), set(language_scripts(self.other))
        is_other_script = bool(scripts and others) and scripts.isdisjoint(others)
        return bool(self.other) and (is_detectable(self.declared) or is_other_script)

    def problem(self, side: str, name: str) -> str:
        """Return the begin of an error or a warning about the other language; the fix follows."""
        unknown = "" if is_detectable(self.declared) else f" ({self.declared} itself cannot be detected)"
        return f"the {side} of {name} must be {self.declared}, got {format_percent(self.share)} {self.other}{unknown}"


def main_language(shares: Mapping[str, float], minimum: float = _MOSTLY) -> str:
    """Return the most frequent language if its share is above the minimum, else nothing."""
    most = max(shares, key=lambda language: shares[language], default="")
    return most if shares.get(most, 0.0) > minimum else ""


def are_swapped(found: Sequence[str], declared: Sequence[str]) -> bool:
    """Whether the main language of each side is the declared one of the other side."""
    languages, wanted = ([*map(primary_language, codes)] for codes in (found, declared))
    return languages == wanted[::-1] != wanted


def swapped_problem(name: str, declared: Sequence[str], fix: str) -> str:
    """Return the error of a corpus with swapped sides."""
    source, target = declared
    return f"the sides of {name} are swapped: its source must be {source} and its target {target}; {fix}"
