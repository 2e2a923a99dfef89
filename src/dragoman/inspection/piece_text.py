"""Pieces as people read them."""

from __future__ import annotations

import re

__all__ = ["readable_piece"]

_BYTE = re.compile("<0x([0-9A-F]{2})>")


def readable_piece(piece: str) -> str:
    """The piece, or where it is one byte what that byte is: ``! (byte)``, or ``byte C3`` for a part of a character."""
    found = _BYTE.fullmatch(piece)
    if found is None:
        return piece
    character = chr(int(found[1], 16))
    return f"{character} (byte)" if "!" <= character <= "~" else f"byte {found[1]}"
