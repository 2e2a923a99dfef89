"""Terms are found as whole words, the longest first, and a faulty file is named line by line."""

import random
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.text.glossary import Glossary, GlossaryTerm, doubtful_copies, header_term, lenient_glossary
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
    with pytest.raises(DataError, match="got a path that does not exist"):
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


def test_a_header_is_recognised():
    assert header_term(Glossary.from_dict({"term": "translation", "bank": "Ufer"})) == "term"
    assert header_term(Glossary.from_dict({"English": "German"})) == "English"
    assert not header_term(Glossary.from_dict({"bank": "Ufer", "term": "translation"}))
    assert not header_term(Glossary.from_dict({"source": "Quelle"}))
    assert not header_term(Glossary.from_dict({}))
