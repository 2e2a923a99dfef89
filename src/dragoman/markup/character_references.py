"""Replace HTML character references by characters, also those with thousands of digits."""

from __future__ import annotations

import html
import re

__all__ = ["unescape"]

_LONG = re.compile("&#([0-9]{8,});?")
"""A decimal reference that is not a code point, unless it begins with zeros; Python limits the digits of a number."""


def unescape(text: str) -> str:
    """Replace all character references, as browsers do."""
    return html.unescape(_LONG.sub(_shortened, text) if "&#" in text else text)


def _shortened(reference: re.Match[str]) -> str:
    digits = reference[1].lstrip("0") or "0"
    return f"&#{digits};" if len(digits) < 8 else "\ufffd"
