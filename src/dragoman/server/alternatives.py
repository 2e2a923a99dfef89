"""Other translations of a text."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.api.translation import Translation

__all__ = ["alternatives_of"]


def alternatives_of(translation: Translation, kept: Sequence[str] = ()) -> tuple[tuple[str, float], ...]:
    """Texts and scores of a translation's alternatives, the best first, none twice and none as the translation.

    Of a text of several sentences, the second alternative is made of the second one of each sentence, and so on; the
    white space between sentences stays. One that lacks something which has to be `kept` is left out.
    """
    sentences = translation.sentences or (translation,)
    most = max(len(each.nbest) for each in sentences)
    seen = {translation.text, ""}
    found: list[tuple[str, float]] = []
    for rank in range(1, most):
        chosen = [each.nbest[min(rank, len(each.nbest) - 1)] if each.nbest else each for each in sentences]
        text = _respelt(translation.text, sentences, chosen) if translation.sentences else chosen[0].text
        if text not in seen and all(each in text for each in kept):
            seen.add(text)
            pieces = sum(len(each.pieces) for each in chosen)
            found.append((text, sum(each.score * len(each.pieces) for each in chosen) / max(1, pieces)))
    return tuple(found)


def _respelt(text: str, sentences: Sequence[Translation], chosen: Sequence[Translation]) -> str:
    """A text with other sentences in the place of its own."""
    parts: list[str] = []
    place = 0
    for old, new in zip(sentences, chosen, strict=True):
        start = text.find(old.text, place)
        if start >= 0:
            parts += [text[place:start], new.text]
            place = start + len(old.text)
    return "".join([*parts, text[place:]])
