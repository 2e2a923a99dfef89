"""Translations as lines of text: what the command line prints, and files of translations hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dragoman import __version__
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator

__all__ = ["LineForm", "LineTranslator", "pharaoh"]

_FIELD = " ||| "


@dataclass(frozen=True)
class LineForm:
    """What stands in a line. A translation is one line, and with `nbest` as many as it has alternatives.

    Fields are divided by ``|||``: the text; with `alignments` its links ``0-0 1-2``, source word first; with `flags`
    the names of its quality flags. With `nbest` the number of the input's line, from 0, comes first, and the score
    after the text, as Moses has it. With `json` a line is a JSON object that holds all there is.
    """

    nbest: bool = False
    alignments: bool = False
    flags: bool = False
    json: bool = False

    def line(self, translation: Translation, number: int) -> str:
        """A line, without the line feed at its end; with `nbest` perhaps several."""
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
        if self.alignments:
            yield pharaoh(translation.alignment or ())
        if self.flags:
            yield " ".join(dict.fromkeys(flag.name for flag in translation.flags or ()))


@dataclass(frozen=True)
class LineTranslator:
    """Turns lines of text into lines of translations; called with texts and the number of the first, from 0.

    With `split` a line is a paragraph, whose sentences are translated one by one. `flagged` counts, by the names of
    flags, the lines that got them.
    """

    translator: Translator
    form: LineForm = LineForm()
    split: bool = False
    flagged: Counter[str] = field(default_factory=Counter, compare=False)

    def __call__(self, texts: Sequence[str], first: int) -> list[str]:
        """A line a text, or with n-best lists several."""
        found = self.translator.translate_batch(
            texts, split=self.split, alignments=self.form.alignments, flags=self.form.flags, first=first
        )
        self.flagged.update(name for translation in found for name in {flag.name for flag in translation.flags or ()})
        return [self.form.line(translation, number) for number, translation in enumerate(found, first)]

    def job(self) -> dict[str, Any]:
        """All that its output depends on besides the text, as plain values."""
        translator = self.translator
        return {
            "dragoman": __version__,
            "bundles": [bundle.digest for bundle in translator.bundles],
            "engine": f"{translator.engine.name} {translator.engine.precision}",
            "search": translator.settings.model_dump(),
            "batch_tokens": translator.batch_tokens,
            "glossary": None if translator.glossary is None else translator.glossary.digest,
            "lines": asdict(self.form) | {"split": self.split},
        }


def pharaoh(links: Sequence[tuple[int, int]]) -> str:
    """Links between words, source-target, from 0."""
    return " ".join(f"{source}-{target}" for source, target in links)


def _in_one_line(text: str) -> str:
    """A text cannot break its line, whatever a model wrote or a line without letters held."""
    if "\n" in text or "\r" in text:
        return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    return text
