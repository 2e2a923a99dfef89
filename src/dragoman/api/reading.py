"""A text on its way: its parts, which anybody may have searched for in any batches, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.api.parts import Part, Source, phrases
from dragoman.api.request import Request
from dragoman.api.target import Target
from dragoman.api.translation import Translation, joined
from dragoman.errors import DataError
from dragoman.search.hypothesis import Sentence
from dragoman.text.sentences import Joiner

__all__ = ["Reader", "Reading"]


@dataclass(frozen=True)
class Reading:
    """A text that was read by `Translator.read`. What was found for a part is kept by the part itself."""

    text: str
    parts: list[Part]
    request: Request
    languages: tuple[str, str]

    @property
    def waiting(self) -> list[Part]:
        """The parts that are to be searched for; what has no letters passes through."""
        return [part for part in self.parts if part.sentence is not None]

    @property
    def pieces(self) -> int:
        """How many source pieces are to be translated, ends among them."""
        return sum(len(part.ids or ()) + 1 for part in self.waiting)

    def joiner(self) -> Joiner:
        """What puts its sentences together."""
        return Joiner(*self.languages)

    def joined(self, sentences: Sequence[Translation]) -> Translation:
        """The translation of the text, made of those of its parts."""
        parts = self.parts
        if len(parts) == 1 and not parts[0].after:
            return sentences[0]
        joiner = self.joiner()
        pieces = []
        for part, sentence in zip(parts, sentences, strict=True):
            pieces.append(joiner.add(sentence.text))
            joiner.end_sentence(part.after)
        whole = "".join([*pieces, joiner.end()])
        translated = [each for each, part in zip(sentences, parts, strict=True) if part.source]
        if not translated:
            return Translation(self.text, self.text)
        if len(translated) == 1:
            return replace(translated[0], source=self.text, text=whole)
        return joined(self.text, whole, translated, is_cut=any(part.is_cut for part in parts))


@dataclass(frozen=True)
class Reader:
    """Makes texts ready to be searched for."""

    source: Source
    target: Target
    languages: tuple[str, str]

    def read(self, texts: Sequence[str], request: Request) -> list[Reading]:
        """Cut texts into parts, and say how the translation of each must look."""
        prefixes = request.prefixes
        if prefixes is not None and len(prefixes) != len(texts):
            raise DataError(
                f"there must be a prefix for each text, got {len(prefixes)} for {len(texts)}; an empty one asks for "
                "nothing"
            )
        longest = min(self.source.longest, request.longest or self.source.longest)
        source = replace(self.source, longest=longest)
        read = [source.parts(text, split=bool(request.split)) for text in texts]
        for number, parts in enumerate(read, request.first):
            prefix = prefixes[number - request.first] if prefixes else ""
            for place, part in enumerate(parts):
                if part.ids is not None:
                    part.sentence = self._sentence(part, prefix, number + (place << 40), request)
                    prefix = ""
        return [Reading(text, parts, request, self.languages) for text, parts in zip(texts, read, strict=True)]

    def _sentence(self, part: Part, prefix: str, number: int, request: Request) -> Sentence:
        assert part.ids is not None
        forced = self.target.read(prefix).ids if prefix else []
        if request.glossary is None:
            return Sentence(part.ids, forced, number=number)
        tokenizers = self.source.tokenizer, self.target.tokenizer
        terms = phrases(request.glossary, part.normal, *tokenizers, self.source.normalize)
        may_follow = self.target.may_follow_words if terms else None
        return Sentence(part.ids, forced, list(terms), list(terms.values()), may_follow, number)
