"""matplotlib, imported when a picture is asked for, and the fonts that have the characters of a text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.environment import require
from dragoman.inspection.terminal_direction import is_turned

__all__ = ["Fonts", "fonts_for", "import_matplotlib"]

_FIRST = "DejaVu Sans"  # comes with matplotlib
_PLAIN = ("Sans", "Regular")
_FANCY = ("Bold", "Italic", "Oblique", "Mono", "Condensed", "Light", "Thin", "Black", "Serif", "UI", "Display")
_MOST_NAMED = 8


@dataclass(frozen=True)
class Fonts:
    """The names of fonts to draw a text with, in their order, and what a reader should know, a line each."""

    names: tuple[str, ...]
    notes: tuple[str, ...]


def import_matplotlib(module: str = "matplotlib") -> Any:
    """The package that draws pictures, or a module of it."""
    require("matplotlib", "train", "drawing a picture")
    return importlib.import_module(module)


def fonts_for(text: str) -> Fonts:
    """Find installed fonts for every character of a text: one for most of them, and others for the rest."""
    manager = import_matplotlib("matplotlib.font_manager")
    missing = {character for character in text if character.isprintable() and not character.isspace()}
    names = [_FIRST]
    missing -= _had(manager.findfont(_FIRST), 0, missing)
    if missing:
        for path in sorted(manager.findSystemFonts(), key=_fitness):
            if found := _had(path, 0, missing):
                names.append(_family(manager, path, missing))
                missing -= found
            if not missing:
                break
    return Fonts(tuple(names), tuple(_notes(missing, text)))


def _fitness(path: str) -> tuple[int, int, str]:
    """Plain upright fonts first."""
    name = Path(path).stem
    return sum(word in name for word in _FANCY), -sum(word in name for word in _PLAIN), name


def _had(path: str, face: int, characters: set[str]) -> set[str]:
    font = _face(path, face)
    return set() if font is None else {each for each in characters if font.get_char_index(ord(each))}


def _face(path: str, face: int) -> Any:
    """A font, or None where the file is none that can be drawn with."""
    ft2font = import_matplotlib("matplotlib.ft2font")
    try:
        font = ft2font.FT2Font(path, face_index=face) if face else ft2font.FT2Font(path)
    except (RuntimeError, OSError, TypeError):
        return None
    return font if font.scalable else None


def _family(manager: Any, path: str, characters: set[str]) -> str:
    """Register a font, which may be newer than matplotlib's list of them, and return its name.

    Files of Chinese, Japanese and Korean hold a face for each, which draw some characters differently.
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


def _notes(missing: set[str], text: str) -> Iterator[str]:
    if missing:
        some = " ".join(sorted(missing)[:_MOST_NAMED])
        more = " …" if len(missing) > _MOST_NAMED else ""
        yield f"no installed font has {some}{more}; install one that has, such as those of Noto, and draw it again"
    if is_turned(text) and not hasattr(import_matplotlib("matplotlib.ft2font"), "__libraqm_version__"):
        yield "matplotlib must be 3.11 or later to draw words from right to left; pip install -U matplotlib"
