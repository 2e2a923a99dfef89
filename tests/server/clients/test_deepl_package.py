"""DeepL's own Python package and its command against a real server, unchanged."""

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.server.access.api_keys import create_key
from tests.server.fake_server import running

deepl: Any = pytest.importorskip("deepl")

TERMS = {"dogs": "Hunde", "snow": "Schnee"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    key = create_key(keys, "anna")
    with pytest.MonkeyPatch.context() as patch:  # it is killed, and cannot delete the documents it keeps
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("documents")))
        with running({"keys": str(keys), "database": f"sqlite:///{keys}.db"}) as started:
            yield started.url, key


@pytest.fixture
def client(server: tuple[str, str]) -> Any:
    url, key = server
    return deepl.DeepLClient(key, server_url=url)


def test_texts(client: Any) -> None:
    one = client.translate_text("Two dogs", target_lang="DE", source_lang="EN")
    many = client.translate_text(
        ["Two dogs play in the snow", "A man sleeps on a bench"], target_lang="de", formality="more"
    )
    tagged = client.translate_text(
        'Two <b>dogs</b> <x id="1"></x> <code>a b</code>',
        target_lang="DE",
        source_lang="EN",
        tag_handling="xml",
        ignore_tags=["x", "code"],
        split_sentences="0",
        preserve_formatting=True,
        outline_detection=False,
    )

    assert (one.text, one.detected_source_lang, one.billed_characters) == ("Two-de dogs-de", "EN", 8)
    assert [each.detected_source_lang for each in many] == ["EN", "EN"]
    assert tagged.text == 'Two-de <b>dogs-de</b> <x id="1"></x> <code>a b</code>'
    assert client.translate_text("Zwei", source_lang="DE", target_lang="EN-US").text == "Zwei-en"


def test_languages_and_usage(client: Any) -> None:
    assert {"DE", "EN", "FR", "ZH"} == {each.code for each in client.get_source_languages()}
    assert {"DE", "EN-GB", "EN-US"} <= {each.code for each in client.get_target_languages()}
    before = client.get_usage().character.count
    client.translate_text("Two dogs", target_lang="DE")
    assert client.get_usage().character.count == before + 8
    assert not client.get_usage().any_limit_reached
    pairs = {(each.source_lang, each.target_lang) for each in client.get_glossary_languages()}
    assert ("en", "de") in pairs


def test_glossaries_of_version_2(client: Any) -> None:
    made = client.create_glossary("Winter", source_lang="EN", target_lang="DE", entries=TERMS)
    found = client.translate_text("Two dogs in snow", target_lang="DE", source_lang="EN", glossary=made)

    assert (made.name, made.entry_count, made.ready) == ("Winter", 2, True)
    assert found.text == "Two-de Hunde in-de Schnee"
    assert client.get_glossary_entries(made) == TERMS
    assert made.glossary_id in [each.glossary_id for each in client.list_glossaries()]
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    client.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_glossaries_of_version_3(client: Any) -> None:
    entries = deepl.api_data.MultilingualGlossaryDictionaryEntries
    made = client.create_multilingual_glossary(
        "Winter", [entries("EN", "DE", TERMS), entries("DE", "EN", {"Hunde": "dogs"})]
    )

    assert [each.entry_count for each in made.dictionaries] == [2, 1]
    found = client.translate_text("Zwei Hunde", target_lang="EN-US", source_lang="DE", glossary=made)
    assert found.text == "Zwei-en dogs"
    client.update_multilingual_glossary_name(made, "Cold")
    client.update_multilingual_glossary_dictionary(made, entries("EN", "DE", {"ice": "Eis"}))
    client.replace_multilingual_glossary_dictionary(made, entries("DE", "EN", {"Eis": "ice"}))
    again = client.get_multilingual_glossary(made.glossary_id)
    assert (again.name, sorted(each.entry_count for each in again.dictionaries)) == ("Cold", [1, 3])
    assert client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries
    assert made.glossary_id in [each.glossary_id for each in client.list_multilingual_glossaries()]
    client.delete_multilingual_glossary_dictionary(made, source_lang="DE", target_lang="EN")
    client.delete_multilingual_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary(made.glossary_id)


def test_documents(client: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "letter.txt", tmp_path / "brief.txt"
    path.write_text("Two dogs\n")
    client.translate_document_from_filepath(path, out, target_lang="DE", source_lang="EN", formality="less")

    assert out.read_text() == "Two-de dogs-de\n"
    with pytest.raises(deepl.DeepLException, match="file format not supported"):
        client.translate_document(io.BytesIO(b"a"), io.BytesIO(), target_lang="DE", filename="letter.xyz")


def test_a_wrong_key(server: tuple[str, str]) -> None:
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("guess", server_url=server[0]).translate_text("Two", target_lang="DE")


def test_the_command(server: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Two dogs")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "deepl", "--auth-key", server[1], "--server-url", server[0], *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.strip()

    assert run("text", "--from", "EN", "--to", "DE", "--formality", "less", "Two dogs") == "Two-de dogs-de"
    assert "Character" in run("usage")
    assert "DE" in run("languages")
    run("document", "--from", "EN", "--to", "DE", str(tmp_path / "a.txt"), str(tmp_path / "out"))
    assert (tmp_path / "out" / "a.txt").read_text() == "Two-de dogs-de"
    run("glossary", "create", "--name", "Snow", "--from", "EN", "--to", "DE", "dogs=Hunde")
    assert "Snow" in run("glossary", "list")


def test_translation_memories(client: Any, tmp_path: Path) -> None:
    unit = "<tu><tuv xml:lang='{}'><seg>Two big dogs play</seg></tuv><tuv xml:lang='de'><seg>{}</seg></tuv></tu>"
    body = unit.format("en", "Zwei Hunde spielen") + unit.format("fr", "x")
    (tmp_path / "a.tmx").write_text(f"<tmx version='1.4'><header srclang='en'/><body>{body}</body></tmx>")
    job = client.import_translation_memory_from_filepath(tmp_path / "a.tmx", display_name="dogs")
    assert job.ok
    (memory,) = client.list_translation_memories()
    assert (memory.name, memory.segment_count) == ("dogs", 2)
    assert client.get_translation_memory(memory).translation_memory_id == memory.translation_memory_id
    page = client.list_translation_memory_segments(memory, filter_text="spielen")
    assert [each.source_text for each in page.segments] == ["Two big dogs play"]
    given = {"source_lang": "EN", "target_lang": "DE", "translation_memory": memory}
    assert client.translate_text("Two big dogs play", **given).text == "Zwei Hunde spielen"
    assert client.translate_text("Two small dogs play", **given).text == "Zwei Hunde spielen"  # 75 of 100
    one = client.translate_text("Two small dogs play", **given, translation_memory_threshold=90)
    assert one.text == "Two-de small-de dogs-de play-de"
    client.export_translation_memory_to_filepath(memory, tmp_path / "b.tmx")
    assert "Zwei Hunde spielen" in (tmp_path / "b.tmx").read_text("utf-8")
    (tmp_path / "bad.tmx").write_text("<html/>")
    with pytest.raises(deepl.DeepLException, match="must be TMX"):
        client.import_translation_memory_from_filepath(tmp_path / "bad.tmx")
    client.delete_translation_memory(memory)
    with pytest.raises(deepl.DeepLException):
        client.get_translation_memory(memory)
