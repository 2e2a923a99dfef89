"""Segments of HTML pages: text is translated, markup is preserved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.markup.html_text import HtmlText
from dragoman.markup.html_tokenizer import parse_attributes, tokenize_html
from dragoman.markup.tag_nesting import parent_indices
from dragoman.markup.tagged_text import TaggedText, TagSpan
from testkit.growth import growth


def uppercased(page: str) -> str:
    """Return the page with its text in upper case."""
    text = HtmlText.parse(page)
    return text.write([TaggedText(each.text.upper(), each.spans) for each in text.segments])


def texts(page: str) -> list[str]:
    return [each.text for each in HtmlText.parse(page).segments]


CASES = {
    "inline tags": ("<p>go <b>on</b> now</p>", "<p>GO <b>ON</b> NOW</p>"),
    "attributes": ("<a title='a b' href=x>go</a>", "<a title='a b' href=x>GO</a>"),
    "entities": ("a &lt;b&gt; &amp;c &eacute &nbsp;d", "A &lt;B&gt; &amp;C É &nbsp;D"),
    "stray signs": ("a < b & c > d", "A &lt; B &amp; C &gt; D"),
    "white space at edges": ("<p>\n  go on\n</p>", "<p>\n  GO ON\n</p>"),
    "white space in a tag": ("<b> go </b>on", " <b>GO </b>ON"),
    "white space within": ("go\n   on", "GO ON"),
    "blocks": ("<div>a<p>b<li>c</div>", "<div>A<p>B<li>C</div>"),
    "script and style": ("<style>a{}</style>b<script>c</script>", "<style>a{}</style>B<script>c</script>"),
    "a script in a comment in a script": (
        "<script><!--<script></script>x</script>y",
        "<script><!--<script></script>x</script>Y",
    ),
    "title": ("<title>a <b> &amp; c</title>", "<title>A &lt;B&gt; &amp; C</title>"),
    "textarea": ("<textarea>a</textarea>b", "<textarea>a</textarea>B"),
    "comment": ("a <!-- b --> c", "A <!-- b --> C"),
    "doctype and instructions": ("<!doctype html><?php a ?>b<![CDATA[c]]>", "<!doctype html><?php a ?>B<![CDATA[c]]>"),
    "code": ("use <code>a &lt; <i>b</i></code> now", "USE <code>a &lt; <i>b</i></code> NOW"),
    "pre": ("<pre>a\n b</pre>c", "<pre>a\n b</pre>C"),
    "translate=no": (
        "<p translate=no>a</p>b <i translate='NO'>c</i> d",
        "<p translate=no>a</p>B <i translate='NO'>c</i> D",
    ),
    "notranslate": ("<div class='x notranslate'>a<p>b</div>c", "<div class='x notranslate'>a<p>b</div>C"),
    "an end that is implied": ("<p translate=no>a<p>b", "<p translate=no>a<p>B"),
    "drawing": ("a<svg><style>b</style><text>c</text></svg>d", "A<svg><style>b</style><text>c</text></svg>D"),
    "not closed": ("<b>a", "<b>A"),
    "not nested": ("<b>a<i>b</b>c</i>", "<b>A<i>B</b>C</i>"),
    "links in links": ("<a href=1>a<a href=2>b</a></a>", "<a href=1>A<a href=2>B</a></a>"),
    "unknown": ("a <x-y>b</x-y> <g id='1'/> c", "A <x-y>B</x-y> <g id='1'/> C"),
    "capital letters": ("<P>a<BR>b</P>", "<P>A<BR> B</P>"),
    "end of the page in a tag": ("a<b title='", "A<b title='"),
    "end of the page in a comment": ("a<!-- b", "A<!-- b"),
    "choices that hold raw text": ("a<select><style></select>b", "A<select><style></select>b"),
    "frames": ("a<frameset>", "a<frameset>"),
    "no letters": ("<p>12 &ndash; 34</p>", "<p>12 &ndash; 34</p>"),
}


@pytest.mark.parametrize("name", CASES)
def test_only_text_is_translated(name: str):
    page, expected = CASES[name]
    assert uppercased(page) == expected


def test_a_sentence_with_inline_tags_is_one_segment():
    assert texts("a <b>b</b><br>c<img src=x> d") == ["a b c d"]
    assert texts("a<br> <br>b<p>c") == ["a", "b", "c"]
    assert texts("<ul><li>a<li>b</ul>") == ["a", "b"]


def test_kept_parts_are_found():
    (segment,) = HtmlText.parse("go to <b>https://example.org/a</b> {name}").segments
    assert [segment.text[start:end] for start, end in segment.kept] == ["https://example.org/a", "{name}"]


def test_an_empty_translation_keeps_the_source():
    text = HtmlText.parse("<b>go</b> on")
    assert text.write([TaggedText("  ", text.segments[0].spans)]) == "<b>go</b> on"


def test_each_tag_is_written_once():
    text = HtmlText.parse("<b>a</b> <i>b</i>")
    assert (
        text.write([TaggedText("x y", (TagSpan(0, 1, 0), TagSpan(2, 3, 0), TagSpan(0, 3, 7)))]) == "<b>x</b> y<i></i>"
    )


def test_attributes_are_read_as_browsers_do():
    assert parse_attributes("<a B=1 b=2 c='&lt;\"' d = e/ f>") == ({"b": "1", "c": '<"', "d": "e/", "f": ""}, False)
    assert parse_attributes("<a b='x'/>") == ({"b": "x"}, True)
    assert parse_attributes("<a =b=c>") == ({"=b": "c"}, False)


FRAGMENTS = [
    "<b>",
    "</b>",
    "<i x='>'>",
    "</i>",
    "<p>",
    "</p>",
    "<br>",
    "<a>",
    "</a>",
    "<code>",
    "</code>",
    "<!--",
    "-->",
]
FRAGMENTS += [
    "<svg>",
    "</svg>",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<select>",
    "</select>",
    "<",
    ">",
    "&lt",
    "'",
]
FRAGMENTS += ["word ", "two words", " ", "\n", "\x00", "<x/>", "<p translate=no>", "</", "<!", "\ud800", "é"]
PAGES = st.text(max_size=60) | st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)


@given(PAGES)
def test_unchanged_segments_give_the_same_page(page: str):
    text = HtmlText.parse(page)
    assert text.write(text.segments) == page
    for segment in text.segments:
        assert segment.text == segment.text.strip() != ""
        assert all(0 <= span.start <= span.end <= len(segment.text) for span in segment.spans)
        assert [len([*_ancestors(place, parent_indices(segment.spans))]) for place in range(len(segment.spans))] == [
            span.depth for span in segment.spans
        ]


def _ancestors(place: int, held_by: list[int]) -> list[int]:
    found = []
    while (place := held_by[place]) >= 0:
        found.append(place)
    return found


@given(PAGES)
def test_tokens_cover_the_page(page: str):
    found = tokenize_html(page)
    assert "".join(page[each.start : each.end] for each in found) == page
    assert all(each.start < each.end for each in found)


@pytest.mark.parametrize(
    "fragment",
    ["<b>", "<b>x", "</b>", "<", "<a ", "<a x='", "<!--", "<svg>", "<script><!--", "<b><i></b></i>x", "<code>x"],
)
def test_time_is_linear_in_the_page_length(fragment: str):
    count = 10_000 // len(fragment)
    assert growth(lambda times: uppercased(fragment * (count * times)), 1, rounds=2) < 30


IGNORED = {
    "a stand-in keeps its spaces": ('go <x id="3"></x> on', 'GO <x id="3"></x> ON'),
    "content is not translated": ("go <x>to</x> on", "GO <x>to</x> ON"),
    "an element closed by a slash": ("go <x id='1'/> on", "GO <x id='1'/> ON"),
    "tags in it": ("go <x>to <b>it</b></x> on", "GO <x>to <b>it</b></x> ON"),
    "at the edges": ("<x></x> go <x></x>", "<x></x> GO <x></x>"),
    "alone": ("<x></x>: <x></x>", "<x></x>: <x></x>"),
    "capital letters": ("go <X></X> on", "GO <X></X> ON"),
    "not closed": ("go <x>on", "GO <x>on"),
}


@pytest.mark.parametrize(("page", "wanted"), IGNORED.values(), ids=IGNORED)
def test_ignored_elements_are_copied(page: str, wanted: str):
    text = HtmlText.parse(page, ignored={"x"})
    assert text.write([TaggedText(each.text.upper(), each.spans) for each in text.segments]) == wanted


def test_stand_ins_around_words_are_one_tag():
    (segment,) = HtmlText.parse(
        "A <x n=1></x><x n=2></x>red ball<x n=3></x><x n=4></x>, <x n=5></x>.", ignored={"x"}
    ).segments

    assert segment.text == "A red ball, ."
    assert [segment.text[span.start : span.end] for span in segment.spans] == ["red ball", "red ball", ""]


@pytest.mark.parametrize(
    "page", ["a <x></x> b <x></x> c", "a<x></x>b<x></x>c", "<x></x>a <b>b<x></x> c</b>", "a<x></x> <x></x>b"]
)
def test_other_stand_ins_are_empty_tags(page: str):
    for segment in HtmlText.parse(page, ignored={"x"}).segments:
        assert all(span.start == span.end or segment.text[span.start : span.end] == "b c" for span in segment.spans)


def test_xml_keeps_spaces_that_do_not_break():
    text = HtmlText.parse("<p>\u00a0a\u00a0b</p>", is_xml=True)
    assert text.write([TaggedText("A\u00a0B")]) == "<p>\u00a0A\u00a0B</p>"
