"""Markdown documents: the text is translated and the markup is unchanged."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText, TagSpan
from testkit.growth import growth
from tests.unit.documents.uppercase_translation import reworded, texts, translated, unchanged, uppercased

PAGE = """\
---
title: Front matter stays
---

# A *small* house #

Some text over
two lines with `code()` and [a **bold** link](https://a.org/x_y "Title"), see <https://b.org>.

> A quote
> over lines\x20\x20
> with a hard break

- [ ]  a task
- point one
  goes on
  1. inner ![picture](p.png) here

| Head | Other \\| bar |
|:-----|------:|
| cell | `a\\|b` code |

Heading two
-----------

    indented code

```python
print("code")
```

<div>html block</div>

See [ref], [other][ref] and [ref][]; 2 \\* 3 &amp; <b>html <i>inline</i></b> ~~gone~~<br>.

[ref]: https://c.org/ "Not this"
"""


def parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shape(text: str) -> list[object]:
    """Return the structure of a page without its text."""
    return list(_shape(parser().parse(text)))


def _shape(tokens) -> Iterator[object]:
    for token in tokens:
        if token.type == "inline":
            yield from _shape(token.children)
        elif token.type not in ("text", "softbreak"):
            attributes = {key: value for key, value in token.attrs.items() if key != "alt"}
            yield token.type, token.tag, attributes, token.content, token.info


def words(text: str) -> str:
    """Return the visible text of a page."""
    paragraphs = [token.children or [] for token in parser().parse(text) if token.type == "inline"]
    seen = [[each for each in some if each.type != "html_inline"] for some in paragraphs]
    return "\n".join("".join(" " if each.type == "softbreak" else each.content for each in some) for some in seen)


def test_all_texts_are_read():
    assert texts(read_document("a.md", PAGE.encode())) == [
        "A small house",
        "Some text over two lines with `code()` and a bold link, see <https://b.org>.",
        "A quote over lines with a hard break",
        "a task",
        "point one goes on",
        "inner  here",
        "Head",
        "Other | bar",
        "cell",
        "`a|b` code",
        "Heading two",
        "See ref, other and ref; 2 * 3 & html inline gone.",
    ]


def test_without_a_change_the_file_is_the_same():
    for data in (PAGE.encode(), PAGE.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + PAGE.encode()):
        assert unchanged("a.md", data) == data


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_translation_changes_the_text_and_nothing_else(end: str):
    source = PAGE.replace("\n", end)
    result = translated("a.md", source.encode()).decode()
    assert shape(source) == shape(result)
    assert len(result.split(end)) == len(source.split(end))
    kept = ["# A *SMALL* HOUSE #", '**BOLD** LINK](https://a.org/x_y "Title"), SEE <https://b.org>.', "- [ ]  A TASK"]
    kept += ["`code()`", "> A QUOTE", "![picture](p.png) HERE", "| HEAD | OTHER \\| BAR |", "| CELL | `a\\|b` CODE |"]
    kept += [
        "title: Front matter stays",
        "    indented code",
        "<div>html block</div>",
        '[ref]: https://c.org/ "Not this"',
    ]
    kept += ["SEE [REF][ref], [OTHER][ref] AND [REF][ref]; 2 * 3 & <b>HTML <i>INLINE</i></b> ~~GONE~~<br>."]
    for each in kept:
        assert each in result


def test_tags_move_with_their_words():
    data = b"> the **small** [house](h)\n> stands `here`"
    (segment,) = read_document("a.md", data).segments
    assert segment == TaggedText("the small house stands `here`", (TagSpan(4, 9, 0), TagSpan(10, 15, 1)), ((23, 29),))
    written = reworded(
        "a.md", data, [TaggedText("`here` Haus kleines", (TagSpan(7, 11, 1), TagSpan(12, 19, 0)))]
    ).decode()
    assert written == "> `here` [Haus](h)\n> **kleines**"


def test_emphasis_is_written_as_html_where_its_neighbours_disable_it():
    data = b"**note** this"
    assert reworded("a.md", data, [TaggedText("注意：这", (TagSpan(0, 3, 0),))]).decode() == "<strong>注意：</strong>这"
    assert reworded("a.md", data, [TaggedText("a b", (TagSpan(1, 3, 0),))]) == b"a **b**"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# not a heading", "\\# not a heading"),
        ("1. no list", "1\\. no list"),
        ("- no list", "\\- no list"),
        ("a*b*c_d snake_case", "a\\*b\\*c_d snake_case"),
        ("_so_ <b> &amp; [x](y) `c`", "\\_so\\_ \\<b> \\&amp; \\[x\\](y) \\`c\\`"),
        ("5 < 6 & 7 * 8", "5 < 6 & 7 * 8"),
        ("---", "\\---"),
        ("1 ##", "1 \\##"),
        ("C:\\new\\*", "C:\\new\\\\\\*"),
    ],
)
def test_text_that_looks_like_markup_is_escaped(text: str, written: str):
    result = reworded("a.md", b"a word", [TaggedText(text)]).decode()
    assert result == written
    assert words(result) == text


@given(st.text(st.sampled_from("ab \\`*_[]()<>&#!~|-+=.1:\"'\n{}"), min_size=1, max_size=20))
def test_any_text_is_read_back_unchanged(text: str):
    text = " ".join(text.split())
    for source, around in [(b"a word\n", ""), (b"> - a word\n", ""), (b"# word\n", "")]:
        result = reworded("a.md", source, [TaggedText(text or "x")]).decode()
        assert words(result) == (text or "x") + around
        assert shape(result) == shape(source.decode())


@given(st.text(st.sampled_from("ab \\`*_[]()<>&#!~|-+=.1:\n"), min_size=1, max_size=40))
def test_any_page_is_written_back_unchanged(text: str):
    data = (text + "x").encode()
    assert unchanged("a.md", data) == data
    result = translated("a.md", data).decode()
    assert "".join(words(result).split()).lower() == "".join(words(text + "x").split()).lower()


def test_a_translation_in_a_cell_cannot_end_it():
    data = b"| a | b |\n|---|---|\n| c | d |\n"
    segments = read_document("a.md", data).segments
    result = reworded("a.md", data, [*segments[:3], replace(segments[3], text="x | y")]).decode()
    assert "| c | x \\| y |" in result
    assert uppercased(segments[0]).text == "A"


@pytest.mark.parametrize("mark", ["---", "+++"])
def test_front_matter_that_does_not_end_takes_linear_time(mark: str):
    def read(lines: int) -> None:
        read_document("a.md", f"{mark}\r\n".encode() + b"a\r\n" * lines)

    assert growth(read, 200, factor=8) <= 2.5**3
