"""Engines whose every step is open to us: the search is ours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from dragoman.search import Hypothesis, SearchSettings, Sentence, Trace, Watch, Writing, force, search, together

__all__ = ["EnsembleEngine", "SteppingEngine"]


class SteppingEngine(ABC):
    """Can do everything that the search can."""

    name: str
    precision: str
    lanes = 1
    longest: int | None = None
    """The most words that the model can write, the end among them, where it cannot write any number of them."""

    @abstractmethod
    def start(self, sources: Sequence[Sequence[int]], show: bool) -> Writing:
        """Begin on sources, one row each (piece numbers without specials); `show` asks for weights."""

    @staticmethod
    def lacks(settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        return None

    def search(
        self,
        sentences: Sequence[Sentence],
        settings: SearchSettings,
        *,
        show: bool = False,
        watch: Watch | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        return search(self.start, sentences, settings, longest=self.longest, show=show, watch=watch, trace=trace)

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, show: bool = False
    ) -> list[Hypothesis]:
        return force(self.start, sources, targets, show=show)


class EnsembleEngine(SteppingEngine):
    """Several engines that write together; their models may be of unlike families."""

    def __init__(self, members: Sequence[SteppingEngine]) -> None:
        self.members = tuple(members)
        self.name = " + ".join(dict.fromkeys(member.name for member in members))
        self.precision = " + ".join(dict.fromkeys(member.precision for member in members))
        self.longest = min((member.longest for member in members if member.longest is not None), default=None)
        self.start_all = together([member.start for member in members])

    def start(self, sources: Sequence[Sequence[int]], show: bool) -> Writing:
        return self.start_all(sources, show)
