"""Terms are found as whole words, the longest first, and a faulty file is named line by line."""

import random
import tracemalloc
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.text.glossary import Glossary, GlossaryTerm, doubtful_copies, lenient_glossary
from testkit.growth import growth


def found(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    terms = glossary.find_terms(text)
    assert all(text[term.start : term.end] == term.source for term in terms)
    assert all(before.end <= after.start for before, after in pairwise(terms))
    return [(term.source, term.target) for term in terms]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "terms.tsv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The house is red.", ["Haus"]),
        ("The lighthouse is red.", []),
        ("A house-boat, houses", ["Haus"]),
        ("house", ["Haus"]),
        ("House, house", ["Haus", "Haus"]),
        ("The White House is red.", ["Weißes Haus"]),
        ("the  white\u00a0house", ["Weißes Haus"]),
        ("White. House", ["Haus"]),
        ("white white house", ["Weißes Haus"]),
        ("C++ or C", ["C++", "C"]),
        ("", []),
    ],
)
def test_whole_words_and_the_longest_first(text: str, expected: list[str]):
    glossary = Glossary.from_dict({"house": "Haus", "White House": "Weißes Haus", "C": None, "C++": None})
    assert [target for _, target in found(glossary, text)] == expected


def test_scripts_without_spaces_anywhere():
    glossary = Glossary.from_dict({"北京": "Peking", "北京大学": "Universität Peking", "Python": "Python", "か": "ka"})
    assert found(glossary, "我在北京大学用Python写，北京") == [
        ("北京大学", "Universität Peking"),
        ("Python", "Python"),
        ("北京", "Peking"),
    ]
    assert found(glossary, "か\u3099") == []  # the mark makes another letter of it


def test_the_exact_case_comes_first():
    glossary = Glossary.from_dict({"apple": "Apfel", "Apple": "Apple Inc."})
    assert [target for _, target in found(glossary, "Apple apple APPLE")] == ["Apple Inc.", "Apfel", "Apfel"]


def test_a_term_that_is_not_translated_stays_as_it_stands():
    assert found(Glossary.from_dict({"iPhone": None}), "an IPHONE") == [("IPHONE", "IPHONE")]


def test_composed_and_decomposed_letters_are_the_same():
    assert found(Glossary.from_dict({"café": "Kaffeehaus"}), "cafe\u0301 cafe") == [("cafe\u0301", "Kaffeehaus")]
    assert found(Glossary.from_dict({"किताब": "Buch"}), "किताब किताबें") == [("किताब", "Buch")]


def test_a_file(tmp_path: Path):
    path = written(
        tmp_path, "\ufeff# terms\r\nhouse\tHaus\r\n\r\nWhite House \t Weißes Haus\r\niPhone\nhouse\tHaus".encode()
    )
    glossary = Glossary.from_file(path)
    assert glossary.terms == {"house": "Haus", "White House": "Weißes Haus", "iPhone": None}
    assert len(glossary) == 3
    assert glossary.find_terms("a house") == [GlossaryTerm("house", "Haus", 2, 7)]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a\tb\nc\td\te\n", ":2: a line must be a term"),
        (b"\tb\n", ":1: a line must be a term"),
        (b"a\t\t\n", ":1: a line must be a term"),
        (b"# x\n\xff\tb\n", ":2: text must be UTF-8"),
        (b"a\tb\na\tc\n", ":2: a term must have one translation, got 'c' for 'a' and 'b' in line 1"),
        (b"a\tb\na\n", ":2: a term must have one translation, got no translation"),
        ("a\tb\nb\t\u200b\xad\n".encode(), ":2: a line must be a term"),
        ("a\tb\n\u2060\tb\n".encode(), ":2: a line must be a term"),
        ("ab\tb\na\xadb\tc\n".encode(), ":2: a term must have one translation"),
    ],
)
def test_a_faulty_file_says_where(tmp_path: Path, content: bytes, fault: str):
    path = written(tmp_path, content)
    with pytest.raises(DataError, match="must") as caught:
        Glossary.from_file(path)
    assert str(caught.value).startswith(f"{path}{fault}")


