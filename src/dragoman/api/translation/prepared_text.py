"""A text split into tokenized sentences that are ready for search."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation, join_sentences
from dragoman.search.hypothesis import Hypothesis, SearchInput, TraceNode
from dragoman.text.sentences import SentenceJoiner


@dataclass(slots=True)
class Chunk:
    """A sentence, or a part of a long one: the white space after it, the input of its search, and the results.

    The model reads `normalized`, as tokens `ids`; `ids` and `search_input` are None where nothing is translated.
    """

    source: str
    after: str = ""
    normalized: str = ""
    ids: list[int] | None = None
    is_cut: bool = False
    search_input: SearchInput | None = None
    hypotheses: list[Hypothesis] = field(default_factory=list)
    translation: Translation | None = None
    tree: list[TraceNode] | None = None


@dataclass(frozen=True)
class PreparedText:
    """A text as `Translator.prepare` returns it. Each chunk stores its own results."""

    text: str
    chunks: list[Chunk]
    options: TranslateOptions
    languages: tuple[str, str]

    @property
    def pending(self) -> list[Chunk]:
        """The chunks that need a search; a chunk without letters needs none."""
        return [chunk for chunk in self.chunks if chunk.search_input is not None]

    @property
    def tokens(self) -> int:
        """Number of source tokens to translate, end tokens included."""
        return sum(len(chunk.ids or ()) + 1 for chunk in self.pending)

    def joiner(self) -> SentenceJoiner:
        return SentenceJoiner(*self.languages)

    def join(self, sentences: Sequence[Translation]) -> Translation:
        """Return the translation of the text, given the translations of its chunks."""
        chunks = self.chunks
        if len(chunks) == 1 and not chunks[0].after:
            return sentences[0]
        joiner = self.joiner()
        texts = []
        for chunk, sentence in zip(chunks, sentences, strict=True):
            texts.append(joiner.add(sentence.text))
            joiner.end_sentence(chunk.after)
        text = "".join([*texts, joiner.end()])
        translated = [each for each, chunk in zip(sentences, chunks, strict=True) if chunk.source]
        if not translated:
            return Translation(self.text, self.text)
        if len(translated) == 1:
            return replace(translated[0], source=self.text, text=text)
        return join_sentences(self.text, text, translated, is_cut=any(chunk.is_cut for chunk in chunks))
