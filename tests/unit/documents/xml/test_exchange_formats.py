"""XLIFF and TMX documents."""

import re
from pathlib import Path

import pytest
from lxml import etree

from dragoman.documents.document import select_target
from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.uppercase_translation import reworded, texts, translated, unchanged, uppercased

XLIFF_1 = b"""<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a" source-language="en" datatype="plaintext">
    <body>
      <trans-unit id="1">
        <source>A <g id="b">small</g> house<x id="br"/> here</source>
      </trans-unit>
      <trans-unit id="2" translate="no"><source>Name</source></trans-unit>
      <trans-unit id="3"><source>Done</source><target>Fertig</target></trans-unit>
      <trans-unit id="4"><source>Fresh</source><target state="new">Fresh</target></trans-unit>
      <trans-unit id="5" approved="yes"><source>Good</source><target state="new"/></trans-unit>
      <trans-unit id="6"><source>One. Two.</source><seg-source
        ><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source>
      </trans-unit>
      <group translate="no"><trans-unit id="7"><source>Never</source></trans-unit></group>
      <trans-unit id="8"><source>42</source></trans-unit>
    </body>
  </file>
</xliff>
"""
XLIFF_2 = b"""<xliff version="2.1" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="u">
  <originalData><data id="d1">&lt;br/&gt;</data></originalData>
  <segment id="s1"><source>Press <pc id="1">the <ph id="2" dataRef="d1"/>button</pc> now</source></segment>
  <ignorable><source> - </source></ignorable>
  <segment id="s2" state="final"><source>Done</source><target>Fertig</target></segment>
  <segment id="s3" state="initial"><source>Again</source><target>Again</target></segment>
 </unit><unit id="v" translate="no"><segment><source>Never</source></segment></unit></file>
</xliff>"""
MEMORY = b"""<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
 <header srclang="en-US" datatype="plaintext"/>
 <body>
  <tu tuid="1">
   <tuv xml:lang="fr"><seg>Une maison</seg></tuv>
   <tuv xml:lang="en-US"><seg>A <hi type="b">small</hi> house<ph x="1">&lt;br></ph></seg></tuv>
  </tu>
  <tu tuid="2"><tuv xml:lang="EN"><seg>Done</seg></tuv><tuv xml:lang="de-DE"><seg>Fertig</seg></tuv></tu>
 </body>
</tmx>
"""


def units(data: bytes) -> dict[str, etree._Element]:
    return {unit.get("id"): unit for unit in etree.fromstring(data).iter("{*}trans-unit", "{*}segment")}


def written(element: etree._Element) -> str:
    """Return an element as text, without its namespace and the mark of the translation."""
    return re.sub(
        ' (xmlns|subState|extradata)="[^"]*"', "", etree.tostring(element, with_tail=False, encoding="unicode")
    )


def test_xliff_1_reads_untranslated_units():
    document = read_document("a.xlf", XLIFF_1)
    assert texts(document) == ["A small house here", "Fresh", "One.", "Two."]
    assert document.segments[0] == TaggedText("A small house here", (TagSpan(2, 7, 0), TagSpan(13, 13, 1)))


def test_xliff_1_gets_targets():
    result = translated("a.xliff", XLIFF_1)
    assert b"""</source>
        <target state="needs-review-translation">A <g id="b">SMALL</g> HOUSE<x id="br"/> HERE</target>
      </trans-unit>""" in result.replace(b' state-qualifier="mt-suggestion"', b"")
    found = units(result)
    assert (
        written(found["4"][1])
        == '<target state="needs-review-translation" state-qualifier="mt-suggestion">FRESH</target>'
    )
    assert written(found["6"][2]) == (
        '<target state="needs-review-translation" state-qualifier="mt-suggestion"><mrk mtype="seg" mid="0">ONE.</mrk> '
        '<mrk mtype="seg" mid="1">TWO.</mrk></target>'
    )
    assert [found[name].find("{*}target") is not None for name in "23578"] == [False, True, True, False, False]
    assert b'target-language="de"' in result
    without = result.replace(b' target-language="de"', b"")
    for name in "2378":
        assert etree.tostring(units(XLIFF_1)[name]) == etree.tostring(units(without)[name])


def test_xliff_2_gets_targets():
    assert texts(read_document("a.xlf", XLIFF_2)) == ["Press the button now", "Again"]
    result = translated("a.xlf", XLIFF_2)
    found = units(result)
    assert written(found["s1"]) == (
        '<segment id="s1" state="translated"><source>Press <pc id="1">the <ph id="2" dataRef="d1"/>button</pc> now'
        '</source><target>PRESS <pc id="1">THE <ph id="2" dataRef="d1"/>BUTTON</pc> NOW</target></segment>'
    )
    assert written(found["s2"][1]) == "<target>Fertig</target>"
    assert written(found["s3"]) == (
        '<segment id="s3" state="translated"><source>Again</source><target>AGAIN</target></segment>'
    )
    assert b'trgLang="de"' in result


