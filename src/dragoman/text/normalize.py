"""Normalize text in linear time: Unicode form, white space and control characters; words are never joined."""

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.errors import ConfigError
from dragoman.text.characters import check_unicode, code_point_class

Form = Literal["nfc", "nfkc", "none"]

LONGEST_MARK_RUN = 30
"""Maximum number of consecutive combining marks, as in the Stream-Safe Text Format of Unicode."""

# Tab, line feed, vertical tab, form feed, carriage return, four separators, next line, line and paragraph separator.
_BREAKS = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]")

# The other control characters, and the invisible ones that carry no text: soft hyphen, zero-width space, word joiner
# and invisible operators, marks and embeddings of direction, byte-order mark, interlinear annotation. The joiners
# U+200C and U+200D stay: Persian, the scripts of India and emoji are spelt with them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)

# Every character that any form changes or moves is in these planes (less the surrogates); a test walks the others.
_FIRST_PLANES = (range(0xD800), range(0xE000, 0x30000))

# Vowels and final consonants of Hangul: by rule, without an entry in the tables, they join the one before them.
_JOINING_JAMO = ((0x1161, 0x1175), (0x11A8, 0x11C2))

_NOTHING = "[^\\s\\S]"


@dataclass(frozen=True, slots=True)
class Normalizer:
    """Normalize text; ``normalize(normalize(text)) == normalize(text)`` for every text and setting.

    In this order:

    1. A lone surrogate raises `DataError`.
    2. ``strip_control``: line breaks, tabs and separators become one space each (CR LF together one); other control
       characters and invisible ones without meaning (byte-order mark, zero-width space, soft hyphen, marks of
       direction) are removed.
    3. ``form``: ``nfc`` composes, ``nfkc`` also replaces compatibility characters (ligatures, full-width letters), and
       may make a text up to 18 times longer. Runs of more than 30 combining marks are cut to 30 first: composing
       them takes time that grows with the square of their number. ``none`` does neither.
    4. ``collapse_spaces``: every run of Unicode white space becomes one U+0020, and none is left at the ends.
    """

    form: Form = "nfc"
    collapse_spaces: bool = True
    strip_control: bool = True

    def __post_init__(self) -> None:
        legal = get_args(Form)
        if self.form not in legal:
            raise ConfigError(f"form must be one of {', '.join(legal)}, got {self.form!r}; nfc suits most corpora")

    def __call__(self, text: str) -> str:
        check_unicode(text)
        if self.strip_control:
            text = _BREAKS.sub(" ", _INVISIBLE.sub("", text).replace("\r\n", "\n"))
        *_, text = compose(text, self.form)
        if self.collapse_spaces:
            text = " ".join(text.split())
        return text

    def candidate_pattern(self) -> str:
        """Return a regular expression, for Python and Rust, that matches in every text that normalization changes.

        Column engines use it to skip most texts. It may also match in texts that do not change. It does not match lone
        surrogates, which cannot occur in decoded UTF-8.
        """
        return _candidate_pattern(self.form, self.collapse_spaces, self.strip_control)


def compose(text: str, form: Form) -> tuple[str, str, str]:
    """Return the text with long runs of marks cut, composed, and cut again: composing U+0344 gives two marks."""
    if form == "none" or text.isascii():
        return text, text, text
    cut = _cut_mark_runs(text, form)
    composed = unicodedata.normalize("NFKC" if form == "nfkc" else "NFC", cut)
    return cut, composed, _cut_mark_runs(composed, form)


@functools.cache
def _candidate_pattern(form: Form, collapse_spaces: bool, strip_control: bool) -> str:
    suspects = []
    if strip_control:
        suspects += [_BREAKS.pattern, _INVISIBLE.pattern]
    if collapse_spaces:
        others = code_point_class(lambda char: char.isspace() and char != " ", _FIRST_PLANES)
        suspects += [f"[{others}]", "  ", "^ ", " $"]
    if form != "none":
        suspects += _unsettled(form)
    return "|".join(suspects) or _NOTHING


def _unsettled(form: Form) -> list[str]:
    """Return patterns of which one matches in every text that is not in the form (a quick check, in Unicode's terms).

    A text is in the form if no character changes alone or may join the one before it, and no two marks with a
    combining class, which may need reordering, follow each other.
    """
    composed: Literal["NFKC", "NFC"] = "NFKC" if form == "nfkc" else "NFC"
    joining = {chr(code) for first, last in _JOINING_JAMO for code in range(first, last + 1)}
    for code in itertools.chain(*_FIRST_PLANES):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            joining.add(chr(int(parts[1], 16)))
    settled = functools.partial(unicodedata.is_normalized, composed)
    alone = code_point_class(lambda char: char in joining or not settled(char), _FIRST_PLANES)
    marks = code_point_class(lambda char: unicodedata.combining(char) != 0, _FIRST_PLANES)
    return [f"[{alone}]", f"[{marks}][{marks}]"]


def _cut_mark_runs(text: str, form: Form) -> str:
    might_hold, run = _mark_run_patterns(form)
    return run.sub(r"\1", text) if might_hold.search(text) else text


@functools.cache
def _mark_run_patterns(form: Form) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a fast pattern that matches in every text with a long run (and in a few others), and the exact pattern.

    A mark is a character whose decomposition starts with a non-starter: the Tibetan U+0F73 and, in the compatibility
    form, the half-width U+FF9E are starters themselves. The fast pattern treats all of plane 1 as marks, because a
    class with few ranges outside the first plane is about 20 times faster.
    """
    decompose: Literal["NFKD", "NFD"] = "NFKD" if form == "nfkc" else "NFD"
    marks = code_point_class(lambda char: unicodedata.combining(unicodedata.normalize(decompose, char)[0]) != 0)
    first_plane = "".join(part for part in re.findall(r"\\U\w{8}-\\U\w{8}", marks) if part.startswith(r"\U0000"))
    coarse = f"[{first_plane}\U00010000-\U0001ffff]"
    return (
        re.compile(f"{coarse}{coarse}{{{LONGEST_MARK_RUN}}}"),
        re.compile(f"([{marks}]{{{LONGEST_MARK_RUN}}})[{marks}]+"),
    )
