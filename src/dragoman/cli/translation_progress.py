"""What a person sees while text is translated: how far it is, how fast, and how long yet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dragoman.api.file_translation import Done, Tell

if TYPE_CHECKING:
    from dragoman.cli.progress import ScreenProgress

__all__ = ["shown_progress", "telling"]


@contextmanager
def shown_progress(name: str, *, to_file: bool) -> Iterator[Tell]:
    """Progress of the translation of `name`: a bar on a terminal, now and then a line elsewhere, all on stderr.

    Nothing is shown where lines come from or go to a terminal: a bar would disturb them, and they are enough.
    """
    if not to_file and (sys.stdin.isatty() or sys.stdout.isatty()):
        yield lambda _: None
        return
    from dragoman.cli.progress import ScreenProgress  # one sentence from a terminal does not wait for it

    with ScreenProgress(unit="line") as screen:
        yield telling(screen, name)


def telling(screen: ScreenProgress, name: str) -> Tell:
    """Shows how far it is. The first call says where it begins."""
    has_begun = False

    def tell(done: Done) -> None:
        nonlocal has_begun
        share = done.consumed / done.size if done.size else None
        if not has_begun:
            has_begun = True
            screen.begin(f"translating {name}", share=share or 0.0, pairs=done.lines)
        screen.advance(share, done.lines)

    return tell
