"""Glossaries are stored by client in the database, and those of earlier files are taken over once."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dragoman.errors import DragomanError
from dragoman.server import glossaries as module
from dragoman.server.database import ServerDatabase
from dragoman.server.errors import NotFound, RequestError, TooLarge
from dragoman.server.glossaries import (
    EntriesFormat,
    GlossaryStore,
    StoredGlossary,
    TermDictionary,
    format_tsv,
    parse_entries,
    term_dictionary,
)
from dragoman.text.glossary import Glossary, lenient_glossary

GOOD: dict[str, tuple[EntriesFormat, str]] = {
    "tsv": ("tsv", "a b\tc\nd\te, f"),
    "crlf and blank lines": ("tsv", "\r\na b\tc\r\n\r\nd\te, f\r\n"),
    "spaces around terms": ("tsv", " a b \t c\nd\te, f"),
    "a byte-order mark": ("tsv", "\ufeffa b\tc\nd\te, f"),
    "twice the same": ("tsv", "a b\tc\nd\te, f\na b\tc"),
    "csv": ("csv", 'a b,c\nd,"e, f"'),
    "csv with languages": ("csv", 'a b,c,en,de\nd,"e, f",en,de'),
}


@pytest.fixture
def store(database_url: str) -> Iterator[GlossaryStore]:
    database = ServerDatabase(database_url)
    yield GlossaryStore(database)
    database.close()


def in_memory() -> GlossaryStore:
    return GlossaryStore(ServerDatabase(None))


def dictionary(source: str = "en", target: str = "de", **terms: str) -> TermDictionary:
    return term_dictionary(source, target, terms or {"dog": "Hund"})


def test_another_server_has_the_same_glossaries(store: GlossaryStore, database_url: str) -> None:
    kept = store.create("anna", "Winter", [dictionary(snow="Schnee"), dictionary("de", "en", Schnee="snow")])
    gone = store.create("anna", "Summer", [dictionary()])
    with contextlib.closing(ServerDatabase(database_url)) as database:
        other = GlossaryStore(database)
        assert other.of_owner("anna") == [kept, gone]
        store.delete("anna", gone.id)
        changed = store.change("anna", kept.id, lambda found: found.with_dictionary(dictionary(ice="Eis")))

        assert other.of_owner("anna") == [changed]
        assert other.get("anna", kept.id).find("EN-US", "de-AT") == dictionary(ice="Eis")
        assert other.find_for("anna", "Winter", "de", "en").dictionaries == changed.dictionaries


def test_glossaries_belong_to_their_client() -> None:
    store = in_memory()
    made = store.create("anna", "Winter", [dictionary()])

    assert store.of_owner("ben") == []
    for call in (store.get, store.find, store.delete):
        with pytest.raises(NotFound):
            call("ben", made.id)
    assert store.find("anna", "Winter") == store.find("anna", made.id) == made


def test_the_newest_of_a_name_is_found() -> None:
    store = in_memory()
    _, newest = (store.create("", "Winter", [dictionary(**{term: "c"})]) for term in ("a", "b"))
    assert store.find("", "Winter") == newest


def test_dictionaries_are_replaced_merged_and_removed() -> None:
    made = in_memory().create("", "Winter", [dictionary(dog="Hund", cat="Katze")])
    merged = made.merged([dictionary("EN", "DE", dog="Dackel")])
    replaced = made.with_dictionary(dictionary(dog="Dackel"))
    more = made.with_dictionary(dictionary("en", "fr", dog="chien"))

    assert [each.terms for each in merged.dictionaries] == [{"dog": "Dackel", "cat": "Katze"}]
    assert [each.terms for each in replaced.dictionaries] == [{"dog": "Dackel"}]
    assert [each.target for each in more.dictionaries] == ["de", "fr"]
    assert more.without("en", "de").find("en", "de") is None


def test_chinese_is_matched_by_its_script() -> None:
    simplified = dictionary("en", "zh", dog="狗")
    assert simplified.matches("EN", "ZH-HANS")
    assert not simplified.matches("EN", "ZH-HANT")


def test_terms_that_no_model_can_use_are_left_out_of_the_glossary() -> None:
    assert dictionary(**{"dog": "Hund", "\u200b": "x"}).glossary.terms == {"dog": "Hund"}


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    store = in_memory()
    with pytest.raises(RequestError, match="name must have 1 to"):
        store.create("", " ", [dictionary()])
    with pytest.raises(RequestError, match="has two dictionaries from"):
        store.create("", "a", [dictionary(), dictionary("en-GB", "de")])
    monkeypatch.setattr(module, "_MAX_TERMS", 1)
    with pytest.raises(TooLarge, match="1 terms per language pair"):
        dictionary(a="b", c="d")
    monkeypatch.setattr(module, "_MAX_GLOSSARIES", 1)
    made = store.create("", "a", [dictionary()])
    with pytest.raises(TooLarge, match="the server has 1 glossaries, as many as it stores; use fewer"):
        store.create("", "b", [dictionary()])
    store.change("", made.id, lambda found: found)  # the same one again
    with pytest.raises(TooLarge, match="1 terms per language pair"):
        store.change("", made.id, lambda found: found.merged([dictionary(cat="Katze")]))
    with pytest.raises(RequestError, match="name must have 1 to"):
        store.change("", made.id, lambda found: replace(found, name=" "))
    monkeypatch.setattr(module, "_MAX_MERGED_TERMS", 0)
    with pytest.raises(TooLarge, match="the changed dictionaries must have 0 terms at most"):
        store.change("", made.id, lambda found: found.merged([dictionary()]))
    monkeypatch.setattr(module, "_MAX_CHARACTERS", 3)
    with pytest.raises(TooLarge, match="all glossaries of this key together would have more than 1 characters"):
        store.change("", made.id, lambda found: found)


def test_short_terms_count_more_than_their_characters_and_one_key_cannot_use_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terms = {f"{number}": "x" for number in range(10)}
    monkeypatch.setattr(module, "_MAX_CHARACTERS", 2 * 10 * 40)
    store = in_memory()
    store.create("anna", "a", [dictionary(**terms)])
    with pytest.raises(TooLarge, match="all glossaries of this key together would have more than 400 characters, 32 "):
        store.create("anna", "b", [dictionary(**terms)])
    store.create("bert", "a", [dictionary(**terms)])
    with pytest.raises(TooLarge, match="all glossaries together would have more than 800 characters, 32 of them per"):
        store.create("carl", "a", [dictionary(**terms)])


def test_one_key_cannot_take_all_glossaries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_OWN_GLOSSARIES", 1)
    store = in_memory()
    made = store.create("anna", "a", [dictionary()])
    with pytest.raises(TooLarge, match="this key has 1 glossaries, as many as it may store"):
        store.create("anna", "b", [dictionary()])
    store.change("anna", made.id, lambda found: found)
    store.create("bert", "c", [dictionary()])


def test_terms_are_checked_once_and_not_at_each_change(monkeypatch: pytest.MonkeyPatch) -> None:
    store = in_memory()
    made = store.create("", "a", [dictionary("en", other) for other in ("de", "fr", "it")])
    normalized: list[int] = []

    def counted(terms: dict[str, str | None]) -> Glossary:
        normalized.append(len(terms))
        return lenient_glossary(terms)

    monkeypatch.setattr(module, "lenient_glossary", counted)
    store.change("", made.id, lambda found: replace(found, name="b"))
    store.change("", made.id, lambda found: found.without("en", "it"))
    store.find_for("", "b", "en", "fr")
    assert normalized == []
    both = [dictionary(cat="Katze"), dictionary(cow="Kuh")]
    normalized.clear()
    store.change("", made.id, lambda found: found.merged(both))
    assert normalized == [3]  # dog, cat and cow of the one dictionary that changed
    store.find_for("", "b", "en", "de")
    assert normalized == [3]


def test_a_full_memory_forgets_terms_and_reads_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = in_memory()
    made = [store.create(owner, "a", [dictionary(**{owner: "x"})]) for owner in ("anna", "bert")]
    monkeypatch.setattr(module, "_MAX_CHARACTERS", 40)
    assert [store.get(each.owner, each.id) for each in made * 2] == made * 2


def test_a_change_does_not_restore_a_deleted_glossary(store: GlossaryStore) -> None:
    made = store.create("", "a", [dictionary()])
    has_begun, is_deleting = threading.Event(), threading.Event()

    def delete() -> None:
        has_begun.wait()
        is_deleting.set()
        store.delete("", made.id)

    def slowly(found: StoredGlossary) -> StoredGlossary:
        has_begun.set()
        is_deleting.wait()
        return replace(found, name="b")

    other = threading.Thread(target=delete)
    other.start()
    store.change("", made.id, slowly)
    other.join()

    assert store.of_owner("") == []
    with pytest.raises(NotFound):
        store.change("", made.id, lambda found: found)


def test_what_a_database_cannot_store_is_refused(store: GlossaryStore) -> None:
    for name in ("a\0b", "\ud800"):
        with pytest.raises(DragomanError):
            store.create("", name, [dictionary()])
    made = store.create("", "a", [dictionary(**{"\x01": "\0"})])
    assert store.get("", made.id) == made
    for id_ in ("\0", "\ud800"):
        with pytest.raises(NotFound):
            store.get("", id_)


def test_no_change_made_at_the_same_time_is_lost(store: GlossaryStore) -> None:
    made = store.create("", "a", [dictionary()])
    start = threading.Barrier(4)

    def add(thread: int) -> None:
        start.wait()
        for number in range(10):
            more = dictionary(**{f"term{thread}-{number}": "x"})
            store.change("", made.id, lambda found, more=more: found.merged([more]))  # type: ignore[misc]

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(store.get("", made.id).dictionaries[0].terms) == 41


@pytest.mark.parametrize(("kind", "text"), GOOD.values(), ids=GOOD)
def test_entries(kind: EntriesFormat, text: str) -> None:
    assert parse_entries(text, kind) == {"a b": "c", "d": "e, f"}


def test_round_trip() -> None:
    terms = {"a b": "c", "d": "e, f"}
    assert parse_entries(format_tsv(terms), "tsv") == terms


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("tsv", "", "entries has no term"),
        ("tsv", "a\tb\nc", "line 2 must be a term and its translation, got 1 columns"),
        ("tsv", "a\t", "a term in line 1 must have 1 to 1024 characters, got 0"),
        ("tsv", "a\t" + "b" * 1025, "got 1025"),
        ("tsv", "a\tb\na\tc", "a second translation in line 2"),
        ("csv", "a,b,c", "got 3 columns"),
        ("csv", 'a,"b', "must be CSV"),
    ],
)
def test_invalid_entries_are_named_by_line(kind: EntriesFormat, text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_entries(text, kind)


def test_a_header_is_no_term_and_xml_is_named():
    assert parse_entries("source,target\na,b\n", "csv") == {"a": "b"}
    assert parse_entries("text\tstring\n", "tsv") == {"text": "string"}
    with pytest.raises(RequestError, match="must be TSV or CSV, got XML"):
        parse_entries("\ufeff<?xml version='1.0'?>\n<tmx/>", "tsv")


def test_a_first_line_of_many_columns_is_rejected_before_its_names_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "is_header", lambda cells: pytest.fail(f"{len(cells)} names"))  # 20 µs for each
    with pytest.raises(RequestError, match="line 1 must be a term and its translation, got 100000 columns"):
        parse_entries("en," * 99_999, "csv")
