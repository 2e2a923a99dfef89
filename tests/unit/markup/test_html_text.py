"""Segments of HTML pages: text is translated, markup is preserved."""

import re

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.markup.html_text import HtmlText
from dragoman.markup.html_tokenizer import parse_attributes, tokenize_html
from dragoman.markup.tagged_text import TaggedText, TagSpan, parent_indices
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
    "choices with an icon": (
        "<select><option>a<svg><path/></svg></select>b",
        "<select><option>A<svg><path/></svg></select>B",
    ),
    "frames": ("<frameset><noframes>a</noframes></frameset>b", "<frameset><noframes>a</noframes></frameset>b"),
    "frames after text": ("a<script>'<frameset>'</script><frameset>b", "A<script>'<frameset>'</script><frameset>B"),
    "tag manager": (
        "<noscript><iframe src='t'></iframe></noscript>a<p>b",
        "<noscript><iframe src='t'></iframe></noscript>A<p>B",
    ),
    "style without scripting": (
        "<noscript><style>p{}</style></noscript>a",
        "<noscript><style>p{}</style></noscript>A",
    ),
    "text without scripting": ("<noscript><p>a</noscript>b", "<noscript><p>A</noscript>B"),
    "scripting changes where noscript ends": (
        "<noscript><style></noscript>a</style>b</noscript>c",
        "<noscript><style></noscript>a</style>B</noscript>C",
    ),
    "an end tag in CDATA": ("<svg><![CDATA[</svg><p>a]]></svg>b", "<svg><![CDATA[</svg><p>a]]></svg>B"),
    "CDATA in a drawing": (
        "<svg><style><![CDATA[a>b{}<p>]]></style><![CDATA[<c>]]></svg>d",
        "<svg><style><![CDATA[a>b{}<p>]]></style><![CDATA[<c>]]></svg>D",
    ),
    "raw text in a drawing": ("<svg><style><a></style></a></svg>b", "<svg><style><a></style></a></svg>B"),
    "titles in a drawing": (
        "<svg><title>a</title><script>b</script><g/></svg>c",
        "<svg><title>a</title><script>b</script><g/></svg>C",
    ),
    "HTML in a drawing": (
        "<svg><foreignObject><p>a<p>b</p><style>c</style></foreignObject></svg>d",
        "<svg><foreignObject><p>A<p>B</p><style>c</style></foreignObject></svg>D",
    ),
    "a drawing that is not closed": ("<div><svg><g></div>a<svg><g><p>b", "<div><svg><g></div>A<svg><g><p>B"),
    "a drawing that is not translated": ("<svg class=notranslate></svg>a", "<svg class=notranslate></svg>A"),
    "a formula": (
        "<math><annotation-xml encoding='text/html'><p>a</p></annotation-xml><mi>b</mi></math>c",
        "<math><annotation-xml encoding='text/html'><p>A</p></annotation-xml><mi>b</mi></math>C",
    ),
    "short comments": ("<!-->a<!--->b<!-- c --!>d", "<!-->A<!--->B<!-- c --!>D"),
    "raw text that is not closed": ("a<STYLE>b<p>c", "A<STYLE>b<p>c"),
    "quoted signs": (
        "<a title='</style>' x=\">\">a</a><Style>b</STYLE >c",
        "<a title='</style>' x=\">\">A</a><Style>b</STYLE >C",
    ),
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


WHOLE = [
    *re.findall(
        r"\S+",
        """<noscript> </noscript> <iframe> </iframe> <style> </style> <STYLE> </Style> <svg> </svg> <math> </math>
        <![CDATA[ ]]> <textarea> </textarea> <script> </script> <xmp> </xmp> <noframes> </noframes>
        <!-- --> <!--> <!---> --!>
        <foreignObject> </foreignObject> <desc> </desc> <mi> </mi> <mtext> </mtext> <g> </g> <g/> <svg/> <text> </text>
        <b> </b> <p> <div> </div> <font> <br> <table> <tr> <td> </td> </table> <ul> <li> </ul> <?x?> </x>
        <!--<script>""",
    ),
    "<font color=1>",
    "<a title='>'>",
    '<i x="</style>">',
    "</a>",
    "<img alt='<style>'>",
]


@pytest.mark.filterwarnings("ignore")  # deprecation warnings of html5lib
@given(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=12))
def test_text_is_found_where_the_reference_parser_has_it(tags: list[str]):
    """The words in HTML elements, with and without scripting, are found, and none of raw text and comments."""
    page = "".join(f"{tag}w{number}w" for number, tag in enumerate(tags))
    found = set(re.findall(r"w\d+w", " ".join(texts(page))))
    with_scripting, without = (_reference_words(page, scripting=scripting) for scripting in (True, False))
    assert found >= with_scripting["text"] & without["text"]
    assert not found & with_scripting["raw"] & without["raw"]


def _reference_words(page: str, *, scripting: bool) -> dict[str, set[str]]:
    """Return the words in HTML elements and in raw text, as html5lib parses them."""
    root = html5lib.HTMLParser(namespaceHTMLElements=True).parse(page, scripting=scripting)
    found: dict[str, set[str]] = {"text": set(), "raw": set(), "foreign": set()}
    raw = {"script", "style", "textarea", "iframe", "noframes", "xmp", *(["noscript"] if scripting else [])}
    for node in root.iter():
        space, _, name = node.tag[1:].partition("}") if isinstance(node.tag, str) else ("", "", "")
        kind = "raw" if not name or name in raw else "text" if space.endswith("xhtml") else "foreign"
        own = [node.text, *(child.tail for child in node)]
        found[kind].update(re.findall(r"w\d+w", " ".join(filter(None, own))))
    return found


@given(PAGES)
def test_tokens_cover_the_page(page: str):
    found = tokenize_html(page)
    assert "".join(page[each.start : each.end] for each in found) == page
    assert all(each.start < each.end for each in found)


@pytest.mark.parametrize(
    "fragment",
    [
        "<b>",
        "<b>x",
        "</b>",
        "<",
        "<a ",
        "<a x='",
        "<!--",
        "<svg>",
        "<script><!--",
        "<b><i></b></i>x",
        "<code>x",
        "<svg><g></b>",
        "<svg><desc>",
        "<p><svg>",
        "<noscript><style>",
        "<select><svg>",
        "<svg><![CDATA[",
    ],
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


@pytest.mark.parametrize(
    "page",
    [
        "<a><i class='icon'></i> Save</a>",
        "<button>Save <span></span></button>",
        "<a> <b> <i></i> deep <u></u></b></a> ",
        "<i></i> <b></b> x",
        "<b>bold </b><i> </i>",
    ],
)
def test_elements_without_text_at_an_end_stay_in_place(page: str):
    assert [segment.spans for segment in HtmlText.parse(page).segments] == [()]
    assert uppercased(page) == re.sub(r"[a-z]+(?![^<]*>)", lambda word: word[0].upper(), page)
