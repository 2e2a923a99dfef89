"""Perturb test sentences (typos, case, punctuation, length) and score their translations.

Random choices depend only on a hash of the sentence, so a sentence is perturbed in the same way in every test set and
on every machine.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.results import Perturbation, Score, is_lower_better
from dragoman.text.characters import SPACELESS, is_spaceless
from dragoman.text.perturbation import draw_numbers, join_texts, mistyped, upper_case, without_stop

JOINED = 5
"""Sentences joined to one long input."""
SINGLE_WORDS = "single words"
"""The perturbation without references: it has shares instead of scores."""

SHARES_NOTE = (
    "Single words have no reference. Flagged: any quality flag. Runaway: more than five words, or cut at the limit. "
    "Repeated: the flag repetition."
)
"""Explains the shares of single words below a table."""

_MAX_WORDS, _MAX_CHARACTERS = 5, 10  # of the translation of one word; characters in scripts without spaces
_WORD = re.compile(rf"[{SPACELESS}]|[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class PerturbedTexts:
    """Perturbed texts, and for each the indices of its original sentences; unchanged sentences are omitted."""

    texts: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PerturbedOutput:
    """The translation of a perturbed text, and the names of its quality flags."""

    text: str
    flags: frozenset[str] = frozenset()
    is_truncated: bool = False


def _single_words(sources: Sequence[str]) -> PerturbedTexts:
    """Return every word once, at its first occurrence; at most as many words as sentences."""
    places: dict[str, int] = {}
    for place, source in enumerate(sources):
        for word in _WORD.findall(source):
            places.setdefault(word, place)
            if len(places) == len(sources):
                return PerturbedTexts(tuple(places), tuple((found,) for found in places.values()))
    return PerturbedTexts(tuple(places), tuple((found,) for found in places.values()))


def _very_long(sources: Sequence[str]) -> PerturbedTexts:
    groups = [tuple(range(first, first + JOINED)) for first in range(0, len(sources) - JOINED + 1, JOINED)]
    return PerturbedTexts(tuple(_joined(sources, group) for group in groups), tuple(groups))


_SCORED_AS: dict[str, Callable[[str], str]] = {"upper case": str.lower, "no full stop": without_stop}
"""What is applied to translations and references before scoring: capitals may be answered in capitals."""

PERTURBATIONS: dict[str, Callable[[Sequence[str]], PerturbedTexts]] = {
    "typos": lambda sources: _each(sources, lambda text: mistyped(text, draw_numbers(text))),
    "lower case": lambda sources: _each(sources, str.lower),
    "upper case": lambda sources: _each(sources, upper_case),
    # Trailing space alone is not a change.
    "no full stop": lambda sources: _each([source.rstrip() for source in sources], without_stop),
    SINGLE_WORDS: _single_words,
    "very long": _very_long,
}
"""Perturbations by name.

typos: one word in five, at least one, has two letters swapped, one dropped or one doubled. single words: each word of
the sentences separately. very long: five consecutive sentences joined.
"""


def sample_positions(count: int, maximum: int) -> list[int]:
    """Return at most `maximum` evenly spaced positions below `count`."""
    if count <= maximum:
        return list(range(count))
    return [place * count // maximum for place in range(maximum)]


def score_perturbation(
    name: str,
    texts: PerturbedTexts,
    outputs: Sequence[PerturbedOutput],
    clean: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[str],
    language: str = "",
) -> Perturbation:
    """Score translations of perturbed texts, and the drop from `clean`, the translations of the original sentences."""
    sentences, changed = len(references), len(texts.texts)
    if name == SINGLE_WORDS or not changed:
        return Perturbation(name, sentences, changed, (), {}, _shares(outputs) if changed else {})
    adapt = _SCORED_AS.get(name, str)
    expected = [adapt(_joined(references, places)) for places in texts.places]
    before = [adapt(_joined(clean, places)) for places in texts.places]
    hypotheses = [adapt(output.text) for output in outputs]
    scores, old = (corpus_scores(each, expected, metrics=metrics, language=language) for each in (hypotheses, before))
    drops = {now.metric: _drop(now, then) for now, then in zip(scores, old, strict=True)}
    return Perturbation(name, sentences, changed, scores, drops)


def is_runaway(text: str) -> bool:
    """Whether the translation of one word is too long: more than five words, or ten characters without spaces."""
    spaceless = sum(map(is_spaceless, text))
    return len(text.split()) > _MAX_WORDS or spaceless > _MAX_CHARACTERS


def _shares(outputs: Sequence[PerturbedOutput]) -> dict[str, float]:
    counts = {
        "flagged": sum(bool(output.flags) for output in outputs),
        "runaway": sum(output.is_truncated or is_runaway(output.text) for output in outputs),
        "repeated": sum("repetition" in output.flags for output in outputs),
    }
    return {name: count / len(outputs) for name, count in counts.items()}


def _drop(now: Score, then: Score) -> float:
    drop = then.value - now.value
    return -drop if is_lower_better(now.metric) else drop


def _each(sources: Sequence[str], perturb: Callable[[str], str]) -> PerturbedTexts:
    texts = [(perturb(source), place) for place, source in enumerate(sources)]
    changed = [(text, (place,)) for text, place in texts if text != sources[place] and text.strip()]
    return PerturbedTexts(tuple(text for text, _ in changed), tuple(places for _, places in changed))


def _joined(texts: Sequence[str], places: Sequence[int]) -> str:
    return join_texts([texts[place] for place in places])
