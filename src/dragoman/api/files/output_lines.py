"""Format translations of lines as plain text, as n-best lists or as JSON Lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.evaluation.quality_flags import LEFT_FLAGS
from dragoman.text.other_language import NOTE_SAMPLE
from dragoman.text.sentences import split_sentences
from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.api.translation.multi_model.translators import PivotTranslator

MAX_LINE_SENTENCES = 3
"""Maximum number of sentences that models translate well as one; a guess, as it depends on the training text."""

_FIELD = " ||| "
_ENDS = re.compile(r"[^\w\s,]\s|[。！？]")  # most ends of sentences, in any script


@dataclass(frozen=True)
class LineFormat:
    """Fields of an output line. A translation is one line, or with `nbest` one per alternative.

    Fields are separated by ``|||``: the text; with `alignment` its links ``0-0 1-2``, source word first; with `flags`
    the names of its quality flags. With `nbest` the index of the input line comes first, and the score after the text,
    as in Moses. With `json` a line is a JSON object with all results.
    """

    nbest: bool = False
    alignment: bool = False
    flags: bool = False
    json: bool = False

    def line(self, translation: Translation, number: int) -> str:
        """Return the line of a translation, without the final line feed; with `nbest` several lines."""
        if self.json:
            return json.dumps(translation.to_json(), ensure_ascii=False)
        if not self.nbest:
            return _FIELD.join(self._fields(translation))
        alternatives = translation.nbest or (translation,)
        return "\n".join(_FIELD.join((str(number), *self._fields(each))) for each in alternatives)

    def _fields(self, translation: Translation) -> Iterator[str]:
        yield _in_one_line(translation.text)
        if self.nbest:
            yield f"{translation.score:.6f}"
        if self.alignment:
            yield format_links(translation.alignment or ())
        if self.flags:
            yield " ".join(dict.fromkeys(flag.name for flag in translation.flags or ()))


@dataclass(frozen=True)
class LineTranslator:
    """Translates lines to output lines; called with texts and the index of the first.

    With `split_sentences` a line is a paragraph, translated sentence by sentence. `flagged` counts the lines per flag.
    Flags in `counted_flags` are counted although the output does not have them.
    """

    translator: Translator | PivotTranslator
    form: LineFormat = LineFormat()
    split_sentences: bool = False
    counted_flags: frozenset[str] = frozenset()
    flagged: Counter[str] = field(default_factory=Counter, compare=False)
    first_flags: dict[str, tuple[int, str]] = field(default_factory=dict, compare=False)
    """The first line of each flag, from 0, and its detail."""
    sample: list[str] = field(default_factory=list, compare=False)
    """The first texts."""
    paragraphs: Counter[str] = field(default_factory=Counter, compare=False)
    """Number of ``lines`` with more than `MAX_LINE_SENTENCES` sentences that were not split."""

    def __call__(self, texts: Sequence[str], first: int) -> list[str]:
        """Return one output line per text, or with n-best lists several."""
        self.sample.extend(texts[: max(0, NOTE_SAMPLE - len(self.sample))])
        found = self.translator.translate(
            texts,
            split_sentences=self.split_sentences,
            alignment=self.form.alignment,
            flags=self._needs_flags,
            first=first,
        )
        self.flagged.update(name for translation in found for name in {flag.name for flag in translation.flags or ()})
        for number, translation in enumerate(found, first):
            for flag in translation.flags or ():
                self.first_flags.setdefault(flag.name, (number, flag.detail))
        if not self.split_sentences:
            language = self.translator.languages[0]
            self.paragraphs["lines"] += sum(_has_many_sentences(text, language) for text in texts)
        return [self.form.line(translation, number) for number, translation in enumerate(found, first)]

    @property
    def _needs_flags(self) -> bool:
        return self.form.flags or bool(self.counted_flags - LEFT_FLAGS)

    def job(self) -> dict[str, Any]:
        """Describe, as plain values, all that the output depends on except the text."""
        translator, parts, form = self.translator, _parts(self.translator), self.form
        return {
            "dragoman": __version__,
            **_model(translator),
            "batch_tokens": parts[-1].batch_tokens,
            "glossary": None if (terms := parts[0].glossary) is None else terms.digest,
            "lines": {  # by the names of the command-line options
                "nbest": form.nbest,
                "alignments": form.alignment,
                "flags": form.flags or (form.json and self._needs_flags),
                "json": form.json,
                "split": self.split_sentences,
            },
            **({} if translator.memory is None else {"memory": translator.memory.state}),
        }


def _model(translator: Translator | PivotTranslator) -> dict[str, Any]:
    parts = _parts(translator)
    return {
        "bundles": [bundle.digest for each in parts for bundle in each.bundles],
        "languages": list(translator.languages),
        "engine": ", ".join(f"{each.engine.name} {each.engine.precision}" for each in parts),
        "search": parts[-1].search_settings.model_dump(),
    }


def _parts(translator: Translator | PivotTranslator) -> tuple[Translator, ...]:
    """Return the translators that a text passes through."""
    return (translator,) if isinstance(translator, Translator) else (translator.first, translator.second)


def format_links(links: Sequence[tuple[int, int]]) -> str:
    """Format links between words as ``source-target``, counted from 0."""
    return " ".join(f"{source}-{target}" for source, target in links)


def _has_many_sentences(text: str, language: str) -> bool:
    if len(_ENDS.findall(text)) < MAX_LINE_SENTENCES:  # saves time
        return False
    return sum(bool(each.text) for each in split_sentences(text, language)) > MAX_LINE_SENTENCES


def _in_one_line(text: str) -> str:
    """Replace line breaks by spaces."""
    if "\n" in text or "\r" in text:
        return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    return text
