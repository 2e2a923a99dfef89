"""Memories of translators: exact matches replace translations, similar units are returned, documents use both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import etree

from dragoman import Translator
from dragoman.errors import ConfigError
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed

PAIRS = {"The 2 dogs sleep.": "Die 2 Hunde schlafen.", "Open {file}": "{file} öffnen", "A cat": "Eine Katze"}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'data.db'}"
    monkeypatch.setenv("DRAGOMAN_DATABASE", url)
    database = Database.open()
    store = MemoryStore(database)
    with Translator.open(tiny_bundle(), engine="torch") as translator:
        languages = translator.languages
    store.add(store.create("", "main"), *languages, [Unit(*pair) for pair in PAIRS.items()])
    database.close()
    return "main"


def test_exact_matches_replace_translations_and_others_do_not_change(memory: str) -> None:
    texts = ["The 3 dogs sleep.", "The 2 cats sleep.", "Open {path}", "x {y} z", "A cat"]
    with (
        Translator.open(tiny_bundle(), engine="torch", memory=memory) as translator,
        Translator.open(tiny_bundle(), engine="torch") as plain,
    ):
        found = translator.translate(texts, beam=1)
        without = plain.translate(texts, beam=1)
        begun = translator.translate("A cat", prefix="Die", beam=1)
    assert [each.text for each in found] == [
        "Die 3 Hunde schlafen.",
        without[1].text,
        "{path} öffnen",
        without[3].text,
        "Eine Katze",
    ]
    assert [each.memory and each.memory.score for each in found] == [99, None, 99, None, 100]
    (similar,) = found[1].matches
    assert (similar.score, similar.text, similar.differences) == (75, "Die 2 Hunde schlafen.", (("dogs", "cats"),))
    assert found[0].to_json()["memory"]["source"] == "The 2 dogs sleep."
    assert begun.memory is None


@pytest.mark.usefixtures("memory")
def test_an_unknown_memory() -> None:
    with pytest.raises(ConfigError, match="there is no memory 'other'"):
        Translator.open(tiny_bundle(), engine="torch", memory="other")


def test_commands(memory: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A cat\nThe 2 cats sleep.\n")
    lines = typed("translate", tiny_bundle(), tmp_path / "a.txt", "--memory", memory, "--json", *QUICK)
    first, second = map(json.loads, lines.stdout.splitlines())
    assert (first["text"], first["memory"]["memory"], second["matches"][0]["score"]) == ("Eine Katze", "main", 75)
    assert "memory  main: 3 units" in lines.stderr
    low = typed("translate", tiny_bundle(), tmp_path / "a.txt", "--memory", memory, "--memory-threshold", "75", *QUICK)
    assert low.stdout == "Eine Katze\nDie 2 Hunde schlafen.\n"
    (tmp_path / "a.html").write_text("<p>A cat</p><p>Open {path}</p>")
    typed("translate", tiny_bundle(), tmp_path / "a.html", "-o", tmp_path / "b.html", "--memory", memory, *QUICK)
    assert (tmp_path / "b.html").read_text("utf-8") == "<p>Eine Katze</p><p>{path} öffnen</p>"


XLIFF_1 = (
    '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
    '<trans-unit id="1"><source>A cat</source></trans-unit>'
    '<trans-unit id="2"><source>The 3 dogs sleep.</source></trans-unit>'
    '<trans-unit id="3"><source>Some other text</source></trans-unit>'
    "</body></file></xliff>"
)
XLIFF_2 = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><file id="f">'
    '<unit id="u"><segment id="a"><source>The 3 dogs sleep.</source></segment><segment id="b"><source>Other</source>'
    "</segment></unit></file></xliff>"
)
TRADOS = (
    '<xliff xmlns:sdl="urn:sdl" version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1">'
    '<source>A cat</source><seg-source><mrk mtype="seg" mid="1">A cat</mrk></seg-source><sdl:seg-defs>'
    '<sdl:seg id="1"/></sdl:seg-defs></trans-unit></body></file></xliff>'
)


def test_xliff_states_the_unit_and_the_score(memory: str, tmp_path: Path) -> None:
    def translated(name: str, text: str, *options: str) -> etree._Element:
        (tmp_path / name).write_text(text, encoding="utf-8")
        done = typed(
            "translate", tiny_bundle(), tmp_path / name, "-o", tmp_path / f"done-{name}", "--memory", memory, *options,
            *QUICK,
        )  # fmt: skip
        assert not done.exit_code, done.stderr
        return etree.fromstring((tmp_path / f"done-{name}").read_bytes())

    first = translated("a.xlf", XLIFF_1)
    targets = [each.find("target") for each in first.iter("trans-unit")]
    assert {each.get("state") for each in targets} == {"needs-review-translation"}
    assert [each.get("state-qualifier") for each in targets] == ["exact-match", "fuzzy-match", "mt-suggestion"]
    units = [[(each.get("match-quality"), each.get("origin"), *each.itertext()) for each in unit.iter("alt-trans")]
             for unit in first.iter("trans-unit")]  # fmt: skip
    assert units == [
        [("100", "main", "A cat", "Eine Katze")],
        [("99", "main", "The 2 dogs sleep.", "Die 3 Hunde schlafen.")],
        [],
    ]
    again = translated("b.xlf", etree.tostring(first, encoding="unicode"), "--again")
    assert len(list(again.iter("alt-trans"))) == 2, "not added twice"

    (match,) = translated("c.xlf", XLIFF_2).iter("{*}match")
    assert dict(match.attrib) == {"ref": "#a", "type": "tm", "matchQuality": "99", "origin": "main"}
    assert [etree.QName(each).localname for each in match.getparent().getparent()] == ["matches", "segment", "segment"]
    assert [each.text for each in match] == ["The 2 dogs sleep.", "Die 3 Hunde schlafen."]

    (segment,) = translated("d.sdlxliff", TRADOS).iter("{*}seg")
    assert {name: segment.get(name) for name in ("conf", "origin", "origin-system", "percent")} == {
        "conf": "Draft",
        "origin": "tm",
        "origin-system": "main",
        "percent": "100",
    }
