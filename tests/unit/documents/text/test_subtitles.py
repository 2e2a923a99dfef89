"""Subtitles and balanced line breaks."""

import pytest
import srt
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.document import reader_notes
from dragoman.documents.formats import read_document
from dragoman.documents.text.text_file import balanced_breaks
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.samples import ASS, VTT
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


CUES = b"""1
00:00:01,000 --> 00:00:02,000
If <i>you find

2
00:00:02,000 --> 00:00:03,000
the house</i>, call me.
"""


def cut(text: str, place: int) -> str:
    """Return the subtitles with a translation whose tag for the end of the first cue is at a position."""
    (segment,) = read_document("a.srt", CUES).segments
    italics, end = segment.spans
    new = TaggedText(text, (TagSpan(0, 4, italics.tag), TagSpan(place, place, end.tag, 1)))
    return reworded("a.srt", CUES, [new]).decode()


def test_a_sentence_over_two_cues_is_one_text_and_is_cut_at_the_words_of_the_first():
    assert texts(read_document("a.srt", CUES)) == ["If you find the house, call me."]
    assert translated("a.srt", CUES).decode() == CUES.decode().replace("<i>you find", "<i>YOU FIND</i>").replace(
        "If", "IF"
    ).replace("the house</i>, call me", "<i>THE HOUSE</i>, CALL ME")
    result = cut("Wenn du das Haus findest, ruf mich an.", 17)
    assert "\n<i>Wenn</i> du das Haus\n\n2" in result
    assert result.endswith("\nfindest, ruf mich an.\n")


@pytest.mark.parametrize("place", [0, 38])
def test_no_cue_is_empty(place: int):
    lines = cut("Wenn du das Haus findest, ruf mich an.", place).splitlines()
    assert lines[2].strip()
    assert lines[6].strip()
    assert cut("Wenn", min(place, 4)).splitlines()[6] == "…"


def test_a_text_without_spaces_is_cut_between_characters():
    (segment,) = read_document("a.srt", CUES).segments
    new = TaggedText("如果你找到房子，请打电话给我。", (TagSpan(8, 8, segment.spans[1].tag, 1),))
    lines = reworded("a.srt", CUES, [new]).decode().splitlines()
    assert (lines[2], lines[6]) == ("如果你找到房子，", "请打电话给我。")


def test_a_long_translation_of_one_line_gets_a_second_one():
    data = b"1\n00:00:01,000 --> 00:00:02,000\nA short line.\n"
    words = TaggedText("Uma linha que ficou muito mais longa do que era antes.")
    assert reworded("a.srt", data, [words]).decode().splitlines()[2:] == [
        "Uma linha que ficou muito", "mais longa do que era antes.",
    ]  # fmt: skip


def test_voices_times_and_notes_of_webvtt_stay():
    result = translated("a.vtt", VTT).decode()
    expected = VTT.decode()
    for old in ("Where is the\nlittle house", "of my", "friend", "me?", "Here it is", "Thank", "you!"):
        expected = expected.replace(old, old.upper())
    assert result == expected
    first, *others = read_document("a.vtt", VTT).segments
    written = reworded("a.vtt", VTT, [TaggedText("The R&D <b>"), *others]).decode()
    assert "R&amp;D" in written
    assert "&lt;b&gt;" in written
    assert first.kept


def test_codes_drawings_and_comments_of_substation_alpha_stay():
    result = translated("a.ass", ASS).decode()
    assert "{\\an8}WHERE, MY FRIEND,\\NIS THE HOUSE\n" in result
    assert "THAT YOU {\\i1}FOUND{\\i0}?\n" in result
    assert "A comment" in result
    assert "m 0 0 l 100 0" in result
    assert "(b)/N" in reworded("a.ass", ASS, [TaggedText("{b}\\N")]).decode()


def test_a_declared_language_becomes_that_of_the_translation():
    data = b"WEBVTT - A film\nKind: captions\nLanguage: en-GB\n\n00:01.000 --> 00:02.000\nWords\n"
    expected = data.replace(b"en-GB", b"de").replace(b"Words", b"WORDS")
    assert translated("a.vtt", data, "de") == expected
    other = b"WEBVTT\n\nNOTE\nLanguage: en\n\n00:01.000 --> 00:02.000\nWords\n"
    assert b"Language: en\n" in translated("a.vtt", other, "de")


def test_another_voice_begins_another_text():
    data = b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v A>one\n<v B>two\n\n00:02.000 --> 00:03.000\n<v C>three\n"
    assert texts(read_document("a.vtt", data)) == ["one", "two", "three"]


def test_karaoke_is_counted():
    document = read_document("a.ass", ASS + b"Dialogue: 0,0:00:04.00,0:00:05.00,Default,,0,0,0,,{\\k20}La {\\kf9}la\n")
    assert texts(document) == texts(read_document("a.ass", ASS))
    assert reader_notes(document) == ["a.ass: 1 line of karaoke, with a time for each syllable, left"]


@pytest.mark.parametrize(("name", "data"), [("a.vtt", b"00:01.000 --> 00:02.000\na\n"), ("a.ass", b"Dialogue: 0,a\n")])
def test_other_files_are_rejected(name: str, data: bytes):
    with pytest.raises(DataError, match="has no subtitles"):
        read_document(name, data)