def test_normalised_terms_know_where_they_stand(tmp_path: Path):
    path = written(tmp_path, "# x\ncafe\u0301\tKaffeehaus\n".encode())
    glossary = Glossary.from_file(path).normalized(lambda text: unicodedata.normalize("NFC", text))
    assert glossary.terms == {"café": "Kaffeehaus"}
    assert glossary.location("café") == f"{path}:2: "
    assert glossary.location("other") == ""


def test_the_digest_tells_glossaries_apart():
    terms: list[dict[str, str | None]] = [{}, {"a": "b"}, {"a": None}, {"a": "None"}, {"A": "x", "a": "y"}]
    terms.append({"a": "y", "A": "x"})
    assert len({Glossary.from_dict(each).digest for each in terms}) == 6
    assert Glossary.from_dict({"a": "b"}).digest == Glossary.from_dict({"a ": "b"}).digest


def test_no_file(tmp_path: Path):
    with pytest.raises(DataError, match=r"the glossary .* does not exist"):
        Glossary.from_file(tmp_path / "none.tsv")


@pytest.mark.parametrize(
    "terms",
    [{"": "a"}, {" ": None}, {"a": "\t"}, {"a\ud800": "b"}, {"a": "\u200b"}, {"\xad": None}, {"a": "b", " a": "c"}],
)
def test_terms_of_nothing_are_refused(terms: dict[str, str | None]):
    with pytest.raises(DataError, match="must"):
        Glossary.from_dict(terms)


words = st.lists(st.sampled_from(["a", "b", "C"]), min_size=1, max_size=3).map(" ".join)


@given(st.dictionaries(words, st.just("x"), max_size=6), st.lists(st.sampled_from(["a", "b", "c", "A"]), max_size=12))
def test_it_is_the_plain_longest_match(terms: dict[str, str | None], text: list[str]):
    lowered = {tuple(term.lower().split()) for term in terms}
    expected, place = [], 0
    while place < len(text):
        sizes = [n for n in (3, 2, 1) if tuple(word.lower() for word in text[place : place + n]) in lowered]
        if sizes:
            expected.append(" ".join(text[place : place + sizes[0]]))
        place += sizes[0] if sizes else 1
    assert [source for source, _ in found(Glossary.from_dict(terms), " ".join(text))] == expected


@given(st.text(max_size=40))
def test_any_text_is_fine(text: str):
    found(Glossary.from_dict({"a": "b", "0": None, "é": "e"}), text)


@pytest.mark.parametrize("part", ["a ", "a", "\u0301", "北"])
def test_ten_thousand_terms_and_hostile_texts(part: str):
    chance = random.Random(1)
    terms = {" ".join(chance.choices("abcdefgh", k=6)): "x" for _ in range(10_000)} | {"a a a a b": "y", "北北京": "z"}
    glossary = Glossary.from_dict(terms)
    glossary.find_terms(part)
    assert growth(lambda count: glossary.find_terms(part * count), 5_000) < 30


def test_terms_of_many_words_take_memory_for_their_characters():
    marks = random.Random(1)
    terms: dict[str, str | None] = {"".join(marks.choices("!?.,;:()[]", k=1000)): "x" for _ in range(30)}
    glossary = Glossary(terms)
    tracemalloc.start()
    try:
        assert glossary.find_terms("Two dogs. " + next(iter(terms)))[0].target == "x"
        assert tracemalloc.get_traced_memory()[1] < 40 * sum(map(len, terms))
    finally:
        tracemalloc.stop()


def test_a_term_is_found_among_longer_ones_that_begin_with_it():
    glossary = Glossary({"a": "1", "a b": "2", "a b c d": "3", "a bb": "4", "b": "5"})
    assert [found.target for found in glossary.find_terms("a b c x a bc a c a b c d ab")] == ["2", "1", "1", "3"]


