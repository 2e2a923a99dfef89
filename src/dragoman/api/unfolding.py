"""Text that comes into being: news of parts, in any order, become text in the order of the parts."""

from __future__ import annotations

from dragoman.api.reading import Reading
from dragoman.api.target import Target

__all__ = ["Unfolding"]


class Unfolding:
    """What is certain of a translation. All that it returns, joined, is the text of the whole.

    `begin` comes first, then in any order what is certain of parts (`wrote`) and that they are `done`; what comes too
    early waits for the parts before it.
    """

    def __init__(self, reading: Reading, target: Target) -> None:
        self._reading, self._target, self._joiner = reading, target, reading.joiner()
        self._done = {place for place, part in enumerate(reading.parts) if part.sentence is None}
        self._early: dict[int, list[int]] = {}
        self._place = 0
        self._sent = ""

    @property
    def is_over(self) -> bool:
        """Whether all is told."""
        return self._place == len(self._reading.parts)

    def begin(self) -> str:
        """What is certain before anything was searched for."""
        return self._go_on()

    def wrote(self, place: int, pieces: list[int]) -> str:
        """The first pieces of a part's translation are these, for certain."""
        if place == self._place:
            return self._more(self._target.certain(pieces))
        if place > self._place:
            self._early[place] = pieces
        return ""

    def done(self, place: int) -> str:
        """What was found for a part is there."""
        self._done.add(place)
        return self._go_on() if place == self._place else ""

    def _go_on(self) -> str:
        parts, told = self._reading.parts, []
        while self._place in self._done:
            part = parts[self._place]
            told.append(self._more(self._target.text(part) if part.found else part.source))
            self._joiner.end_sentence(part.after)
            self._sent = ""
            self._place += 1
        if self.is_over:
            return "".join([*told, self._joiner.end()])
        pieces = self._early.pop(self._place, None)
        return "".join(told) + ("" if pieces is None else self._more(self._target.certain(pieces)))

    def _more(self, text: str) -> str:
        assert text.startswith(self._sent), "what was certain has changed"
        more, self._sent = text[len(self._sent) :], text
        return self._joiner.add(more)
