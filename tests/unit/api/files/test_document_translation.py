"""Documents through a translator."""

from pathlib import Path

import pytest

from dragoman.api.files import document_translation
from dragoman.api.files.document_translation import read_bytes, translate_document
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.errors import DataError
from tests.server.bundles import tiny_bundle as bundle_of_languages
from tests.unit.cli.tiny_translators import tiny_bundle


def test_all_of_a_document_is_translated_and_told_of():
    translator = Translator.open(tiny_bundle(), engine="torch", threads=1, search=SearchSettings(max_length=4))
    told: list[tuple[int, int]] = []
    lines = [f"line {'abc'[number % 3]} {number}" for number in range(70)]
    result = translate_document(
        translator, "a.txt", "\n12\n".join(lines).encode(), lambda done, total: told.append((done, total))
    )
    written = result.decode().split("\n")
    assert told == [(0, 70), (64, 70), (70, 70)]
    assert written[1::2] == ["12"] * 69
    assert all(new != old for new, old in zip(written[::2], lines, strict=True))


def test_the_file_says_its_new_language():
    translator = Translator.open(tiny_bundle(), engine="torch", threads=1, search=SearchSettings(max_length=4))
    result = translate_document(translator, "a.tmx", b"<tmx><body><tu><tuv><seg>a b</seg></tuv></tu></body></tmx>")
    assert f'xml:lang="{translator.languages[1] or "und"}"'.encode() in result


def test_translations_into_another_language_are_not_mixed(tmp_path: Path):
    bundle = bundle_of_languages(tmp_path / "en-pt", "en", "pt")
    translator = Translator.open(bundle, engine="torch", threads=1, search=SearchSettings(max_length=4))
    told: list[tuple[int, int]] = []
    data = b'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a b"\nmsgstr ""\n\nmsgid "Close"\nmsgstr "Zu"\n'
    with pytest.raises(DataError, match=r"a\.po must be translated to de"):
        translate_document(translator, "a.po", data, lambda done, total: told.append((done, total)))
    assert told == []
    assert b"Language: pt" in translate_document(translator, "a.po", data.replace(b"Zu", b""))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.docx"
    path.write_bytes(b"12345")
    assert read_bytes(path) == b"12345"
    monkeypatch.setattr(document_translation, "MAX_BYTES", 4)
    with pytest.raises(DataError, match="must have at most 4 bytes, got 5"):
        read_bytes(path)
