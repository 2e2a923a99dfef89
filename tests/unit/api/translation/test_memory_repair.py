"""Repair of similar units: what stays, what comes from the model, forms that agree, and texts that are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.word_alignment import repair
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.memory_reader import MemoryReader
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed


def aligned(source: str, text: str, links: str) -> Translation:
    """A scored pair; words are divided at spaces."""
    pairs = tuple((int(one), int(other)) for one, other in (each.split("-") for each in links.split()))
    return Translation(
        source, text, source_words=tuple(source.split()), target_words=tuple(text.split()), alignment=pairs
    )


UNIT = aligned("Remove the cover now", "Retire a tampa agora", "0-0 1-1 2-2 3-3")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param(aligned("Remove the lid now", "Tire a cobertura já", "0-0 1-1 2-2 3-3"),
                     "Retire a cobertura agora", id="a word is replaced"),
        pytest.param(aligned("Remove the screw now", "Tire o parafuso já", "0-0 1-1 2-2 3-3"),
                     "Retire o parafuso agora", id="the article agrees"),
        pytest.param(aligned("Remove the old cover now", "Tire a tampa velha já", "0-0 1-1 2-3 3-2 4-4"),
                     "Retire a tampa velha agora", id="a word is added"),
        pytest.param(aligned("Please Remove the cover now", "Favor tirar a tampa já", "0-0 1-1 2-2 3-3 4-4"),
                     "Favor Retire a tampa agora", id="a word is added before all"),
        pytest.param(aligned("Remove the cover", "Tire a tampa", "0-0 1-1 2-2"),
                     "Retire a tampa", id="a word is removed"),
        pytest.param(aligned("Remove the big lid now", "Remova a grande coisa cobertura já", "0-0 1-1 2-2 1-3 3-4 4-5"),
                     None, id="words that are not together"),
        pytest.param(Translation("Remove the lid now", "Tire a cobertura já"), None, id="no alignment"),
    ],
)  # fmt: skip
def test_only_what_differs_is_taken_from_the_model(own: Translation, expected: str | None) -> None:
    assert repair(UNIT, own) == expected


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    url = f"sqlite:///{tmp_path / 'data.db'}"
    monkeypatch.setenv("DRAGOMAN_DATABASE", url)
    return Database.open(url)


def test_exact_matches_stay_and_placeholders_are_never_lost(database: Database, tmp_path: Path) -> None:
    store = MemoryStore(database)
    with Translator.open(tiny_bundle(), engine="torch") as translator:
        units = [Unit("A cat", "Eine Katze"), Unit("Open the file {name} now", "Die Datei {name} jetzt öffnen")]
        store.add(store.create("", "main"), *translator.languages, units)
        translator.memory = MemoryReader.open("main", repairs=True)
        texts = ["A cat", "Open the folder {path} now", "Something else", "word " * 600]
        found = translator.translate(texts, beam=1)
        assert [each.memory and each.memory.score for each in found[:1]] == [100]
        assert "{path}" in found[1].text
        assert "{name}" not in found[1].text
        assert found[2].memory is found[3].memory is None
    (tmp_path / "a.txt").write_text("A cat\nSomething else\n")
    done = typed("translate", tiny_bundle(), tmp_path / "a.txt", "--memory", "main", "--memory-repair", *QUICK)
    assert done.stdout.startswith("Eine Katze\n"), done.stderr
    database.close()
