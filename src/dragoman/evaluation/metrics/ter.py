"""Count the edits of translation edit rate (TER): same counts as sacreBLEU, about ten times faster.

[snover2006]: insertions, deletions, substitutions and shifts of runs of words, which are searched greedily. The
distance after each possible shift takes most of the time. Here every word becomes one character, so that a compiled
library computes the distances, and texts that no shift can bring closer are not searched.

sacreBLEU computes distances in a band around the diagonal, so some are larger than the minimum. If the texts are close
enough, the band contains every shortest path, and both agree; otherwise the exact distance excludes shifts that cannot
win, and sacreBLEU's own distance decides about the rest. Decision record 0017 explains why this is not sacreBLEU's TER.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.lib_ter import BeamEditDistance, trace_to_alignment

# sacreBLEU's limits
_MAX_SHIFT_WORDS, _MAX_SHIFT_DISTANCE, _MAX_SHIFTS = 10, 50, 1000
_BAND = 25

# A path leaves the diagonal by at most half the sum of its edits and the difference in length; a margin of two,
# because the band is open on one side and its middle is rounded.
_MAX_IN_BAND = 2 * (_BAND - 2)

_FLIPPED = str.maketrans("id", "di")


def count_edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Count the edits that turn the words of the hypothesis into those of the reference."""
    if not reference:
        return len(hypothesis)
    codes: dict[str, str] = {}
    words, wanted = (
        "".join([codes.setdefault(word, chr(len(codes))) for word in side]) for side in (hypothesis, reference)
    )
    longer = max(len(words), len(wanted))
    least = longer - (Counter(words) & Counter(wanted)).total()  # a lower bound, for any order
    distance = Levenshtein.distance(words, wanted)
    is_in_band = distance + abs(len(words) - len(wanted)) <= _MAX_IN_BAND
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
    """Searches the shift that reduces the distance most; `banded` if the band may matter."""

    def __init__(self, wanted: str, banded: BeamEditDistance | None) -> None:
        self._wanted = wanted
        self._banded = banded
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(wanted):
            self._places.setdefault(word, []).append(place)
        self._tried = 0

    def distance(self, words: str, most: int) -> int:
        """Return sacreBLEU's distance, or any larger number if it exceeds `most`."""
        found = Levenshtein.distance(words, self._wanted, score_cutoff=most)
        return found if self._banded is None or found > most else self._banded(list(words))[0]

    def best(self, words: str, distance: int) -> tuple[int, str] | None:
        """Return the smallest distance after one shift, and the shifted words; None without improvement or budget.

        Ties: the longest run, then the first run, then the first position.
        """
        best: tuple[tuple[int, int, int, int], str] | None = None
        most = distance - 1
        for start, length, place in self._candidates(words):
            shifted = _shifted(words, start, length, place)
            found = self.distance(shifted, most)
            rank = (found, -length, start, place)
            if found <= most and (best is None or rank < best[0]):
                best, most = (rank, shifted), found
        return None if best is None or self._tried >= _MAX_SHIFTS else (best[0][0], best[1])

    def _candidates(self, words: str) -> Iterator[tuple[int, int, int]]:
        """Yield start, length and new position of runs that the reference has elsewhere, with errors at both."""
        trace = _trace(words, self._wanted) if self._banded is None else self._banded(list(words))[1]
        aligned, target_errors, errors = trace_to_alignment(trace.translate(_FLIPPED))
        until, wanted_until = (list(accumulate(each, initial=0)) for each in (errors, target_errors))
        for start, there, longest in self._runs(words):
            if until[start] == until[start + longest] or wanted_until[there] == wanted_until[there + longest]:
                continue  # no shorter run has an error either
            for length in range(1, longest + 1):
                if until[start] == until[start + length] or wanted_until[there] == wanted_until[there + length]:
                    continue
                if start <= aligned[there] < start + length:
                    break  # this run and longer ones would be shifted into themselves
                for place in _places(aligned, there, length):
                    self._tried += 1
                    yield start, length, place
                if self._tried >= _MAX_SHIFTS:
                    return

    def _runs(self, words: str) -> Iterator[tuple[int, int, int]]:
        """Yield the starts in both texts and the length of each longest common run."""
        wanted = self._wanted
        for start, word in enumerate(words):
            for there in self._places.get(word, ()):
                if abs(there - start) > _MAX_SHIFT_DISTANCE:
                    continue
                most = min(_MAX_SHIFT_WORDS, len(words) - start, len(wanted) - there)
                length = 1
                while length < most and words[start + length] == wanted[there + length]:
                    length += 1
                yield start, there, length


def _places(aligned: dict[int, int], there: int, length: int) -> Iterator[int]:
    """Yield target positions: after the word aligned with the previous word, or with each word of the run."""
    before = -1
    for neighbour in range(there - 1, there + length):
        place = aligned[neighbour] + 1 if neighbour >= 0 else 0
        if place != before:
            yield place
        before = place


def _shifted(words: str, start: int, length: int, place: int) -> str:
    """Move a run before `place`; a position within the run moves it that far beyond its end."""
    end = start + length
    run = words[start:end]
    if place < start:
        return words[:place] + run + words[place:start] + words[end:]
    if place > end:
        return words[:start] + words[end:place] + run + words[place:]
    return words[:start] + words[end : place + length] + run + words[place + length :]


def _trace(words: str, wanted: str) -> str:
    """Return a shortest edit path; from the end, prefer keep or substitute, then delete, then insert."""
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
    """Return the distance table of prefixes as bit vectors, one row per word. [hyyro2003].

    A bit of the first is set if the distance equals that without both words; a bit of the second if it is one more than
    without the word of the row.
    """
    matches: dict[str, int] = {}
    for place, word in enumerate(wanted):
        matches[word] = matches.get(word, 0) | 1 << place
    every = (1 << len(wanted)) - 1
    up, down = every, 0  # bits: the distance is one more, or one less, than to the left
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
