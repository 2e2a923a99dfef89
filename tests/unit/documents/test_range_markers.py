"""Markers of ranges: the start stays before the end, and ranges that are nested stay nested."""

import random
import re
from collections.abc import Sequence

import pytest
from lxml import etree

from dragoman.documents.inline_markup import InlineBuilder, InlineText, Node
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.office.runs import RunWriter, group_text
from dragoman.documents.office.wordprocessingml import make_run, paragraph_group
from dragoman.documents.range_markers import RangeMarker, range_marker
from dragoman.documents.text.simple_tags import parse_tags, render_tags
from dragoman.documents.xml.mixed_content import InlineRole, read_mixed_content
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def sentence(rng: random.Random) -> tuple[InlineText, list[tuple[str, int, int]]]:
    """Return a text with random tags and markers, and the ranges with the places of their markers."""
    builder = InlineBuilder(DocumentLimits("a"))
    count = rng.randint(2, 10)
    edges: list[tuple[int, float, str, bool]] = []
    for name in "abcd"[: rng.randint(1, 4)]:
        start, end = sorted(rng.choices(range(count + 1), k=2))
        edges += [(start, rng.random(), name, True), (end, 1 + rng.random(), name, False)]
    edges.sort()
    open_tags = 0
    for place in range(count + 1):
        for at, _, name, is_start in edges:
            if at == place:
                builder.add_empty((name, is_start), marker=RangeMarker(("", name), is_start))
        if place < count:
            if rng.random() < 0.2:
                builder.open(("tag", True))
                open_tags += 1
            builder.add_text(f"{WORDS[place]} ")
            if open_tags and rng.random() < 0.5:
                builder.close()
                open_tags -= 1
    for _ in range(open_tags):
        builder.close()
    order = [(name, is_start) for _, _, name, is_start in edges]
    return builder.build(), [
        (name, order.index((name, True)), order.index((name, False))) for name in sorted({name for name, _ in order})
    ]


def random_translation(rng: random.Random, source: TaggedText) -> TaggedText:
    words = source.text.split()
    target = [word.upper() for word in rng.sample(words, k=rng.randint(1, len(words)))]
    pairs = [(place, at) for place in range(len(words)) for at in range(len(target))]
    links = rng.sample(pairs, k=min(len(pairs), rng.randint(0, 2 * len(words))))
    return project_tags(source, words, " ".join(target), target, links)


def markers(nodes: list[Node]) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    for node in nodes:
        if not isinstance(node, str):
            found += [node.tag] if node.tag[0] != "tag" else []
            found += markers(node.children)
    return found


def test_markers_of_random_sentences_stay_in_order():
    rng = random.Random(33)
    for _ in range(200):
        inline, ranges = sentence(rng)
        found = markers(inline.tree(random_translation(rng, inline.tagged)))
        assert sorted(found) == sorted((name, edge) for name, _, _ in ranges for edge in (False, True))
        places = {name: (found.index((name, True)), found.index((name, False))) for name, _, _ in ranges}
        assert all(start < end for start, end in places.values())
        for name, *one in ranges:
            for other, *two in ranges:
                assert crosses(one, two) or not crosses(places[name], places[other]), (inline.tagged, found)


def crosses(one: Sequence[int], other: Sequence[int]) -> bool:
    return one[0] < other[0] < one[1] < other[1] or other[0] < one[0] < other[1] < one[1]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ('<bx id="1" rid="9"/>', '<ex id="2" rid="9"/>'),
        ('<bx id="1"/>', '<ex id="1"/>'),
        ('<bpt i="1" x="1"/>', '<ept i="1"/>'),
        ('<sc id="1"/>', '<ec startRef="1"/>'),
        ('<sm id="m" type="comment"/>', '<em startRef="m"/>'),
        ('<it id="1" rid="2" pos="open"/>', '<it id="2" rid="2" pos="close"/>'),
        ('<bookmark-start xmlns="urn:t" name="a"/>', '<bookmark-end xmlns="urn:t" name="a"/>'),
        ('<annotation name="a"/>', '<annotation-end name="a"/>'),
        ('<change-start change-id="a"/>', '<change-end change-id="a"/>'),
        ('<bookmarkStart id="0" name="a"/>', '<bookmarkEnd id="0"/>'),
        ('<commentRangeStart id="0"/>', '<commentRangeEnd id="0"/>'),
    ],
)
def test_elements_of_formats_are_pairs(start: str, end: str):
    found = [range_marker(etree.fromstring(each)) for each in (start, end)]
    assert found[0] is not None
    assert found[0].is_start
    assert found[1] == RangeMarker(found[0].key, False)
    text = etree.fromstring(f"<p>Big {start}red{end} dog</p>")
    inline = read_mixed_content(text, lambda _: InlineRole.STANDALONE, DocumentLimits("a"))
    assert inline is not None
    assert [(span.start, span.end) for span in inline.tagged.spans] == [(4, 7)]


def test_other_elements_are_no_markers():
    for element in ('<x id="1"/>', '<it id="1"/>', "<bookmark-start/>", "<line-break/>", "<!-- a -->", '<end id="1"/>'):
        assert range_marker(etree.fromstring(f"<p>{element}</p>")[0]) is None


def test_bookmarks_of_word_are_one_span():
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    runs = ["<w:r><w:t>Big </w:t></w:r>", '<w:bookmarkStart w:id="0"/>', "<w:r><w:t>red</w:t></w:r>"]
    runs += ['<w:bookmarkEnd w:id="0"/>', "<w:r><w:t> dog</w:t></w:r>"]
    paragraph = etree.fromstring(f'<w:p xmlns:w="{space}">{"".join(runs)}</w:p>')
    tagged = group_text(paragraph_group(paragraph), DocumentLimits("a")).tagged
    assert [(span.start, span.end) for span in tagged.spans] == [(4, 7)]


def test_a_link_does_not_take_the_start_of_a_bookmark_behind_its_end():
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    link = '<w:hyperlink w:anchor="a"><w:bookmarkStart w:id="0"/><w:r><w:t>red</w:t></w:r></w:hyperlink>'
    runs = [link, "<w:r><w:t> dog</w:t></w:r>", '<w:bookmarkEnd w:id="0"/>', "<w:r><w:t> runs</w:t></w:r>"]
    paragraph = etree.fromstring(f'<w:p xmlns:w="{space}">{"".join(runs)}</w:p>')
    group = paragraph_group(paragraph)
    inline = group_text(group, DocumentLimits("a"))
    moved = project_tags(
        inline.tagged,
        ["red", "dog", "runs"],
        "cão corre vermelho",
        ["cão", "corre", "vermelho"],
        [(0, 2), (1, 0), (2, 1)],
    )
    RunWriter(make_run).write(paragraph, group, inline.tree(moved), lambda _: "")
    assert "".join(paragraph.itertext()) == "cão corre vermelho"
    found = [each.tag.rpartition("}")[2] for each in paragraph.iter() if "bookmark" in each.tag]
    assert found == ["bookmarkStart", "bookmarkEnd"]


def test_crossing_tags_of_messages_stay_in_order():
    inline = parse_tags("<b>One <i>two</b> three</i> four", re.compile("<[^>]*>"), DocumentLimits("a"))
    links = [(0, 1), (1, 2), (2, 0), (3, 3)]
    moved = project_tags(inline.tagged, ["One", "two", "three", "four"], "A B C D", ["A", "B", "C", "D"], links)
    assert render_tags(inline.tree(moved)) == "A<i> <b>B </i>C</b> D"