def test_tags_of_xliff_can_move():
    words = [TaggedText("hier klein", (TagSpan(0, 0, 1), TagSpan(5, 10, 0))), *map(TaggedText, "abc")]
    result = units(reworded("a.xlf", XLIFF_1, words))["1"]
    assert written(result[1]) == (
        '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
        '<x id="br"/>hier <g id="b">klein</g></target>'
    )


def test_translated_units_are_unchanged():
    for data in (XLIFF_1, XLIFF_2):
        once = translated("a.xlf", data)
        assert read_document("a.xlf", once).segments == ()
        assert unchanged("a.xlf", once) == once


SENTENCES = (
    '<xliff version="1.2"><file source-language="en" target-language="pt-BR"><body><trans-unit id="1"%s><source>One. '
    'Two.</source><seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1"><g id="a">Two</g>.</mrk>'
    '</seg-source><target%s><mrk mtype="seg" mid="0">Um.</mrk> <mrk mtype="seg" mid="1">%s</mrk></target></trans-unit>'
    "</body></file></xliff>"
)


def test_empty_sentences_of_a_target_are_translated():
    data = (SENTENCES % ("", "", "")).encode()
    assert texts(read_document("a.xlf", data)) == ["Two."]
    done = translated("a.xlf", data, "pt").decode()
    assert done == SENTENCES % ("", ' state="needs-review-translation"', '<g id="a">TWO</g>.')
    assert translated("a.xlf", done.encode(), "pt").decode() == done


@pytest.mark.parametrize(("unit", "target"), [(' approved="yes"', ""), ("", ' state="final"')])
def test_empty_sentences_of_a_confirmed_target_stay(unit: str, target: str):
    assert texts(read_document("a.xlf", (SENTENCES % (unit, target, "")).encode())) == []


def test_utf_16():
    data = XLIFF_1.decode().replace("UTF-8", "UTF-16").encode("utf-16")
    result = translated("a.xlf", data)
    assert result[:2] == data[:2]
    assert "FRESH" in result.decode("utf-16")


def test_a_translation_memory_gets_missing_variants():
    document = read_document("a.tmx", MEMORY)
    assert texts(document) == ["A small house", "Done"]
    result = translated("a.tmx", MEMORY, "de")
    added = (
        b"""</seg></tuv>
   <tuv xml:lang="de-DE"><prop type="x-dragoman">MARK</prop><seg>A <hi type="b">SMALL</hi> HOUSE<ph x="1">"""
        b"&lt;br&gt;</ph></seg></tuv>\n  </tu>"
    )
    assert added in re.sub(rb"dragoman:[0-9a-f]{12}-[0-9a-f]{12}", b"MARK", result), "with the tag of other variants"
    assert result.count(b"<tuv") == 5
    assert b'<!DOCTYPE tmx SYSTEM "tmx14.dtd">' in result
    assert translated("a.tmx", result, "de") == result
    assert translated("a.tmx", result, "it").count(b'xml:lang="it"') == 2


def test_units_that_have_a_translation_are_not_translated_again():
    document = read_document("a.tmx", MEMORY)
    several = texts(document)
    select_target(document, "fr")
    assert len(texts(document)) < len(several)
    assert document.write([uppercased(each) for each in document.segments], language="fr") == translated(
        "a.tmx", MEMORY, "fr"
    )


def test_a_long_declaration_is_refused_before_it_is_searched():
    long = b"<?xml version='1.0' " + b"encoding='utf-8' " * 20_000 + b"?>" + XLIFF_2
    with pytest.raises(DataError, match=r"the XML declaration of .* has more than 500 bytes"):
        read_document("a.xlf", long)
    with pytest.raises(DataError, match="must be UTF-8, got utf-7"):
        read_document("a.xlf", b'<?xml version="1.0" encoding="utf-7"?>' + XLIFF_2)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-16", "cp037", "utf-8"])
def test_entities_are_refused_in_every_encoding(encoding: str):
    hostile = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e "EXPANDED">]><a b="&e;"/>'
    with pytest.raises(DataError, match=r"declares entities|must be UTF-8, or UTF-16|must be well-formed"):
        read_document("a.xlf", hostile.encode(encoding))


def test_the_file_that_a_document_type_names_is_not_read(tmp_path: Path):
    named = tmp_path / "named.dtd"
    named.write_text("<!ELEMENT")  # an error if it is read
    for place in (named.as_uri(), "http://127.0.0.1:9/xliff.dtd"):
        data = XLIFF_1.replace(
            b"<xliff", f'<!DOCTYPE xliff PUBLIC "-//XLIFF//DTD XLIFF//EN" "{place}">\n<xliff'.encode(), 1
        )
        assert b"HOUSE" in translated("a.xliff", data)
