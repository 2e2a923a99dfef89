"""Repair damaged text: wrongly decoded characters and HTML entities."""

import html
import html.entities
import re

import polars as pl
from ftfy import TextFixerConfig, fix_text
from ftfy.badness import BADNESS_RE

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning.change_matching_texts import change_matching_texts
from dragoman.data.reason_counts import Tally

__all__ = ["repair", "repair_mojibake", "unescape_entities"]

_ENTITY = "&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,31});"
_entities = re.compile(_ENTITY)

# ftfy's pattern of unlikely neighbours, for the Rust engine: there, even a space within brackets must be escaped in
# verbose patterns.
_MOJIBAKE = "(?x)" + re.sub(r"\[[^\]]*\]", lambda match: match[0].replace(" ", r"\x20"), BADNESS_RE.pattern)

_encoding_only = TextFixerConfig(
    unescape_html=False,
    replace_lossy_sequences=False,
    remove_terminal_escapes=False,
    fix_latin_ligatures=False,
    fix_character_width=False,
    uncurl_quotes=False,
    fix_line_breaks=False,
    fix_surrogates=False,
    remove_control_chars=False,
    normalization=None,
    explain=False,
)


def repair(frame: pl.DataFrame, settings: CleaningConfig, file: str) -> tuple[pl.DataFrame, Tally]:
    """Return the frame with the repairs that the settings enable, and a tally of them."""
    tally = Tally()
    steps = [
        ("entities unescaped", settings.repair_entities, _ENTITY, unescape_entities),
        ("mojibake repaired", settings.repair_mojibake, _MOJIBAKE, repair_mojibake),
    ]
    for reason, wanted, pattern, alter in steps:
        if wanted:
            frame, changes = change_matching_texts(frame, pattern, alter)
            tally.add(reason, len(changes), (change.example(file) for change in changes))
    return frame, tally


def repair_mojibake(text: str) -> str:
    """Undo decoding of UTF-8 as a one-byte encoding, and read C1 controls as Windows-1252."""
    repaired = fix_text(text, _encoding_only)
    return text if "\ufffd" in repaired else repaired  # characters were lost before, so the repair is unreliable


def unescape_entities(text: str) -> str:
    """Replace entities by characters; text that was escaped twice is unescaped twice."""
    return _entities.sub(_character, _entities.sub(_character, text))


def _character(entity: re.Match[str]) -> str:
    name = entity[0][1:]
    if not name.startswith("#"):
        return html.entities.html5.get(name, entity[0])
    character = html.unescape(entity[0])
    return entity[0] if character in ("", "\ufffd") else character
