"""Import matplotlib lazily and find fonts for the characters of a text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.environment import require
from dragoman.reporting.bidi import has_right_to_left

__all__ = ["FontChoice", "find_fonts", "import_matplotlib"]

_FIRST = "DejaVu Sans"  # part of matplotlib
_PLAIN = ("Sans", "Regular")
_FANCY = ("Bold", "Italic", "Oblique", "Mono", "Condensed", "Light", "Thin", "Black", "Serif", "UI", "Display")
_MAX_LISTED = 8


@dataclass(frozen=True)
class FontChoice:
    """Font names in order of preference, and warnings, one line each."""

    names: tuple[str, ...]
    warnings: tuple[str, ...]


def import_matplotlib(module: str = "matplotlib") -> Any:
    """Import matplotlib or one of its modules."""
    require("matplotlib", "train", "drawing a figure")
    return importlib.import_module(module)


def find_fonts(text: str) -> FontChoice:
    """Find installed fonts that together have every character of a text."""
    manager = import_matplotlib("matplotlib.font_manager")
    missing = {character for character in text if character.isprintable() and not character.isspace()}
    names = [_FIRST]
    missing -= _supported(manager.findfont(_FIRST), 0, missing)
    if missing:
        for path in sorted(manager.findSystemFonts(), key=_fitness):
            if found := _supported(path, 0, missing):
                names.append(_family(manager, path, missing))
                missing -= found
            if not missing:
                break
    return FontChoice(tuple(names), tuple(_warnings(missing, text)))


def _fitness(path: str) -> tuple[int, int, str]:
    """Sort key: plain upright fonts first."""
    name = Path(path).stem
    return sum(word in name for word in _FANCY), -sum(word in name for word in _PLAIN), name


def _supported(path: str, face: int, characters: set[str]) -> set[str]:
    font = _face(path, face)
    return set() if font is None else {each for each in characters if font.get_char_index(ord(each))}


def _face(path: str, face: int) -> Any:
    """Open a font; None if the file is not a scalable font."""
    ft2font = import_matplotlib("matplotlib.ft2font")
    try:
        font = ft2font.FT2Font(path, face_index=face) if face else ft2font.FT2Font(path)
    except (RuntimeError, OSError, TypeError):
        return None
    return font if font.scalable else None


def _family(manager: Any, path: str, characters: set[str]) -> str:
    """Register a font, which may be missing from matplotlib's cache, and return its name.

    CJK font files have one face per language, which draw some characters differently.
    """
    wanted = (
        "KR" if _holds(characters, "\uac00", "\ud7a3") else "JP" if _holds(characters, "\u3041", "\u30fa") else "SC"
    )
    manager.fontManager.addfont(path)
    faces = list(dict.fromkeys(_names(path)))
    return next((name for name in faces if "CJK" in name and name.endswith(f" {wanted}")), faces[0])


def _names(path: str) -> Iterator[str]:
    first = _face(path, 0)
    yield first.family_name
    for number in range(1, first.num_faces):
        if (face := _face(path, number)) is not None:
            yield face.family_name


def _holds(characters: set[str], first: str, last: str) -> bool:
    return any(first <= character <= last for character in characters)


def _warnings(missing: set[str], text: str) -> Iterator[str]:
    if missing:
        some = " ".join(sorted(missing)[:_MAX_LISTED])
        more = " …" if len(missing) > _MAX_LISTED else ""
        yield f"no installed font has {some}{more}; install one, such as a Noto font, and draw the figure again"
    if has_right_to_left(text) and not hasattr(import_matplotlib("matplotlib.ft2font"), "__libraqm_version__"):
        yield "matplotlib must be 3.11 or later to draw right-to-left words; pip install -U matplotlib"
