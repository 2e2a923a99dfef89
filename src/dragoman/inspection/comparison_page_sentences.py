"""Single sentences of a comparison: where translations differ most, and what each model looked at."""

from __future__ import annotations

from dragoman.data.check.figures import counted
from dragoman.data.check.markup import plain, shown
from dragoman.inspection.comparison import AlignedMap, AlignedSentence, Comparison, DifferingSentence, Translated
from dragoman.inspection.comparison_findings import metric_name
from dragoman.inspection.direction import as_read, direction
from dragoman.inspection.heat_map import heat_map
from dragoman.inspection.weights import checked_weights
from dragoman.inspection.word_differences import marked_words

__all__ = ["differing_sentences", "side_by_side_maps"]

_LONGEST = 1500  # characters of a sentence
_MARKED = (
    "<mark class='right'>underlined</mark> where the reference has them, <mark class='wrong'>waved</mark> where it has "
    "not"
)
_TWO = f"Marked are words that the other translation has not: {_MARKED}."
_SEVERAL = (
    "Marked are words that differ from the baseline's, and in the baseline's those that not all others have: "
    f"{_MARKED}."
)
_NOTHING = '<span class="soft">nothing</span>'


def differing_sentences(comparison: Comparison) -> str:
    """The sentences whose scores lie farthest apart, words that differ marked."""
    if not comparison.differing:
        return ""
    metric = shown(metric_name(comparison.sentence_metric), 40)
    words = (
        f"{counted(len(comparison.differing), 'sentence')} of the test set, those first whose {metric} lies farthest "
        f"apart. {_TWO if len(comparison.systems) == 2 else _SEVERAL}"
    )
    samples = "\n".join(_differing(sentence, comparison.baseline) for sentence in comparison.differing)
    return f'<p class="soft">{words}</p>\n{samples}'


def _differing(sentence: DifferingSentence, baseline: str | None) -> str:
    entries = "".join(_said(each, sentence, baseline) for each in sentence.translations)
    return (
        f'<article class="card" aria-label="sentence {sentence.number}"><h3>sentence {sentence.number:,}</h3>\n'
        f'<dl class="said">{_given("source", sentence.source)}{_given("reference", sentence.reference)}\n'
        f"{entries}</dl></article>"
    )


def _given(side: str, text: str) -> str:
    return (
        f'<dt>{side}</dt><dd class="number"></dd>'
        f'<dd class="text {side}" dir="{direction(text)}">{shown(text, _LONGEST)}</dd>'
    )


def _said(each: Translated, sentence: DifferingSentence, baseline: str | None) -> str:
    """A translation. The baseline's is held against all others, any other against the baseline's alone."""
    rest = [other for other in sentence.translations if other is not each]
    theirs = [other for other in rest if other.system == baseline] or rest
    words = marked_words(each.text[:_LONGEST], [other.text[:_LONGEST] for other in theirs], sentence.reference)
    drawn = "".join(
        f'<mark class="{word.mark}">{shown(word.text, _LONGEST)}</mark>' if word.mark else shown(word.text, _LONGEST)
        for word in words
    )
    return (
        f'<dt><bdi>{shown(each.system)}</bdi></dt><dd class="number">{each.score:.0f}</dd>'
        f'<dd class="text" dir="{direction(each.text)}">{drawn or _NOTHING}</dd>'
    )


def side_by_side_maps(comparison: Comparison) -> str:
    """Attention maps of the same source, each with the translation of its own model."""
    if not comparison.aligned:
        return ""
    words = (
        "Each model's own translation, and where it looked while it wrote it: a row for each of its words, a column "
        "for each word of the source; the stronger the colour, the more it looked there."
    )
    drawn = "\n".join(_aligned(sentence) for sentence in comparison.aligned)
    return f'<p class="soft">{words}</p>\n{drawn}'


def _aligned(sentence: AlignedSentence) -> str:
    maps = "\n".join(_map(each, sentence.source) for each in sentence.maps)
    return (
        f'<article class="card" aria-label="maps of sentence {sentence.number}"><h3>sentence {sentence.number:,}</h3>\n'
        f'<p class="text source" dir="{direction(sentence.source)}">{shown(sentence.source, _LONGEST)}</p>\n'
        f'<p class="text reference" dir="{direction(sentence.reference)}">{shown(sentence.reference, _LONGEST)}</p>\n'
        f'<div class="maps">{maps}</div></article>'
    )


def _map(each: AlignedMap, source: str) -> str:
    name, text = f"<bdi>{shown(each.system)}</bdi>", each.translation
    said = f'<p class="text" dir="{direction(text)}">{shown(text, _LONGEST)}</p>'
    if each.weights is None:
        return f'<figure><figcaption>{name}</figcaption>{said}<p class="soft">{shown(each.note)}</p></figure>'
    weights = checked_weights(each.weights, each.source_words, each.target_words)
    columns, weights = as_read(source, each.source_words, weights)
    title = f"{each.system}: attention map of {text}, from {source}"
    picture = heat_map(columns, each.target_words, weights, title=title)
    label = plain(f"map of {each.system}")
    which = f" <span>{shown(each.which)}</span>" if each.which else ""
    return (
        f"<figure><figcaption>{name}{which}</figcaption>{said}"
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}">{picture}</div></figure>'
    )
