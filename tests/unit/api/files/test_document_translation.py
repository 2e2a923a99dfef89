"""Documents through a translator."""

from pathlib import Path

import pytest

from dragoman.api.files import document_translation
from dragoman.api.files.document_translation import FlaggedTexts, read_bytes, translate_document
from dragoman.api.translation.markup import TranslatedMarkup
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.server.bundles import tiny_bundle as bundle_of_languages
from tests.unit.cli.tiny_translators import tiny_bundle


def test_all_of_a_document_is_translated_and_told_of():
    translator = Translator.open(tiny_bundle(), engine="torch", threads=1, search=SearchSettings(max_length=4))
    told: list[tuple[int, int]] = []
    lines = [f"line {'abc'[number % 3]} {number}" for number in range(70)]
    result = translate_document(
        translator, "a.txt", "\n12\n".join(lines).encode(), lambda done, total: told.append((done, total))
    )
    assert (result.summary, result.left.total()) == ("70 texts: 70 translated", 0)
    written = result.data.decode().split("\n")
    assert told == [(0, 70), (64, 70), (70, 70)]
    assert written[1::2] == ["12"] * 69
    assert all(new != old for new, old in zip(written[::2], lines, strict=True))


def test_the_file_says_its_new_language():
    translator = Translator.open(tiny_bundle(), engine="torch", threads=1, search=SearchSettings(max_length=4))
    result = translate_document(translator, "a.tmx", b"<tmx><body><tu><tuv><seg>a b</seg></tuv></tu></body></tmx>")
    assert f'xml:lang="{translator.languages[1] or "und"}"'.encode() in result.data


def test_translations_into_another_language_are_not_mixed(tmp_path: Path):
    bundle = bundle_of_languages(tmp_path / "en-pt", "en", "pt")
    translator = Translator.open(bundle, engine="torch", threads=1, search=SearchSettings(max_length=4))
    told: list[tuple[int, int]] = []
    data = b'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a b"\nmsgstr ""\n\nmsgid "Close"\nmsgstr "Zu"\n'
    with pytest.raises(DataError, match=r"a\.po must be translated to de"):
        translate_document(translator, "a.po", data, lambda done, total: told.append((done, total)))
    assert told == []
    assert b"Language: pt" in translate_document(translator, "a.po", data.replace(b"Zu", b"")).data


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.docx"
    path.write_bytes(b"12345")
    assert read_bytes(path) == b"12345"
    monkeypatch.setattr(document_translation, "MAX_BYTES", 4)
    with pytest.raises(DataError, match="must have at most 4 bytes, got 5"):
        read_bytes(path)


def test_texts_that_are_left_and_flags_are_reported(monkeypatch: pytest.MonkeyPatch):
    def damaging(_: Translator, segments: list[TaggedText]) -> TranslatedMarkup:
        return TranslatedMarkup([TaggedText(each.text.replace("12", "13")) for each in segments], {1: "lost {name}"})

    monkeypatch.setattr(document_translation, "translate_markup", damaging)
    translator = Translator.open(tiny_bundle(), engine="torch", threads=1)
    data = b"Twelve is 12.\nHello {name}.\nThe dog has 12 years.\n"
    found = translate_document(translator, "a.txt", data, flags=frozenset({"numbers"}))
    assert found.summary == "3 texts: 2 translated, 1 left (1 placeholders)"
    assert found.flagged == {
        "placeholders": FlaggedTexts(1, 2, "lost {name}"),
        "numbers": FlaggedTexts(2, 1, "lost 12; new 13"),
    }
    assert translate_document(translator, "a.txt", data).flagged.keys() == {"placeholders"}


def test_a_text_that_the_guard_accepted_is_not_left(monkeypatch: pytest.MonkeyPatch):
    def renaming(_: Translator, segments: list[TaggedText]) -> TranslatedMarkup:
        return TranslatedMarkup([TaggedText(each.text.replace("file", "Datei")) for each in segments], {})

    monkeypatch.setattr(document_translation, "translate_markup", renaming)
    translator = Translator.open(tiny_bundle(), engine="torch", threads=1)
    data = b"In room 5: {n, plural, one {file} other {file too}}\nA {file}\n"
    assert translate_document(translator, "a.txt", data, flags=frozenset({"numbers"})).flagged == {}
