"""Kept parts and white space of inline markup."""

import re

import pytest

from dragoman.documents.inline_markup import InlineBuilder
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.simple_tags import parse_tags, render_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan


def test_a_placeholder_around_a_part_that_the_format_keeps_is_kept_whole():
    builder = InlineBuilder(DocumentLimits("x"))
    builder.add_text("go {")
    builder.add_text("{#if a}", is_kept=True)
    builder.add_text("} now")
    assert builder.build().tagged.kept == ((3, 12),)


def test_a_placeholder_that_begins_in_a_part_that_the_format_keeps_is_kept_whole():
    builder = InlineBuilder(DocumentLimits("x"))
    builder.add_text("copy ")
    builder.add_text("$t(key) to {$", is_kept=True)
    builder.add_text("count} now")
    assert builder.build().tagged.kept == ((5, 24),)


def test_code_in_braces_keeps_its_tag():
    builder = InlineBuilder(DocumentLimits("x"))
    builder.add_text("use {")
    builder.open("code")
    builder.add_text("name", is_kept=True)
    builder.close()
    builder.add_text("} now")
    assert builder.build().tagged.kept == ((5, 9),)


@pytest.mark.parametrize(
    "source",
    [
        "Hello <x/>",
        "<x/> Hello",
        " <x/>  Hello <x/> <x/>.\n<x/> ",
        "a  <x/>",
        "  <x/>a<x/>  ",
        "<g>a <x/></g> <x/>",
    ],
)
def test_white_space_stays_on_its_side_of_a_tag_at_an_end(source: str):
    inline = parse_tags(source, re.compile("</?[gx]/?>"), DocumentLimits("x"))
    expected = source if "g" not in source else "<g>a<x/></g>  <x/>"  # a space at the end of a tag is after it
    assert render_tags(inline.tree(inline.tagged)) == expected


def test_a_tag_that_moves_away_from_an_end_leaves_its_space():
    inline = parse_tags("Delete <x/>", re.compile("<x/>"), DocumentLimits("x"))
    moved = TaggedText("aa bb", (TagSpan(3, 3, 0),))
    assert render_tags(inline.tree(moved)) == "aa <x/>bb "


@pytest.mark.parametrize("between", ["", "<x/>", "<g></g>", "<x/><g></g>"])
def test_the_space_after_a_break_is_no_part_of_the_translation(between: str):
    source = f"<g>one<br></g>{between}<g>two</g>"
    inline = parse_tags(source, re.compile("</?(?:g|x|br)/?>"), DocumentLimits("x"))
    assert inline.tagged.text == "one two"
    assert render_tags(inline.tree(inline.tagged)) == source
