"""Convert glossary terms to constraints on decoding: token sequences that a translation must contain."""

import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, DataError
from dragoman.markup.protected_spans import find_placeholders
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.characters import is_spaceless
from dragoman.text.glossary import Glossary, GlossaryTerm
from dragoman.text.tokenizers.base import TokenLocator
from dragoman.text.tokenizers.notation import SPACE_MARK

MAX_CONSTRAINT_TOKENS = 64
"""Maximum number of tokens of all required terms of one sentence: each of them widens its beam by two."""

_STOP = "。"  # written before a term of a script without spaces, so that its first token is not a space


def read_glossary(path: Path, *bundles: Bundle) -> Glossary:
    """Read a glossary file for the languages of a model, or of a route, if each model has one direction."""
    directions = [bundle.config.data.all_directions() for bundle in bundles if bundle.config.data is not None]
    is_known = len(directions) == len(bundles) and all(len(each) == 1 for each in directions)
    return Glossary.from_file(path, languages=(directions[0][0][0], directions[-1][0][1]) if is_known else ())


class CheckedGlossaries:
    """Glossaries of normalised terms, each cached as long as the glossary that it was made from. Thread-safe."""

    def __init__(self, target: Tokenizer, normalize: Normalizer) -> None:
        """Create an empty cache for terms whose translations `target` tokenizes."""
        self._target, self._normalize = target, normalize
        self._checked: WeakKeyDictionary[Glossary, Glossary] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def check(self, glossary: Glossary) -> Glossary:
        """Return the glossary with normalised terms; a term that cannot be tokenized is a `DataError`."""
        if not isinstance(glossary, Glossary):
            got = type(glossary).__name__
            raise ConfigError(f"glossary must be a Glossary, got {got}; use Glossary.from_dict or Glossary.from_file")
        with self._lock:
            if glossary not in self._checked:
                self._checked[glossary] = _check_glossary(glossary, self._target, self._normalize)
            return self._checked[glossary]


def _check_glossary(glossary: Glossary, target: Tokenizer, normalize: Normalizer) -> Glossary:
    """Return normalised terms; one whose translation has no tokens is left out if lenient, else a `DataError`."""
    normalized = glossary.normalized(normalize)
    usable: dict[str, str | None] = {}
    for source, translation in normalized.terms.items():
        place = normalized.location(source)
        try:
            phrase = tuple(_encode_term(source if translation is None else translation, source, target, place))
            _check_size({phrase: []}, [GlossaryTerm(source, "", 0, 0)], place)
        except DataError:
            if not glossary.is_lenient:
                raise
        else:
            usable[source] = translation
    return Glossary(usable, is_lenient=True) if len(usable) < len(normalized) else normalized


def find_constraints(
    glossary: Glossary, text: str, source: Tokenizer, target: Tokenizer, normalize: Normalizer
) -> dict[tuple[int, ...], list[int]]:
    """Return the token sequences that a translation must contain, and the source tokens that each translates.

    Each term is required once, even where it occurs several times in the text. A word inside a placeholder or an
    address is not a term. Of a lenient glossary, the terms that fit into the limit are required.
    """
    terms = _outside_placeholders(glossary.find_terms(text), text)
    return required_phrases(terms, text, source, target, normalize, is_lenient=glossary.is_lenient)


def required_phrases(
    terms: Sequence[GlossaryTerm],
    text: str,
    source: Tokenizer,
    target: Tokenizer,
    normalize: Normalizer,
    *,
    is_lenient: bool,
) -> dict[tuple[int, ...], list[int]]:
    """Return the token sequences of terms of a text, and the source tokens that each translates."""
    found: dict[tuple[int, ...], list[int]] = {}
    locator = TokenLocator(source.tokens(text) if terms else [])
    phrases: dict[tuple[str, str], tuple[int, ...] | None] = {}
    for term in terms:
        key = (term.source, term.target)  # a term may occur very often
        if key not in phrases:
            phrases[key] = _phrase(term, target, normalize, is_lenient=is_lenient)
        phrase = phrases[key]
        if phrase is None:
            continue
        if is_lenient and phrase not in found and _size(found) + len(phrase) > MAX_CONSTRAINT_TOKENS:
            continue
        places = found.setdefault(phrase, [])
        places += locator.find(term.start, term.end)
    _check_size(found, terms)
    return found


def _phrase(
    term: GlossaryTerm, target: Tokenizer, normalize: Normalizer, *, is_lenient: bool
) -> tuple[int, ...] | None:
    """Return the tokens of a term; None for one that a lenient glossary copies and the model cannot write."""
    try:
        return tuple(_encode_term(normalize(term.target), term.source, target))
    except DataError:
        if is_lenient:
            return None
        raise


def _outside_placeholders(terms: Sequence[GlossaryTerm], text: str) -> list[GlossaryTerm]:
    """Return the terms that overlap no placeholder. Both are in the order of the text."""
    kept = find_placeholders(text) if terms else ()
    ends = [end for _, end in kept]
    outside = []
    for term in terms:
        place = bisect_right(ends, term.start)  # the first placeholder that ends behind the start of the term
        if place == len(kept) or kept[place][0] >= term.end:
            outside.append(term)
    return outside


def _size(found: Mapping[tuple[int, ...], object]) -> int:
    return sum(map(len, found))


def _check_size(found: Mapping[tuple[int, ...], object], terms: Sequence[GlossaryTerm], place: str = "") -> None:
    size = _size(found)
    if size > MAX_CONSTRAINT_TOKENS:
        names = ", ".join(dict.fromkeys(repr(term.source) for term in terms))
        names = names if len(names) <= 200 else f"{names[:199]}…"
        raise DataError(
            f"{place}the translations of all terms in a sentence must have at most {MAX_CONSTRAINT_TOKENS} tokens, got "
            f"{size} for {names}; split the sentence, or take terms out of the glossary"
        )


def _encode_term(target: str, source: str, tokenizer: Tokenizer, place: str = "") -> list[int]:
    ids = tokenizer.encode(target)
    if tokenizer.unk_id in ids or not ids:
        raise DataError(
            f"{place}a term's translation must be written with tokens of the model, got {target[:80]!r} for "
            f"{source[:80]!r}, which has unknown tokens; change its spelling, or take it out of the glossary"
        )
    if not is_spaceless(target[0]):
        return ids
    if tokenizer.id_to_token(ids[0]) == SPACE_MARK:
        return ids[1:]
    stop, behind_stop = tokenizer.encode(_STOP), tokenizer.encode(_STOP + target)
    return behind_stop[len(stop) :] if behind_stop[: len(stop)] == stop else ids
