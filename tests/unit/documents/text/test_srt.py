"""SubRip subtitles and balanced line breaks."""

import pytest
import srt
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.formats import read_document
from dragoman.documents.text.text_file import balanced_breaks
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.uppercase_translation import reworded, texts, translated, unchanged

FILM = """1
00:00:01,000 --> 00:00:02,500 X1:40 Y1:20
<i>Where is the little
house</i> of my friend?

2
00:00:03,000 --> 00:00:04,000
{\\an8}- Here it is.
- Thank you!

7
00:00:05,000 --> 00:00:06,000
♪ 12 ♪

9
00:00:07,000 --> 00:00:08,000
One

with a blank line
""".replace("\n", "\r\n")


def test_two_dashes_before_the_rest_of_a_sentence_are_copied():
    data = b"1\n00:00:01,000 --> 00:00:02,000\n--and then he left.\n"
    assert texts(read_document("a.srt", data)) == ["and then he left."]
    assert translated("a.srt", data).endswith(b"--AND THEN HE LEFT.\n")


def test_a_cue_is_one_segment_or_one_per_speaker():
    document = read_document("film.srt", FILM.encode())
    assert texts(document) == [
        "Where is the little house of my friend?",
        "Here it is.",
        "Thank you!",
        "One with a blank line",
    ]
    assert document.segments[0].spans == (TagSpan(0, 25, 0),)
    assert document.segments[1].spans == ()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_without_a_change_the_file_is_the_same(mark: bytes):
    data = mark + FILM.encode()
    assert unchanged("film.srt", data) == data


def test_numbers_and_times_stay():
    result = translated("film.srt", FILM.encode()).decode()
    before, after = list(srt.parse(FILM)), list(srt.parse(result))
    assert [(cue.index, cue.start, cue.end) for cue in before] == [(cue.index, cue.start, cue.end) for cue in after]
    assert "<i>WHERE IS THE LITTLE\r\nHOUSE</i> OF MY FRIEND?\r\n" in result
    assert "{\\an8}- HERE IT IS.\r\n- THANK YOU!\r\n" in result
    assert "X1:40" in result
    assert "♪ 12 ♪" in result


def test_a_translation_keeps_its_number_of_lines_and_balances_them():
    words = [TaggedText("Wo ist denn nun das sehr kleine Haus von meinem lieben Freund?"), *map(TaggedText, "abc")]
    result = reworded("film.srt", FILM.encode(), words).decode()
    assert "Wo ist denn nun das sehr kleine\r\nHaus von meinem lieben Freund?\r\n" in result
    short = reworded("film.srt", FILM.encode(), [TaggedText("Wo?"), *map(TaggedText, "abc")]).decode()
    assert "\r\nWo?\r\n\r\n2" in short


def test_a_cue_with_tags_that_are_not_closed():
    data = b"1\n00:00:01,000 --> 00:00:02,000\n<b>one <i>two</b> three</i>\n"
    assert unchanged("a.srt", data) == data
    assert translated("a.srt", data) == data.replace(b"one", b"ONE").replace(b"two", b"TWO").replace(b"three", b"THREE")


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=30), st.integers(1, 8))
def test_breaks_are_at_spaces_and_give_the_requested_lines(words: list[str], lines: int):
    text = " ".join(words)
    breaks = balanced_breaks(text, lines)
    assert len(breaks) == min(lines, len(words)) - 1
    assert breaks == sorted(set(breaks))
    assert all(text[place] == " " for place in breaks)


def test_no_break_is_in_a_kept_span():
    assert balanced_breaks("a {x y} b", 3, [(2, 7)]) == [1, 7]
    assert balanced_breaks("a {x y z w} b", 2, [(2, 11)]) == [11]


def test_line_ends_in_a_translation_are_spaces():
    data = b"1\n00:00:01,000 --> 00:00:02,000\none two\n\n"
    assert reworded("a.srt", data, [TaggedText("one\n\ntwo\r3")]) == data.replace(b"one two", b"one  two 3")
