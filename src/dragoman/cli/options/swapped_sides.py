"""Print a note if the sources and the targets of sentence pairs are swapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dragoman.cli.console import echo

if TYPE_CHECKING:
    from dragoman.api.files.parallel_lines import LinePairs

__all__ = ["note_swapped_sides"]


def note_swapped_sides(
    blocks: Iterator[LinePairs], languages: tuple[str, str], *, in_one_file: bool
) -> Iterator[LinePairs]:
    """Yield the blocks of pairs unchanged; the note is printed on stderr before the first one."""
    from dragoman.text.other_language import swapped_note

    fix = "exchange the two columns" if in_one_file else "exchange the two files"
    for number, pairs in enumerate(blocks):
        if number == 0 and all(languages):
            sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
            if note := swapped_note(sources, targets, *languages, other="targets", fix=fix):
                echo(f"note    {note}", err=True)
        yield pairs
