"""Read and write word alignment links in the Pharaoh and NAACL formats."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.alignment.error_rate import GoldLinks, Link

LinkFormat = Literal["pharaoh", "naacl"]
"""Formats of link files.

``pharaoh``: one line per sentence pair, ``0-0 1-2``; ``1p2`` and ``?1-2`` (or ``1?2``) are possible links.
``naacl``: one line per link, ``7 1 2 S``, beginning with the number of the sentence pair; all numbers count from 1. The
mark ``S`` or ``P`` may be missing, which means sure; a confidence may follow.
"""

_PHARAOH = re.compile(r"(\?)?([0-9]{1,9})([-p?])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[-+0-9.eE]+)?")
_Lengths = Sequence[tuple[int, int]]


def detect_format(lines: Iterable[str]) -> LinkFormat | None:
    """Return the format of lines, or None if it is ambiguous or neither."""
    texts = [line for line in lines if line.strip()]
    if texts and all(_PHARAOH.fullmatch(item) for line in texts for item in line.split()):
        return "pharaoh"
    if texts and all(_NAACL.fullmatch(line.strip()) for line in texts):
        return "naacl"
    return None


def parse_gold_links(
    lines: Sequence[str],
    *,
    name: str = "links",
    form: LinkFormat | None = None,
    first: int | None = None,
    lengths: _Lengths | None = None,
    pairs: int | None = None,
) -> list[GoldLinks]:
    """Parse lines of sure and possible links; `name` is the name of the file in errors.

    `form` is detected by default. `first` is the number of the first word, by default 0 in the Pharaoh format and 1 in
    the NAACL format. `lengths` are the numbers of words of both sides of each pair: a link outside them is a
    `DataError`. `pairs` is the number of sentence pairs of a NAACL file, whose last pairs may have no link; it follows
    from `lengths` if they are given.
    """
    form = form or detect_format(lines) or _unknown_format(name, lines)
    first = _first_number(form, first)
    count = len(lengths) if lengths is not None else pairs
    rows = _pharaoh_rows(lines, name) if form == "pharaoh" else _naacl_rows(lines, name)
    if form == "pharaoh" and count is None:
        count = len(lines)
    if form == "pharaoh" and count != len(lines):
        raise DataError(
            f"{name} must have a line of links for each of {count:,} sentence pairs, got {len(lines):,} lines; see "
            "whether it belongs to these texts"
        )
    found: dict[int, tuple[set[Link], set[Link]]] = {}
    for number, pair, source, target, is_sure in rows:
        if pair < 0 or (count is not None and pair >= count):
            rule = "at least 1" if count is None else f"from 1 to {count:,}"
            raise DataError(
                f"{name}:{number}: the number of a sentence pair must be {rule}, got {pair + 1:,}; see whether the "
                "file belongs to these texts"
            )
        link = source - first, target - first
        _check_position(f"{name}:{number}", link, first, None if lengths is None else lengths[pair])
        found.setdefault(pair, (set(), set()))[0 if is_sure else 1].add(link)
    last = count if count is not None else max(found, default=-1) + 1
    empty: tuple[set[Link], set[Link]] = (set(), set())
    return [GoldLinks(*map(frozenset, found.get(pair, empty))) for pair in range(last)]


def pharaoh_line(links: Iterable[Link] | GoldLinks, *, first: int = 0) -> str:
    """Format the links of a sentence pair as a line in the Pharaoh format: ``0-0 1p2``."""
    gold = links if isinstance(links, GoldLinks) else GoldLinks(frozenset(links))
    return " ".join(
        f"{source + first}{'-' if (source, target) in gold.sure else 'p'}{target + first}"
        for source, target in sorted(gold.possible)
    )


_Row = tuple[int, int, int, int, bool]  # the line, the pair from 0, the words as they are written, is it sure?


def _pharaoh_rows(lines: Sequence[str], name: str) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        for item in line.split():
            found = _PHARAOH.fullmatch(item)
            if found is None:
                raise DataError(
                    f"{name}:{number}: a link must be two numbers such as 3-5, or 3p5 if it is only possible, got "
                    f"{item!r}; see which format the file has"
                )
            yield number, number - 1, int(found[2]), int(found[4]), found[3] == "-" and not found[1]


def _naacl_rows(lines: Sequence[str], name: str) -> Iterator[_Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _NAACL.fullmatch(line.strip())
        if found is None:
            raise DataError(
                f"{name}:{number}: a line must be a pair, two words and a mark such as 1 3 5 S, got {line.strip()!r}; "
                "see which format the file has"
            )
        yield number, int(found[1]) - 1, int(found[2]), int(found[3]), found[4] != "P"


def _unknown_format(name: str, lines: Sequence[str]) -> LinkFormat:
    if not any(line.strip() for line in lines):
        return "pharaoh"  # pairs without links; their number is checked
    raise DataError(
        f"{name} must be links in the Pharaoh format (3-5 4p6) or the NAACL format (1 3 5 S); name "
        "the format to learn in which line"
    )


def _first_number(form: LinkFormat, first: int | None) -> int:
    if form not in {"pharaoh", "naacl"}:
        raise ConfigError(f"the format of links must be pharaoh or naacl, got {form!r}; name one of them")
    if first not in {None, 0, 1}:
        raise ConfigError(f"words must be counted from 0 or 1, got {first}; see the first links of the file")
    return first if first is not None else int(form == "naacl")


def _check_position(where: str, link: Link, first: int, lengths: tuple[int, int] | None) -> None:
    for side, place, words in zip(("source", "target"), link, lengths or (None, None), strict=True):
        if words == 0:
            raise DataError(
                f"{where}: a link has {side} word {place + first}, but the {side} of "
                "this pair has no words; see whether the file belongs to these texts"
            )
        if place < 0 or (words is not None and place >= words):
            rule = f"at least {first}" if words is None else f"from {first} to {words - 1 + first}"
            raise DataError(
                f"{where}: the {side} word of a link must be {rule}, got {place + first}; see whether words count from "
                f"{1 - first}, and which side comes first"
            )
