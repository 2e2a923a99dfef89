"""Build the filters that the settings enable, and drop the sentence pairs that they mark."""

import html
import html.entities
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import polars as pl
from ftfy import TextFixerConfig, fix_text
from ftfy.badness import BADNESS_RE

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning.filters.base import Filter
from dragoman.data.cleaning.filters.language import wrong_language
from dragoman.data.cleaning.filters.lengths_and_letters import (
    empty_side,
    few_letters,
    few_words,
    long_text,
    long_word,
    many_words,
    repetitive,
    uneven_lengths,
    wrong_script,
)
from dragoman.data.cleaning.filters.side_comparison import (
    control_characters,
    differing_addresses,
    differing_markup,
    differing_numbers,
    identical_sides,
    similar_sides,
)
from dragoman.data.reason_counts import MAX_EXAMPLES, Example, Tally
from dragoman.data.token_pairs import SIDES
from dragoman.text import Normalizer
from dragoman.text.normalize import compose

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
_LINE_SEPARATORS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_TABS = re.compile("[\t\x1f]")
_strip = Normalizer("none", collapse_spaces=False, strip_control=True)


@dataclass(frozen=True)
class TextChange:
    """A pair before and after a change."""

    line: int
    source: str
    target: str
    new_source: str
    new_target: str

    @property
    def altered(self) -> list[tuple[str, str]]:
        """Each altered side, before and after."""
        sides = [(self.source, self.new_source), (self.target, self.new_target)]
        return [(before, after) for before, after in sides if before != after]

    def example(self, file: str, detail: str = "") -> Example:
        """Return the original pair as an example; the default detail is the new text."""
        after = " ||| ".join(after for _, after in self.altered)
        return Example(file, self.line, self.source, self.target, detail or after)


def change_matching_texts(
    frame: pl.DataFrame, pattern: str, alter: Callable[[str], str]
) -> tuple[pl.DataFrame, list[TextChange]]:
    """Alter the texts that match the pattern (`alter` may be slow); return the new frame and every changed pair."""
    columns = {side: _alter_side(frame[side], pattern, alter) for side in SIDES}
    changed = sorted({row for _, rows in columns.values() for row in rows})
    if not changed:
        return frame, []
    repaired = frame.with_columns(**{side: column for side, (column, _) in columns.items()})
    before = frame[changed].select("line", *SIDES).rows()
    after = repaired[changed].select(*SIDES).rows()
    return repaired, [TextChange(*old, *new) for old, new in zip(before, after, strict=True)]


def _alter_side(texts: pl.Series, pattern: str, alter: Callable[[str], str]) -> tuple[pl.Series, list[int]]:
    rows = texts.str.contains(pattern).arg_true()
    before = texts[rows].to_list() if len(rows) else []
    changes = [(row, new) for row, old in zip(rows.to_list(), before, strict=True) if (new := alter(old)) != old]
    if not changes:
        return texts, []
    changed = [row for row, _ in changes]
    return texts.clone().scatter(changed, [new for _, new in changes]), changed


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


def normalize_frame(frame: pl.DataFrame, normalizer: Normalizer, file: str) -> tuple[pl.DataFrame, Tally]:
    """Return the frame with normalized texts, and a tally of the kinds of change, each counted once per pair."""
    frame, changes = change_matching_texts(frame, normalizer.candidate_pattern(), normalizer)
    tally = Tally()
    for change in changes:
        kinds: dict[str, str] = {}
        for before, _ in change.altered:
            kinds.update(_kinds(before, normalizer))
        for kind, detail in kinds.items():
            tally.add(kind, 1, (change.example(file, detail),))
    return frame, tally


def _kinds(text: str, normalizer: Normalizer) -> Iterator[tuple[str, str]]:
    """Yield the kinds of change in a text, each with a detail."""
    stripped = text
    if normalizer.strip_control:
        stripped = _strip(text)
        separators = set(_LINE_SEPARATORS.findall(text))
        removed = {char for char in set(text) if not char.isprintable() and not _strip(char)}
        if separators:
            yield "line separators made spaces", _code_points(separators)
        if removed:
            yield "control characters removed", _code_points(removed)
    cut, composed, cut_again = compose(stripped, normalizer.form)
    if cut != stripped or cut_again != composed:
        yield "combining marks cut", ""
    if composed != cut:
        yield "characters composed", ""
    evened = " ".join(stripped.split()) if normalizer.collapse_spaces else stripped
    if evened != stripped or (normalizer.strip_control and _TABS.search(text)):
        yield "white space evened", ""


def _code_points(characters: set[str]) -> str:
    return " ".join(f"U+{ord(char):04X}" for char in sorted(characters))


def build_raw_filters(settings: CleaningConfig) -> dict[str, Filter]:
    """Return the filters for text that is not normalized yet, by reason."""
    return {"control characters": control_characters} if settings.control_characters else {}


def build_filters(settings: CleaningConfig, *, source: str, target: str) -> dict[str, Filter]:
    """Return the filters of normalized text that the settings enable, by reason; cheap filters first."""
    foreign = partial(wrong_script, source=source, target=target, minimum=settings.min_script)
    repeating = partial(repetitive, source=source, target=target, maximum=settings.max_repeats)
    misplaced = partial(wrong_language, source=source, target=target, certainty=settings.language_certainty)
    filters: dict[str, tuple[bool, Filter]] = {
        "empty": (True, empty_side),
        "too long": (True, partial(long_text, maximum=settings.max_characters)),
        "lengths differ": (True, partial(uneven_lengths, maximum=settings.max_ratio)),
        "markup differs": (settings.markup, differing_markup),
        "addresses differ": (settings.urls, differing_addresses),
        "too few words": (True, partial(few_words, minimum=settings.min_words)),
        "too many words": (True, partial(many_words, maximum=settings.max_words)),
        "word too long": (True, partial(long_word, maximum=settings.max_word_characters)),
        "sides the same": (settings.identical, identical_sides),
        "numbers differ": (settings.numbers, differing_numbers),
        "few letters": (settings.min_letters > 0, partial(few_letters, minimum=settings.min_letters)),
        "sides alike": (settings.max_similarity < 1, partial(similar_sides, maximum=settings.max_similarity)),
        "other script": (settings.min_script > 0, foreign),
        "repeats itself": (settings.max_repeats > 0, repeating),
        "other language": (settings.language, misplaced),
    }
    return {reason: filter_ for reason, (wanted, filter_) in filters.items() if wanted}


def apply_filters(frame: pl.DataFrame, filters: Mapping[str, Filter], file: str) -> tuple[pl.DataFrame, Tally]:
    """Apply the filters in order, each to the remaining pairs; return these and a tally of the dropped ones."""
    tally = Tally()
    for reason, find in filters.items():
        drop = find(frame)
        if drop.any():
            tally.add(reason, int(drop.sum()), _examples(frame.filter(drop), file))
            frame = frame.filter(~drop)
    return frame, tally


def _examples(dropped: pl.DataFrame, file: str) -> Iterator[Example]:
    for line, source, target in dropped.head(MAX_EXAMPLES).select("line", *SIDES).rows():
        yield Example(file, line, source, target)
