"""Score the sentence pairs of a file, and report errors with their line numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dragoman.api.files.parallel_lines import LinePairs
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.errors import DataError

__all__ = ["errors_by_line", "score_pairs"]


def score_pairs(
    translator: Translator, blocks: Iterable[LinePairs], source: str, *, alignment: bool = False
) -> Iterator[Translation]:
    """Yield each pair with its score; `source` is the name of the file, or - for standard input.

    The links of `alignment` are those of `Translator.align`.
    """
    before = 0
    for pairs in blocks:
        sources, targets = zip(*pairs, strict=True)
        with errors_by_line(source, before):
            yield from translator.score(sources, targets, alignment=alignment, posterior=alignment)
        before += len(pairs)


@contextmanager
def errors_by_line(source: str, before: int) -> Iterator[None]:
    """Convert the error of a pair to a `DataError` with its line; `before` pairs precede the block."""
    try:
        yield
    except PairError as error:
        name = "standard input" if source == "-" else source
        raise DataError(f"{name}:{before + error.pair + 1}: {error.fault}") from None
