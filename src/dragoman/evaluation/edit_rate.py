"""The edits that translation edit rate counts, as many as sacreBLEU finds, in a small part of its time.

[snover2006]: insertions, deletions, substitutions, and shifts of runs of words, which are searched greedily. What takes
the time is the distance after each shift that might be made. Here every word is a character, so that a compiled library
gives the distances; and words that would be as far apart in any order are not shifted at all.

sacreBLEU looks for distances in a band around the diagonal only, so some are larger than they need to be. Where texts
are near enough to each other, the band holds every shortest way, and both agree; elsewhere the true distance says which
shifts cannot win, and sacreBLEU's own distance decides about the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.lib_ter import BeamEditDistance, trace_to_alignment

__all__ = ["edits"]

# sacreBLEU's limits
_MOST_WORDS_SHIFTED, _FARTHEST_SHIFT, _MOST_SHIFTS_TRIED = 10, 50, 1000
_BAND = 25

# A way strays from the diagonal by half the sum of its edits and the difference in length, at most; two are left
# because the band is open on one side, and because its middle is rounded.
_MOST_IN_BAND = 2 * (_BAND - 2)

_FLIPPED = str.maketrans("id", "di")


def edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """How many edits make the reference out of the hypothesis; both are words."""
    if not reference:
        return len(hypothesis)
    codes: dict[str, str] = {}
    words, wanted = (
        "".join([codes.setdefault(word, chr(len(codes))) for word in side]) for side in (hypothesis, reference)
    )
    longer = max(len(words), len(wanted))
    least = longer - (Counter(words) & Counter(wanted)).total()  # in any order
    distance = Levenshtein.distance(words, wanted)
    is_in_band = distance + abs(len(words) - len(wanted)) <= _MOST_IN_BAND
    if is_in_band and distance == least:
        return distance
    search = _Shifts(wanted, None if is_in_band else BeamEditDistance(list(wanted)))
    distance = search.distance(words, longer)
    shifts = 0
    while distance > least:
        shifted = search.best(words, distance)
        if shifted is None:
            break
        distance, words = shifted
        shifts += 1
    return shifts + distance


class _Shifts:
    """Looks for the shift that brings words nearest to the wanted ones; `banded` where the band may matter."""

    def __init__(self, wanted: str, banded: BeamEditDistance | None) -> None:
        self._wanted = wanted
        self._banded = banded
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(wanted):
            self._places.setdefault(word, []).append(place)
        self._tried = 0

    def distance(self, words: str, most: int) -> int:
        """The distance as sacreBLEU finds it, or just something larger than `most` if it is larger than that."""
        found = Levenshtein.distance(words, self._wanted, score_cutoff=most)
        return found if self._banded is None or found > most else self._banded(list(words))[0]

    def best(self, words: str, distance: int) -> tuple[int, str] | None:
        """The smallest distance after one shift, and the words then; None if none helps, or too many were tried.

        Of equally good ones the longest run is shifted, then the first, to the first place.
        """
        best: tuple[tuple[int, int, int, int], str] | None = None
        most = distance - 1
        for start, length, place in self._candidates(words):
            shifted = _shifted(words, start, length, place)
            found = self.distance(shifted, most)
            rank = (found, -length, start, place)
            if found <= most and (best is None or rank < best[0]):
                best, most = (rank, shifted), found
        return None if best is None or self._tried >= _MOST_SHIFTS_TRIED else (best[0][0], best[1])

    def _candidates(self, words: str) -> Iterator[tuple[int, int, int]]:
        """Runs that also stand elsewhere in the reference, with a fault in both places: start, length, new place."""
        trace = _trace(words, self._wanted) if self._banded is None else self._banded(list(words))[1]
        aligned, wanted_faults, faults = trace_to_alignment(trace.translate(_FLIPPED))
        until, wanted_until = (list(accumulate(each, initial=0)) for each in (faults, wanted_faults))
        for start, there, longest in self._runs(words):
            if until[start] == until[start + longest] or wanted_until[there] == wanted_until[there + longest]:
                continue  # no shorter one has a fault either
            for length in range(1, longest + 1):
                if until[start] == until[start + length] or wanted_until[there] == wanted_until[there + length]:
                    continue
                if start <= aligned[there] < start + length:
                    break  # it would be shifted into itself, and so would longer ones
                for place in _places(aligned, there, length):
                    self._tried += 1
                    yield start, length, place
                if self._tried >= _MOST_SHIFTS_TRIED:
                    return

    def _runs(self, words: str) -> Iterator[tuple[int, int, int]]:
        """Where both texts hold the same words: the start here and there, and the length of the longest such run."""
        wanted = self._wanted
        for start, word in enumerate(words):
            for there in self._places.get(word, ()):
                if abs(there - start) > _FARTHEST_SHIFT:
                    continue
                most = min(_MOST_WORDS_SHIFTED, len(words) - start, len(wanted) - there)
                length = 1
                while length < most and words[start + length] == wanted[there + length]:
                    length += 1
                yield start, there, length


def _places(aligned: dict[int, int], there: int, length: int) -> Iterator[int]:
    """Where a run may be put: after what its neighbour before, or each of its own words, is aligned with."""
    before = -1
    for neighbour in range(there - 1, there + length):
        place = aligned[neighbour] + 1 if neighbour >= 0 else 0
        if place != before:
            yield place
        before = place


def _shifted(words: str, start: int, length: int, place: int) -> str:
    """The words with a run put before `place`; if that is within the run, it goes as far beyond its own end."""
    end = start + length
    run = words[start:end]
    if place < start:
        return words[:place] + run + words[place:start] + words[end:]
    if place > end:
        return words[:start] + words[end:place] + run + words[place:]
    return words[:start] + words[end : place + length] + run + words[place + length :]


def _trace(words: str, wanted: str) -> str:
    """A shortest way from the words to the wanted ones: from the end, keep or substitute first, then delete, insert."""
    as_before, one_more = _rows(words, wanted)
    row, column = len(words), len(wanted)
    trace = []
    while row and column:
        bit = 1 << (column - 1)
        is_kept = words[row - 1] == wanted[column - 1]
        if is_kept or not as_before[row - 1] & bit:
            trace.append(" " if is_kept else "s")
            row, column = row - 1, column - 1
        elif one_more[row - 1] & bit:
            trace.append("d")
            row -= 1
        else:
            trace.append("i")
            column -= 1
    return "d" * row + "i" * column + "".join(reversed(trace))


def _rows(words: str, wanted: str) -> tuple[list[int], list[int]]:
    """The table of distances between beginnings: a row for each word, a bit for each wanted one. [hyyro2003].

    A bit of the first is set where the distance is the same as without both words, one of the second where it is one
    more than without the word of the row.
    """
    matches: dict[str, int] = {}
    for place, word in enumerate(wanted):
        matches[word] = matches.get(word, 0) | 1 << place
    every = (1 << len(wanted)) - 1
    up, down = every, 0  # where a distance is one more, or one less, than the one to its left
    as_before, one_more = [], []
    for word in words:
        match = matches.get(word, 0)
        same = (((match & up) + up) ^ up) | match | down
        more = down | (every & ~(same | up))
        as_before.append(same)
        one_more.append(more)
        less = (same & up) << 1
        more = more << 1 | 1
        up = (less | ~(same | more)) & every
        down = more & same & every
    return as_before, one_more
