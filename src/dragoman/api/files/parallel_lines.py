"""Read sentence pairs from two parallel files or from one tab-separated file, and score them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from dragoman.api.files.input_lines import STDIN, LineReader, decoded_lines
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.errors import ConfigError, DataError

LinePairs = list[tuple[str, str]]

_PAIRS = 1024  # per list


def read_pairs(source: Path | str, target: Path | str | None = None) -> Iterator[LinePairs]:
    """Yield lists of pairs; files with unequal numbers of lines are a `DataError`.

    Without a target, each line of the source has both sides, with a tab between them; input from a pipe is yielded as
    it arrives.
    """
    if target is not None and str(source) == str(target) == STDIN:
        raise ConfigError(
            "standard input cannot be both the source and the target; leave out the target and put a tab "
            "between the two sides of a line"
        )
    first = LineReader(source)  # opened now, before a model is loaded
    if target is None:
        return _pairs(first)
    try:
        return _pairs(first, LineReader(target))
    except (DataError, OSError):
        first.close()
        raise


def _pairs(source: LineReader, target: LineReader | None = None) -> Iterator[LinePairs]:
    with source:
        if target is None:
            yield from _tabbed(source)
            return
        with target:
            yield from _parallel(source, target)


def _tabbed(source: LineReader) -> Iterator[LinePairs]:
    for block in source.blocks_as_they_arrive():
        pairs: LinePairs = []
        for number, line in enumerate(decoded_lines(block), block.first):
            sides = line.split("\t")
            if len(sides) != 2:
                raise DataError(
                    f"{source.name}:{number} must be a source and a target with a tab between them, got "
                    f"{len(sides)} field{'s' if len(sides) > 1 else ''}; or name a file for each side"
                )
            pairs.append((sides[0], sides[1]))
        yield pairs


def _parallel(source: LineReader, target: LineReader) -> Iterator[LinePairs]:
    sides = [(text for block in side.blocks() for text in decoded_lines(block)) for side in (source, target)]
    pairs: LinePairs = []
    for one, other in zip_longest(*sides):
        if one is None or other is None:
            for side in sides:
                for _ in side:  # read to the end, to count its lines
                    pass
            raise DataError(
                f"{source.name} and {target.name} must have the same number of lines, got {source.lines:,} and "
                f"{target.lines:,}; add the missing lines, or name the two sides of one text"
            )
        pairs.append((one, other))
        if len(pairs) == _PAIRS:
            yield pairs
            pairs = []
    if pairs:
        yield pairs


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
