"""Draw the attention map of a translation as a picture, with fonts for the scripts of both texts.

An SVG contains letters as outlines, so that it needs no installed fonts. The columns of a right-to-left source are in
its reading order.
"""

import importlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.cells import cell_len

from dragoman.environment import require
from dragoman.errors import ConfigError
from dragoman.files import atomic_write
from dragoman.inspection.result import check_weights
from dragoman.reporting.safe_display_text import has_right_to_left, text_direction, visible
from dragoman.reporting.terminal import truncate

FIGURE_SUFFIXES = (".png", ".svg")

_CELL = 0.3  # inches
_FONT_SIZE = 10
_MAX_LABEL = 24  # characters
_DPI = 150
_BAR_WIDTH, _MAX_BAR_HEIGHT = 0.14, 2.4  # inches: the colour bar
_GRID_COLOUR = "#d8d8d8"
_FIRST = "DejaVu Sans"  # part of matplotlib
_PLAIN = ("Sans", "Regular")
_FANCY = ("Bold", "Italic", "Oblique", "Mono", "Condensed", "Light", "Thin", "Black", "Serif", "UI", "Display")
_MAX_LISTED = 8


def save_figure(
    source_words: Sequence[str], target_words: Sequence[str], weights: ArrayLike, path: Path, *, title: str = ""
) -> tuple[str, ...]:
    """Save attention weights as a figure whose size grows with the words; return warnings, one line each.

    Shapes: weights [target words, source words], from 0 to 1.
    """
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise ConfigError(f"a figure must end in {' or '.join(FIGURE_SUFFIXES)}, got {path.name}; choose another name")
    values = check_weights(weights, source_words, target_words)
    sources, targets = ([truncate(word, _MAX_LABEL) for word in words] for words in (source_words, target_words))
    title = visible(title)
    fonts = find_fonts("".join([*sources, *targets, title]))
    settings = {
        "font.family": list(fonts.names),
        "text.parse_math": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "dragoman",  # makes the file reproducible
    }
    with import_matplotlib().rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # returned as a warning
        figure = _draw(sources, targets, values, title, is_right_to_left=text_direction(source_words) == "rtl")
        metadata = {"Date": None, "Title": title} if path.suffix.lower() == ".svg" else {"Title": title}
        with atomic_write(path) as draft:
            figure.savefig(
                draft,
                format=path.suffix[1:].lower(),
                dpi=_DPI,
                bbox_inches="tight",
                pad_inches=0.15,
                metadata=metadata,
            )
    return fonts.warnings


def _draw(
    sources: Sequence[str], targets: Sequence[str], values: NDArray[np.float64], title: str, *, is_right_to_left: bool
) -> Any:
    """Draw a figure of the size of the grid; saving adds labels, colour bar and title around it."""
    wide, high = max(1, len(sources)) * _CELL, max(1, len(targets)) * _CELL
    figure = import_matplotlib("matplotlib.figure").Figure(figsize=(wide, high), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    if values.size:
        drawn = axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        share = min(1.0, _MAX_BAR_HEIGHT / high)
        bar = figure.add_axes((1 + 0.25 / wide, 1 - share, _BAR_WIDTH / wide, share))
        figure.colorbar(drawn, cax=bar, ticks=[0, 0.5, 1], label="attention weight").outline.set_visible(False)
        bar.tick_params(labelsize=_FONT_SIZE - 2)
    _label_columns(axes, sources)
    axes.set_yticks(range(len(targets)), targets, fontsize=_FONT_SIZE)
    axes.tick_params(length=0)
    rows, columns = len(targets), len(sources)
    axes.vlines(np.arange(columns + 1) - 0.5, -0.5, rows - 0.5, color=_GRID_COLOUR, linewidth=0.5)
    axes.hlines(np.arange(rows + 1) - 0.5, -0.5, columns - 0.5, color=_GRID_COLOUR, linewidth=0.5)
    axes.spines[:].set_visible(False)
    if is_right_to_left:
        axes.invert_xaxis()
    if title:
        axes.set_xlabel(title, fontsize=_FONT_SIZE - 1, color="#555555", labelpad=6)
    return figure


def _label_columns(axes: Any, sources: Sequence[str]) -> None:
    """Slant the words above the columns; keep single wide characters, such as Chinese ones, upright."""
    axes.xaxis.tick_top()
    slanted = {"rotation": 45, "ha": "left", "va": "bottom", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(sources)), sources, fontsize=_FONT_SIZE, **slanted)
    for word, label in zip(sources, axes.get_xticklabels(), strict=True):
        if len(word) == 1 and cell_len(word) == 2:
            label.set(rotation=0, ha="center")


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
