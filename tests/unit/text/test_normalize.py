import itertools
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.errors import ConfigError, DataError
from dragoman.text import Normalizer
from dragoman.text.normalize import LONGEST_MARK_RUN, Form
from testkit.growth import growth
from tests.unit.text.samples import AWKWARD, nasty_texts, texts

FORMS: list[Form] = ["nfc", "nfkc", "none"]
EVERY = [Normalizer(*choice) for choice in itertools.product(FORMS, [True, False], [True, False])]
MARKS = "\u0301\u0323\u0344\u0f73\uff9e\u0345\U0001d165\u05b0"

normalizers = st.sampled_from(EVERY)
mark_runs = st.text(st.sampled_from(MARKS + "e "), min_size=25, max_size=120)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\u0301", "é"),
        ("  a \u00a0 b\u3000", "a b"),
        ("a\r\nb\tc\u2028d\u0085e\x1cf", "a b c d e f"),
        ("\ufeffso\u00adft\u200b \u202eabc\u202c\x00\x7f\u2060", "soft abc"),
        ("سلام\u200cدنیا 👩\u200d👧", "سلام\u200cدنیا 👩\u200d👧"),
        ("ﬁ Ａ ½", "ﬁ Ａ ½"),
        ("e\x00\u0301", "é"),
    ],
)
def test_the_default_composes_strips_and_collapses(text: str, expected: str):
    assert Normalizer()(text) == expected


def test_compatibility_form():
    assert Normalizer("nfkc")("ﬁ Ａ １ ½ ｶﾞ") == "fi A 1 1⁄2 ガ"
    assert len(Normalizer("nfkc")("\ufdfa")) == 18


def test_each_part_can_be_left_out():
    text = " e\u0301\t \x00b"
    assert Normalizer("none", collapse_spaces=False, strip_control=False)(text) == text
    assert Normalizer("none", collapse_spaces=True, strip_control=False)(text) == "e\u0301 \x00b"
    assert Normalizer("none", collapse_spaces=False, strip_control=True)(text) == " e\u0301  b"
    assert Normalizer("nfc", collapse_spaces=False, strip_control=False)(text) == " é\t \x00b"


def test_a_line_break_never_joins_two_words_and_counts_once():
    keep_spaces = Normalizer(collapse_spaces=False)
    for break_ in ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\t"]:
        assert keep_spaces(f"a{break_}b") == "a b"


@given(normalizers, st.one_of(texts, mark_runs))
@example(Normalizer("nfc"), "a" + "\u0344" * 40)
@example(Normalizer("nfkc"), " \u00a8" + "\uff9e\u0301" * 40)
@example(Normalizer("nfc"), "\u0b47" + "\u0301" * 31 + "\u0b3e")
@example(Normalizer("nfc"), "\r\x00\n")
def test_normalising_twice_changes_nothing_more(normalize: Normalizer, text: str):
    once = normalize(text)
    assert normalize(once) == once


@pytest.mark.parametrize("normalize", EVERY, ids=str)
def test_every_character_by_itself_is_settled_after_one_pass(normalize: Normalizer):
    every = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000]
    once = normalize("a".join(every))
    assert normalize(once) == once


@given(st.sampled_from(["nfc", "nfkc"]), st.one_of(texts, mark_runs))
def test_the_result_is_in_its_form_with_no_long_run_of_marks(form: Form, text: str):
    result = Normalizer(form)(text)
    assert unicodedata.is_normalized("NFC" if form == "nfc" else "NFKC", result)
    is_mark = "".join("m" if unicodedata.combining(char) else "." for char in result)
    assert max(map(len, re.findall("m+", is_mark)), default=0) <= LONGEST_MARK_RUN


@given(nasty_texts)
def test_up_to_thirty_marks_the_form_is_exactly_unicodes(text: str):
    plain = Normalizer("nfc", collapse_spaces=False, strip_control=False)
    assert plain(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", AWKWARD)
def test_collapsed_text_has_single_spaces_and_no_other_white_space(text: str):
    result = Normalizer()(text)
    assert result == result.strip()
    assert "  " not in result
    assert not any(char.isspace() and char != " " for char in result)


def test_the_thirtieth_mark_stays_and_the_next_goes():
    normalize = Normalizer()
    assert normalize("q" + "\u0323" * 30) == "q" + "\u0323" * 30
    assert normalize("q" + "\u0323" * 31 + "z") == "q" + "\u0323" * 30 + "z"


@pytest.mark.parametrize("form", ["nfc", "nfkc"])
@pytest.mark.parametrize("pair", ["\u0301\u0323", "\u0f73\u0301", "\uff9e\u0301", "\U0001d165\u0323", "\u0344\u0345"])
def test_time_grows_with_the_length_only(form: Form, pair: str):
    """Composing alternating marks is quadratic in CPython: ten times the text would take a hundred times as long."""
    normalize = Normalizer(form)
    normalize(pair * 100)
    assert growth(lambda count: normalize(pair * count), 10_000) < 30


@given(normalizers, st.one_of(texts, mark_runs))
@example(Normalizer("nfc"), "\u1100\u1161")
@example(Normalizer("nfc"), "\uac00\u11a8")
@example(Normalizer("nfc"), "q\u0323\u0307")
@example(Normalizer("none"), "trailing ")
def test_text_that_nothing_suspicious_is_found_in_stays_as_it_is(normalize: Normalizer, text: str):
    if not re.search(normalize.candidate_pattern(), text):
        assert normalize(text) == text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", ["", "e", "\u1100", "\uac00", "\u0315", "\u0d46", "\U000110a5"])
def test_no_character_that_changes_is_unsuspected(form: Form, before: str):
    """Alone between letters, and after some characters that others join or must be put in order with."""
    codes = itertools.chain(range(0xD800), range(0xE000, 0x12000 if before else 0x30000))
    every = "a".join(before + chr(code) for code in codes)
    rest = re.sub(Normalizer(form).candidate_pattern(), "", every)
    assert Normalizer(form)(rest) == rest


def test_no_form_changes_or_moves_a_character_of_the_later_planes():
    later = "".join(map(chr, range(0x30000, 0x110000)))
    assert unicodedata.normalize("NFKC", later) == later
    assert not any(map(unicodedata.combining, later))


def test_plain_text_is_not_suspected():
    plain = [
        "grün, schön, weiß",
        "नमस्ते दुनिया",
        "سلام\u200cدنیا",
        "안녕 세상",
        "我用Python写代码。",
        "ภาษาไทย",
        "👩\u200d👧",
    ]
    assert not any(re.search(Normalizer().candidate_pattern(), text) for text in plain)


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="form must be one of nfc, nfkc, none, got 'nfd'; nfc suits most"):
        Normalizer("nfd")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="lone surrogate"):
        Normalizer()("\ud800")