@pytest.mark.parametrize("separator", [",", ", ", ";"])
def test_commas_instead_of_tabs_are_refused_with_the_fix(tmp_path: Path, separator: str):
    path = tmp_path / "terms.txt"
    path.write_text(f"# terms\nhouse{separator}Haus\ndog{separator}Hund\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"terms\.txt:2: .* by a tab, got .*; write tabs, or name the file terms"):
        Glossary.from_file(path)


def test_a_term_with_a_comma_among_tabs_is_a_term(tmp_path: Path):
    path = tmp_path / "terms.tsv"
    path.write_text("Foo, Inc.\nhouse\tHaus\n", encoding="utf-8")
    assert Glossary.from_file(path).terms == {"Foo, Inc.": None, "house": "Haus"}


@pytest.mark.parametrize("separator", [",", ";"])
def test_csv_files_are_read(tmp_path: Path, separator: str):
    path = tmp_path / "terms.csv"
    path.write_text(f'house{separator}Haus\n"Foo, Inc."{separator}"Foo; AG"\niPhone\n', encoding="utf-8")
    assert Glossary.from_file(path).terms == {"house": "Haus", "Foo, Inc.": "Foo; AG", "iPhone": None}


@pytest.mark.parametrize(("separator", "name"), [(",", "terms.csv"), (";", "terms.csv"), ("\t", "terms.tsv")])
def test_an_empty_cell_is_no_translation(tmp_path: Path, separator: str, name: str):
    """A spreadsheet writes the separator before an empty cell."""
    path = tmp_path / name
    path.write_text(f"house{separator}Haus\nTom{separator}\nAnna{separator} \r\n", encoding="utf-8")
    assert Glossary.from_file(path).terms == {"house": "Haus", "Tom": None, "Anna": None}


def test_a_lenient_glossary_leaves_out_what_it_cannot_use():
    glossary = lenient_glossary({"a\u200b": "x", "a": "y", " ": "z", "b": "w"})

    assert glossary.terms == {"a": "x", "b": "w"}
    assert glossary.normalized(str.upper).is_lenient


def test_lines_that_look_like_two_columns_without_a_tab(tmp_path: Path):
    path = tmp_path / "terms.tsv"
    path.write_text("dog\tHund\nNew York\nDragoman\ncat Katze\nbird,Vogel\n", encoding="utf-8")
    glossary = Glossary.from_file(path)
    assert doubtful_copies(glossary) == ["cat Katze", "bird,Vogel"]
    assert glossary.location("cat Katze") == f"{path}:4: "


TBX = """<?xml version="1.0"?><!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX"><martifHeader><fileDesc/></martifHeader><text><body>
<termEntry id="1"><langSet xml:lang="en"><tig><term>para<!-- c -->meter</term></tig>
<tig><term>formal parameter</term></tig>
</langSet><langSet xml:lang="fr"><tig><term>paramètre</term></tig></langSet><langSet xml:lang="pt"><tig>
<term>parâmetro antigo</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig>
<tig><term>argumento</term></tig></langSet></termEntry><termEntry><langSet xml:lang="en"><tig><term>x</term></tig>
</langSet></termEntry></body></text></martif>"""
TMX = """<tmx version="1.4"><header srclang="en-US"/><body><tu><tuv xml:lang="pt-BR"><seg>casa</seg></tuv>
<tuv xml:lang="en-US"><seg>the <bpt i="1">&lt;b></bpt>house<ept i="1">&lt;/b></ept></seg></tuv></tu></body></tmx>"""
TABLES = {
    "names": ("t.csv", "source,target\nhouse,casa\n"),
    "names of languages": ("t.tsv", "English\tPortuguese\nhouse\tcasa\n"),
    "languages and a note": ("t.csv", "English;Portuguese;Note\nhouse;casa;a; b\n"),
    "codes": ("t.csv", "en;pt\nhouse;casa\n"),
    "codes in the other order": ("t.tsv", "pt-BR\tde\tEN\ncasa\tHaus\thouse\n"),
    "more columns": ("t.csv", 'id,term,translation,note\n1,house,casa,"a, b"\n'),
    "languages of each term": ("t.csv", "house,casa,en,pt\n"),
}


@pytest.mark.parametrize(("name", "content"), TABLES.values(), ids=TABLES)
def test_a_header_names_the_columns(tmp_path: Path, name: str, content: str):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert Glossary.from_file(path, languages=("en", "pt")).terms == {"house": "casa"}


@pytest.mark.parametrize(("name", "header"), [("g.tsv", "en\tde"), ("g.csv", "en-GB,de,fr"), ("g.tsv", "DE\ten")])
def test_columns_in_other_languages_are_refused(tmp_path: Path, name: str, header: str):
    path = tmp_path / name
    path.write_text(f"{header}\nhouse{header[2] if name == 'g.tsv' else ','}Haus\n", encoding="utf-8")
    with pytest.raises(DataError, match="the columns must be in en and pt, got"):
        Glossary.from_file(path, languages=("en", "pt"))


@pytest.mark.parametrize("line", ["it\tes", "term\tTermin", "text\tstring", "source\tSource"])
def test_a_term_is_no_header(tmp_path: Path, line: str):
    source, target = line.split("\t")
    assert Glossary.from_file(written(tmp_path, line.encode())).terms == {source: target}


def test_exchange_formats_are_read(tmp_path: Path):
    tbx, tmx = tmp_path / "a.tbx", tmp_path / "a.xml"
    tbx.write_text(TBX, encoding="utf-8")
    tmx.write_text(TMX, encoding="utf-8")
    found = Glossary.from_file(tbx, languages=("en", "pt-BR"))
    assert found.terms == {"parameter": "argumento", "formal parameter": "argumento"}
    assert found.location("parameter") == f"{tbx}:3: "
    assert Glossary.from_file(tmx).terms == {"the house": "casa"}


FAULTS = {
    "entities": (b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx/>', "declares entities"),
    "other XML": (b"<?xml version='1.0'?><xliff/>", "TBX or TMX, got XML with the root <xliff>"),
    "damaged XML": (b"<tmx><body>", "must be well-formed XML"),
    "other languages": (TBX.encode(), "has terms in en, fr, pt only, but must have them in two languages; give"),
    "deep": (b"<tmx>" + b"<a>" * 200, "at most 100 nested elements"),
    "spreadsheet": (b"PK\x03\x04...", "not a spreadsheet or an archive; save it as CSV"),
    "UTF-16": ("a\tb".encode("utf-16"), "got UTF-16; save the file as UTF-8"),
    "columns": (b"English\tGerman\tFrench\na\tb\tc\n", "must name one column for terms and one for translations"),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS)
def test_other_files_are_refused_by_name(tmp_path: Path, content: bytes, message: str):
    with pytest.raises(DataError, match=message):
        Glossary.from_file(written(tmp_path, content))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"a\rb,c\n", ":1: a line must be a row of CSV, got: new-line character"),
        ("a.csv", b"a," + b"b" * 200_000, ":1: a line must be a row of CSV, got: field larger"),
        *(
            ("a.tmx", f"<?xml version='1.0' encoding='{encoding}'?><tmx/>".encode(), "is neither UTF-8 nor UTF-16")
            for encoding in ("idna", "hex", "utf-7", "gbk")
        ),
    ],
)
def test_what_the_parsers_of_python_do_not_read_is_one_line(tmp_path: Path, name: str, content: bytes, message: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        Glossary.from_file(tmp_path / name, languages=("en", "de"))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices")
def test_a_file_without_an_end_is_refused():
    with pytest.raises(DataError, match="must have at most 67,108,864 bytes, got more"):
        Glossary.from_file(Path("/dev/zero"))
