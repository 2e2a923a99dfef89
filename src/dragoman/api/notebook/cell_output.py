"""Show one output of a notebook cell, and replace its content."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["CellOutput", "in_notebook"]


def in_notebook() -> bool:
    """Whether this process is an IPython kernel. A kernel has imported IPython, so nothing is imported here."""
    ipython = sys.modules.get("IPython")
    get_shell = getattr(ipython, "get_ipython", None)
    return get_shell is not None and getattr(get_shell(), "kernel", None) is not None


class CellOutput:
    """An output of the current cell. Only its last content is saved with the notebook."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, html: str, text: str) -> None:
        """Show HTML, or `text` where HTML cannot be shown, in place of the content so far."""
        content = {"text/html": html, "text/plain": text}
        if self._handle is None:
            from IPython.display import display  # noqa: PLC0415 -- only a kernel has IPython

            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
