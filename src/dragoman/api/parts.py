"""The parts of a text that are translated one by one, and the batches they are translated in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.api.translation import Translation
from dragoman.errors import DataError
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Node
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.characters import check_unicode, has_letters, is_spaceless
from dragoman.text.glossary import Glossary, Term
from dragoman.text.notation import SPACE_MARK
from dragoman.text.piece_boundaries import spelling
from dragoman.text.sentences import Segment, split_text

__all__ = ["MOST_PHRASE_PIECES", "Part", "Source", "batches", "checked", "part_batches", "phrases", "rows_of"]

MOST_PHRASE_PIECES = 64
"""The most pieces of all terms that the translation of one sentence must hold: each of them widens its beam by two."""

_ROWS_OF_A_PIECE = 2  # as `ConstrainedChooser` has them
_USUAL_BEAM = 5  # a wider one has fewer sentences in a batch
_STOP = "。"  # stands before a term of a script without spaces, where there is no space


@dataclass(slots=True)
class Part:
    """A stretch of a text, the white space after it, and what was found for it.

    `normal` is what the model reads, in pieces `ids`; None of them where there is nothing to translate.
    """

    source: str
    after: str = ""
    normal: str = ""
    ids: list[int] | None = None
    is_cut: bool = False
    sentence: Sentence | None = None
    found: list[Hypothesis] = field(default_factory=list)
    translation: Translation | None = None
    tree: list[Node] | None = None


@dataclass(frozen=True)
class Source:
    """How a source text becomes pieces. At most `longest` of them are translated at once."""

    tokenizer: Tokenizer
    normalize: Normalizer
    language: str
    longest: int

    def parts(self, text: str, *, split: bool) -> list[Part]:
        """Cut a text into what is translated at once; what holds no letters is not translated."""
        segments = split_text(text, self.language) if split else [Segment(check_unicode(text), "")]
        return [part for segment in segments for part in self._parts_of(segment)]

    def whole(self, text: str) -> Part:
        """Read a text as one part, whatever it holds."""
        normal = self.normalize(text)
        return Part(text, "", normal, self.tokenizer.encode(normal))

    def _parts_of(self, segment: Segment) -> list[Part]:
        text, after = segment
        if not has_letters(text):
            return [Part(text, after)]
        normal = self.normalize(text)
        ids = self.tokenizer.encode(normal)
        if len(ids) <= self.longest:
            return [Part(text, after, normal, ids)] if ids else [Part(text, after)]
        return list(self._cut(normal, ids, after))

    def _cut(self, normal: str, ids: list[int], after: str) -> Iterator[Part]:
        """Halve what is too long, at a space near the middle, until no part is."""
        if not ids or not has_letters(normal):
            yield Part(normal, after, is_cut=True)
            return
        if len(ids) <= self.longest or len(normal) < 2:
            yield Part(normal, after, normal, ids, is_cut=True)
            return
        middle = len(normal) // 2
        space = normal.rfind(" ", middle // 2, middle + 1)
        before, gap, behind = normal[:middle], "", normal[middle:]
        if space > 0:
            before, gap, behind = normal[:space], " ", normal[space + 1 :]
        for half, separator in ((before, gap), (behind, after)):
            yield from self._cut(half, self.tokenizer.encode(half), separator)


def batches(lengths: Sequence[int], *, pieces: int, sentences: int) -> Iterator[list[int]]:
    """Group rows of like length, the longest first: so many pieces a batch, padding and ends among them."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        most = max(1, min(sentences, pieces // (lengths[order[-1]] + 1)))
        batch = order[-most:]
        del order[-most:]
        batch.reverse()
        yield batch


def part_batches(
    parts: Sequence[Part], settings: SearchSettings, *, pieces: int, sentences: int
) -> Iterator[list[Part]]:
    """Group parts of like width, then of like length: the wider the fewer, and none is much wider than it must be.

    `pieces` is how many of them a batch has with a beam of 5.
    """
    groups: dict[int, list[Part]] = {}
    for part in parts:
        groups.setdefault(rows_of(part, settings).bit_length(), []).append(part)
    for _, alike in sorted(groups.items(), reverse=True):
        widest = max(rows_of(part, settings) for part in alike)
        fitting = max(1, pieces * _USUAL_BEAM // max(widest, _USUAL_BEAM))
        for rows in batches([len(part.ids or ()) for part in alike], pieces=fitting, sentences=sentences):
            yield [alike[row] for row in rows]


def rows_of(part: Part, settings: SearchSettings) -> int:
    """How many translations of a part are written side by side."""
    if settings.sample:
        return settings.nbest
    if part.sentence is None or not part.sentence.phrases:
        return settings.beam
    return max(settings.beam, _ROWS_OF_A_PIECE * (sum(map(len, part.sentence.phrases)) + 1))


def checked(glossary: Glossary, target: Tokenizer, normalize: Normalizer) -> Glossary:
    """A glossary as it is found in normalised text; a term whose translation cannot be written is a `DataError`."""
    normal = glossary.normalized(normalize)
    for source, wanted in normal.terms.items():
        place = normal.place(source)
        phrase = tuple(_phrase(source if wanted is None else wanted, source, target, place))
        _check_size({phrase: []}, [Term(source, "", 0, 0)], place)
    return normal


def phrases(
    glossary: Glossary, text: str, source: Tokenizer, target: Tokenizer, normalize: Normalizer
) -> dict[tuple[int, ...], list[int]]:
    """What a translation of a text must hold, as pieces, and which pieces of the text it translates.

    Each term is required once, however often it stands in the text.
    """
    terms = glossary.found_in(text)
    found: dict[tuple[int, ...], list[int]] = {}
    pieces = source.pieces(text) if terms else []
    for term in terms:
        places = found.setdefault(tuple(_phrase(normalize(term.target), term.source, target)), [])
        places += spelling(pieces, term.start, term.end)
    _check_size(found, terms)
    return found


def _check_size(found: Mapping[tuple[int, ...], object], terms: Sequence[Term], place: str = "") -> None:
    size = sum(map(len, found))
    if size > MOST_PHRASE_PIECES:
        names = ", ".join(dict.fromkeys(repr(term.source) for term in terms))
        raise DataError(
            f"{place}the translations of all terms in a sentence must have at most {MOST_PHRASE_PIECES} pieces, got "
            f"{size} for {names}; split the sentence, or take terms out of the glossary"
        )


def _phrase(target: str, source: str, tokenizer: Tokenizer, place: str = "") -> list[int]:
    ids = tokenizer.encode(target)
    if tokenizer.unk_id in ids or not ids:
        raise DataError(
            f"{place}a term's translation must be spelt with what the model knows, got {target!r} for {source!r}, of "
            "which a part is unknown to it; spell it otherwise, or take it out of the glossary"
        )
    if not is_spaceless(target[0]):
        return ids
    if tokenizer.id_to_piece(ids[0]) == SPACE_MARK:
        return ids[1:]
    stop, behind_stop = tokenizer.encode(_STOP), tokenizer.encode(_STOP + target)
    return behind_stop[len(stop) :] if behind_stop[: len(stop)] == stop else ids
