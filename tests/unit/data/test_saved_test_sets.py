"""Test sets that a run keeps."""

from pathlib import Path

import pytest

from dragoman.data.saved_test_sets import load_test_sets, save_test_sets, text_file_names
from dragoman.errors import DataError


def test_sets_are_read_back_as_they_were_written(tmp_path: Path):
    sets = [("news", ["a b", "中文"], ["c", "d"], ("en", "de")), ("other", ["e"], ["f"], ("en", "fr"))]
    save_test_sets(tmp_path, sets)
    first, second = load_test_sets(tmp_path)
    assert (first.name, first.sentences, second.name) == ("news", 2, "other")
    assert (first.languages, second.languages) == (("en", "de"), ("en", "fr"))
    assert first.source == tmp_path / "test" / "test.en"
    assert first.source.read_text("utf-8") == "a b\n中文\n"
    assert first.reference.read_text("utf-8") == "c\nd\n"
    assert second.reference.read_text("utf-8") == "f\n"


def test_a_run_without_test_sets_has_none(tmp_path: Path):
    save_test_sets(tmp_path, [])
    assert load_test_sets(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_sentence_stays_on_its_line(tmp_path: Path):
    save_test_sets(tmp_path, [("test", ["a\nb\u2028c"], ["d"], ("en", "en"))])
    (found,) = load_test_sets(tmp_path)
    assert found.source.read_text("utf-8") == "a b c\n"
    assert found.source != found.reference, "one language on both sides needs two files"


def test_an_index_of_other_content_is_refused(tmp_path: Path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "sets.json").write_text('[{"name": "x"}]', encoding="utf-8")
    with pytest.raises(DataError, match=r"is no list of test sets .*; name the files"):
        load_test_sets(tmp_path)


def test_file_names_tell_the_sides_apart():
    assert text_file_names("test", "zh", "en") == ("test.zh", "test.en")
    assert len(set(text_file_names("test", "en", "en"))) == 2
