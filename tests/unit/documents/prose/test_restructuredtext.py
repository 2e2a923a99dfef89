"""reStructuredText: prose is translated, and docutils finds the same structure afterwards."""

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.uppercase_translation import reworded, texts, translated, unchanged

RST = """\
.. _top:

===========
 Its Title
===========

:Author: A name
:orphan:

First *words* of a **paragraph** with ``code``, :math:`a<b`, `a page <https://example.org>`_,
|sub|, a note [1]_ and `The Section`_; escaped\\* ``x``\\ s.
See other_ and https://example.org/a_b.

The Section
-----------

- One item
  in two lines
- - Inner

  Its paragraph::

      not = prose

1. Number one
#. Number two

A term
    Its meaning
name : type
    What it is

:param name: Words of it
    and more
:rtype: a type

-a, --all  Every one of them

.. note:: A note
   in two lines

.. versionadded:: 1.2
   A change

.. code-block:: python

   print("no prose")

.. function:: call(name)
   :module: a

   What it does

.. [1] Text of the note
.. |sub| replace:: never
.. _other: https://example.org

| A line
| and another

+-----+
| no  |
+-----+

=====  =====
kept   table
=====  =====

>>> kept()

Quoted::

> kept

The end
"""


def structure(data: bytes) -> list[str]:
    """Return the elements that docutils finds, with the texts of those that must stay."""
    settings = {"report_level": 5, "file_insertion_enabled": False, "raw_enabled": False}
    text = data.decode().replace(".. versionadded:: 1.2", ".. tip::")  # two directives are of Sphinx
    text = text.replace(".. function:: call(name)\n   :module: a", ".. container:: a")
    tree = publish_doctree(text, settings_overrides=settings)
    found = []
    for message in list(tree.findall(nodes.system_message)):
        assert message["level"] < 2, message.astext()  # the title in capitals has the name of its target
        message.parent.remove(message)
    for each in tree.findall(nodes.Element):
        is_kept = isinstance(each, nodes.literal | nodes.literal_block | nodes.math | nodes.doctest_block | nodes.table)
        uri = each.get("refuri", "")
        found.append(f"{type(each).__name__} {uri} {each.astext() if is_kept else ''}")
    return found


def test_prose_is_translated_and_docutils_finds_the_same_elements():
    after = translated("a.rst", RST.encode())
    for each in ("print", "not = prose", "kept", "call(name)", "name : type", ":rtype: a type", "replace:: never"):
        assert each in after.decode()
    for each in (
        "ITS TITLE",
        "*WORDS* OF A **PARAGRAPH**",
        "ESCAPED\\*",
        "``x``\\ S",
        "PAGE <https://example.org>`__",
    ):
        assert each in after.decode()
    shown = sorted(text.replace("\n", " ") for text in texts(read_document("a.rst", RST.encode())))
    assert len(shown) == 21
    assert "One item in two lines" in shown
    assert "`THE SECTION <The Section_>`__" in after.decode()
    assert ".. _`The Section`:\n\nTHE SECTION\n-----------" in after.decode()
    expected = [each for each in structure(RST.encode()) if not each.startswith("target")]
    assert [each for each in structure(after) if not each.startswith("target")] == expected


def test_without_a_change_the_file_is_the_same():
    data = RST.encode()
    copies = [TaggedText(each.text, each.spans, each.kept) for each in read_document("a.rst", data).segments]
    assert reworded("a.rst", data, copies) == data
    assert unchanged("a.rst", data.replace(b"\n", b"\r\n")) == data.replace(b"\n", b"\r\n")


@pytest.mark.parametrize(
    ("source", "text", "written"),
    [
        ("Title\n=====\n", "A longer title", "A longer title\n==============\n"),
        ("Title\n=====\n", "\u6807\u9898\u6807\u9898", "\u6807\u9898\u6807\u9898\n========\n"),
        ("One two\n", "- 3 * 4_ `a` |b|", "\\- 3 \\* 4\\_ \\`a\\` \\|b\\|\n"),
        ("One two\n", "1. first", "\\1. first\n"),
        ("Example::\n\n   code\n", "Beispiel", "Beispiel::\n\n   code\n"),
        ("Example ::\n\n   code\n", "Beispiel", "Beispiel ::\n\n   code\n"),
        ("- One\n  two three\n", "eins zwei drei vier", "- eins zwei\n  drei vier\n"),
    ],
)
def test_what_is_written_is_read_again(source: str, text: str, written: str):
    after = reworded("a.rst", source.encode(), [TaggedText(text)])
    assert after.decode() == written
    assert len(structure(after)) == len(structure(source.encode()))


def test_notation_inside_a_word_is_separated():
    source = b"A *word* here\n"
    written = reworded("a.rst", source, [TaggedText("Einwortda", (TagSpan(3, 7, 0),))])
    assert written == b"Ein\\ *wort*\\ da\n"
    assert "emphasis  " in structure(written)


def test_a_translation_that_loses_notation_is_not_written():
    source = b"A ``word`` here\n"
    assert reworded("a.rst", source, [TaggedText("Ein Wort hier")]) == source


def test_names_of_targets_stay():
    source = b"See `The docs`_ and `the docs <https://example.org>`_.\n"
    bare = b"See `<https://example.org>`__ and more.\n"
    assert translated("a.rst", bare) == bare.replace(b"See", b"SEE").replace(b"and more", b"AND MORE")
    single = b"See `docs <https://example.org>`_, Docs_.\n"
    assert translated("a.rst", single) == single.replace(b"See", b"SEE")
    written = translated("a.rst", source)
    assert written == b"SEE `THE DOCS <The docs_>`__ AND `the docs <https://example.org>`_.\n"


def test_a_title_with_a_target_of_its_name_gets_no_second_one():
    source = b"See Home_.\n\nHome\n----\n\n.. _home: https://example.org\n"
    assert translated("a.rst", source) == source.replace(b"See", b"SEE").replace(b"Home\n-", b"HOME\n-")


def test_many_markers_in_a_line_are_read():
    read_document("a.rst", b"- " * 50_000 + b"a\n\n" + b"(a) " * 20_000 + b"b\n")
