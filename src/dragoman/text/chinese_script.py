"""Tell simplified from traditional Chinese text."""

from __future__ import annotations

import re
from typing import Literal

from dragoman.language_codes import language_key

__all__ = ["chinese_script", "other_script"]

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")


def chinese_script(text: str) -> Literal["Hans", "Hant"]:
    """Return the script whose legacy character set has more of a Chinese text; simplified if both have the same."""
    han = "".join(_HAN.findall(text))
    in_big5, in_gb2312 = (len(han.encode(name, "ignore")) for name in ("big5", "gb2312"))
    return "Hant" if in_big5 > in_gb2312 else "Hans"


def other_script(script: str, language: str) -> tuple[str, str]:
    """Return the name and the code of the script of Chinese text if a Chinese language code has the other; else empty.

    `script` is a result of `chinese_script`.
    """
    key = language_key(language)
    if key.language != "zh" or (key.script == "Hant") == (script == "Hant"):
        return "", ""
    return ("traditional", "zh-Hant") if script == "Hant" else ("simplified", "zh")
