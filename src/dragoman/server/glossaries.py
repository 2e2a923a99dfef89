"""Named glossaries of clients in the database; their entries as TSV or CSV text."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from dragoman.language_codes import canonical_language, match_rank
from dragoman.server.errors import NotFound, RequestError, TooLarge
from dragoman.storage import sql
from dragoman.text.characters import check_unicode
from dragoman.text.glossary import Glossary, lenient_glossary
from dragoman.text.glossary_files import is_header

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from dragoman.server.database import ServerDatabase

EntriesFormat = Literal["tsv", "csv"]

_MAX_TERM_CHARACTERS = 1024  # of a term
_CSV_COLUMNS = (2, 4)  # a term and its translation, or these and their languages
MAX_DICTIONARIES = 100  # per glossary

_MAX_GLOSSARIES = 1000
_MAX_OWN_GLOSSARIES = _MAX_GLOSSARIES // 2  # of one key, so that it cannot take all
_MAX_TERMS = 20_000  # per dictionary
_MAX_CHARACTERS = 64 << 20  # of all terms together
_TERM_CHARACTERS = 32  # counted for each term in addition: a short one takes several hundred bytes too
_MAX_NAME = 1024
_MAX_JOINED, _MAX_JOINED_CHARACTERS = 64, 16 << 20  # of joined glossaries that are kept
_MAX_MERGED_TERMS = 100_000  # of all dictionaries to which one change adds terms: they are normalized again


def parse_entries(text: str, kind: EntriesFormat) -> dict[str, str]:
    """Return source terms and translations; raises `RequestError` with the number of an invalid line.

    A first line of column names, such as source and target, is no term.
    """
    found: dict[str, str] = {}
    if text.lstrip("\ufeff \r\n\t").startswith(("<?xml", "<tmx", "<martif", "<tbx", "<!DOCTYPE")):
        raise _invalid("entries must be TSV or CSV, got XML")
    for place, (number, cells) in enumerate(_rows(text, kind)):
        if not place and len(cells) <= max(_CSV_COLUMNS) and is_header(cells):
            continue
        if len(cells) not in (_CSV_COLUMNS if kind == "csv" else (2,)):
            raise _invalid(f"line {number} must be a term and its translation, got {len(cells)} columns")
        source, target = (cell.strip() for cell in cells[:2])
        for term in (source, target):
            if not term or len(term) > _MAX_TERM_CHARACTERS:
                raise _invalid(
                    f"a term in line {number} must have 1 to {_MAX_TERM_CHARACTERS} characters, got {len(term)}"
                )
        if found.setdefault(source, target) != target:
            raise _invalid(f"a term has a second translation in line {number}")
    if not found:
        raise _invalid("entries has no term")
    return found


def format_tsv(terms: Mapping[str, str]) -> str:
    """Return entries as TSV, one per line."""
    return "\n".join(f"{source}\t{target}" for source, target in terms.items())


def _rows(text: str, kind: EntriesFormat) -> Iterator[tuple[int, list[str]]]:
    check_unicode(text)
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    rows = (
        csv.reader(io.StringIO(plain), strict=True)
        if kind == "csv"
        else (line.split("\t") for line in plain.split("\n"))
    )
    try:
        for number, cells in enumerate(rows, 1):
            if any(cell.strip() for cell in cells):
                yield number, cells
    except csv.Error as error:
        raise _invalid(f"entries must be CSV: {error}") from None


def _invalid(message: str) -> RequestError:
    return RequestError(f"{message}; separate columns by tabs (tsv) or commas (csv)", code="invalid_glossary")


@dataclass(frozen=True)
class TermDictionary:
    """Terms of one language pair, checked by `term_dictionary`. Languages are canonical codes."""

    source: str
    target: str
    terms: Mapping[str, str]

    @functools.cached_property
    def glossary(self) -> Glossary:
        """The terms for a translator, which normalizes them once per model."""
        return lenient_glossary(self.terms)

    @functools.cached_property
    def characters(self) -> int:
        """Number of characters of all terms, and some more for each term, because short ones take memory too."""
        return sum(len(source) + len(target) + _TERM_CHARACTERS for source, target in self.terms.items())

    def matches(self, source: str, target: str) -> bool:
        """Whether the dictionary is for a language pair; regions may differ, scripts may not."""
        return match_rank(source, self.source) is not None and match_rank(target, self.target) is not None


@dataclass(frozen=True)
class StoredGlossary:
    """A named glossary of the client `owner`, whose name is empty on a server without API keys."""

    id: str
    name: str
    owner: str
    created: str
    """Time of creation, in ISO 8601 with microseconds and offset."""
    dictionaries: tuple[TermDictionary, ...]

    def find(self, source: str, target: str) -> TermDictionary | None:
        return next((each for each in self.dictionaries if each.matches(source, target)), None)

    @functools.cached_property
    def characters(self) -> int:
        return sum(each.characters for each in self.dictionaries)

    def with_dictionary(self, wanted: TermDictionary) -> StoredGlossary:
        others = (each for each in self.dictionaries if not each.matches(wanted.source, wanted.target))
        return replace(self, dictionaries=(*others, wanted))

    def merged(self, wanted: Iterable[TermDictionary]) -> StoredGlossary:
        """Return the glossary with more terms; terms that it has change their translation. Raises `TooLarge`.

        Only the dictionaries that change are checked again, each once.
        """
        known = list(self.dictionaries)
        changed: dict[int, dict[str, str]] = {}
        for more in wanted:
            place = next((at for at, each in enumerate(known) if each.matches(more.source, more.target)), len(known))
            if place == len(known):
                known.append(TermDictionary(more.source, more.target, {}))
            terms = changed.setdefault(place, dict(known[place].terms))
            terms.update(more.terms)
        count = sum(map(len, changed.values()))
        if count > _MAX_MERGED_TERMS:
            raise TooLarge(
                f"the changed dictionaries must have {_MAX_MERGED_TERMS:,} terms at most together, got {count:,}; "
                "change fewer at once"
            )
        others = (each for at, each in enumerate(known) if at not in changed)
        new = (term_dictionary(known[at].source, known[at].target, terms) for at, terms in changed.items())
        return replace(self, dictionaries=(*others, *new))

    def without(self, source: str, target: str) -> StoredGlossary:
        """Return the glossary without the dictionary of a language pair."""
        return replace(self, dictionaries=tuple(each for each in self.dictionaries if not each.matches(source, target)))


class GlossaryStore:
    """Glossaries of a database. Terms that were read stay in memory: to normalize many takes longer than a translation.

    All methods read the database: call them in a thread.
    """

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._known: OrderedDict[tuple[str, ...], TermDictionary] = OrderedDict()
        """By id of the glossary, languages, and digest of the terms, the least recently used first."""
        self._characters = 0
        self._joined: dict[tuple[int, ...], tuple[list[TermDictionary], StoredGlossary]] = {}
        """By the identities of the dictionaries, which are kept, so that no other object gets them."""
        self._lock = threading.Lock()

    def create(self, owner: str, name: str, dictionaries: Sequence[TermDictionary]) -> StoredGlossary:
        """Store a new glossary; raises `TooLarge` or `RequestError` if it must not be stored."""
        created = datetime.now(UTC).isoformat(timespec="microseconds")
        made = StoredGlossary(str(uuid.uuid4()), name, owner, created, tuple(dictionaries))
        _check(made)
        _check_pairs(made)
        with self._database.write() as connection:
            count = sql.select(sql.func.count()).select_from(sql.GLOSSARIES)
            if connection.execute(count).scalar_one() >= _MAX_GLOSSARIES:
                raise TooLarge(f"the server has {_MAX_GLOSSARIES} glossaries, as many as it stores; use fewer")
            if connection.execute(count.where(sql.GLOSSARIES.c.owner == owner)).scalar_one() >= _MAX_OWN_GLOSSARIES:
                raise TooLarge(f"this key has {_MAX_OWN_GLOSSARIES} glossaries, as many as it may store; use fewer")
            self._insert(connection, made)
        return made

    def change(self, owner: str, id_: str, changed: Callable[[StoredGlossary], StoredGlossary]) -> StoredGlossary:
        """Replace a glossary by what `changed` returns for it. Raises `NotFound` if it does not exist or is deleted.

        No other change happens meanwhile: two clients that add terms at the same time both succeed.
        """
        with self._database.write() as connection:
            row = _row(connection, owner, id_, is_locked=True)
            found = self._read(connection, [row])[0]
            made = changed(found)
            _check(made)
            connection.execute(sql.update(sql.GLOSSARIES).where(sql.GLOSSARIES.c.id == made.id).values(name=made.name))
            self._write_terms(connection, found, made)
        return made

    def of_owner(self, owner: str) -> list[StoredGlossary]:
        """Return the glossaries of a client, the oldest first."""
        with self._database.read() as connection:
            return self._read(connection, _rows_of(connection, owner))

    def get(self, owner: str, id_: str) -> StoredGlossary:
        """Return a glossary of a client; raises `NotFound`."""
        with self._database.read() as connection:
            return self._read(connection, [_row(connection, owner, id_)])[0]

    def find(self, owner: str, name: str, *, given: str = "name or id") -> StoredGlossary:
        """Return the glossary with an id, or the newest one with a name; raises `NotFound`, which mentions `given`."""
        with self._database.read() as connection:
            for row in reversed(_rows_of(connection, owner)):
                if name in (row.id, row.name):
                    return self._read(connection, [row])[0]
        raise NotFound(f"there is no glossary of this {given}; /v3/glossaries lists all")

    def find_for(self, owner: str, name: str, source: str, target: str, *, given: str = "name or id") -> StoredGlossary:
        """Return the glossary with an id or a name; raises `RequestError` if it has no terms for the language pair.

        Any source is accepted where it is detected (`auto`).
        """
        found = self.find(owner, name, given=given)
        is_detected = source.strip().lower() == "auto"
        if not is_detected and found.find(source, target) is None:
            raise RequestError(
                f"the glossary must have terms for the language pair, got {source[:20]} to {target[:20]}; add a "
                "dictionary for it",
                code="invalid_glossary",
            )
        for each in found.dictionaries:  # normalized here, in a thread
            assert not each.matches(each.source if is_detected else source, target) or each.glossary is not None
        return found

    def join(self, glossaries: Sequence[StoredGlossary], source: str, target: str) -> StoredGlossary:
        """Return the terms of several glossaries for a language pair, as one; the first that has a term wins.

        Some are kept, because to normalize many terms takes longer than a short translation.
        """
        found = [each for each in (glossary.find(source, target) for glossary in glossaries) if each is not None]
        key = tuple(map(id, found))
        with self._lock:
            if (known := self._joined.get(key)) is not None:
                return known[1]
        terms: dict[str, str] = {}
        for each in found:  # the order of the terms matters too, for those that differ in case
            terms |= {term: translation for term, translation in each.terms.items() if term not in terms}
        made = term_dictionary(found[0].source, found[0].target, terms)
        joined = replace(glossaries[0], id="", name="", dictionaries=(made,))
        with self._lock:
            self._joined[key] = found, joined
            while len(self._joined) > _MAX_JOINED or self._joined_characters() > _MAX_JOINED_CHARACTERS:
                del self._joined[next(iter(self._joined))]
        return joined

    def _joined_characters(self) -> int:
        return sum(joined.characters for _, joined in self._joined.values())

    def delete(self, owner: str, id_: str) -> None:
        """Delete a glossary; raises `NotFound`."""
        with self._database.write() as connection:
            row = _row(connection, owner, id_)
            connection.execute(sql.delete(sql.GLOSSARIES).where(sql.GLOSSARIES.c.id == row.id))

    def has_any(self) -> bool:
        """Whether there is a glossary, of any client."""
        with self._database.read() as connection:
            return connection.execute(sql.select(sql.GLOSSARIES.c.id).limit(1)).first() is not None

    def _read(self, connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredGlossary]:
        """Return glossaries; terms that are not known yet are read and parsed."""
        listed: dict[str, list[TermDictionary]] = {row.id: [] for row in rows}
        terms = sql.TERMS.c
        light = sql.select(*(each for each in terms if each is not terms.terms)).where(terms.glossary.in_(listed))
        for each in connection.execute(light.order_by(terms.place)).all():
            key = each.glossary, each.source, each.target, each.digest
            with self._lock:
                known = self._known.get(key)
            if known is None:
                heavy = sql.select(terms.terms).where(
                    *(terms[name] == part for name, part in zip(_KEY, key, strict=True))
                )
                known = TermDictionary(each.source, each.target, json.loads(connection.execute(heavy).scalar_one()))
            listed[each.glossary].append(self._keep(key, known))
        return [StoredGlossary(row.id, row.name, row.owner, row.created, tuple(listed[row.id])) for row in rows]

    def _keep(self, key: tuple[str, ...], dictionary: TermDictionary) -> TermDictionary:
        """Return the dictionary of a key that is in memory; the least recently used ones make room."""
        with self._lock:
            if key not in self._known:
                self._known[key] = dictionary
                self._characters += dictionary.characters
            kept = self._known[key]
            self._known.move_to_end(key)
            while self._characters > _MAX_CHARACTERS:
                self._characters -= self._known.popitem(last=False)[1].characters
            return kept

    def _insert(self, connection: Connection, glossary: StoredGlossary) -> None:
        values = {name: getattr(glossary, name) for name in ("id", "owner", "name", "created")}
        connection.execute(sql.insert(sql.GLOSSARIES).values(**values))
        self._write_terms(connection, replace(glossary, dictionaries=()), glossary)

    def _write_terms(self, connection: Connection, old: StoredGlossary, new: StoredGlossary) -> None:
        """Write the dictionaries that changed, in place of the old ones."""
        gone = [each for each in old.dictionaries if each not in new.dictionaries]
        for each in gone:
            pair = sql.TERMS.c.source == each.source, sql.TERMS.c.target == each.target
            connection.execute(sql.delete(sql.TERMS).where(sql.TERMS.c.glossary == new.id, *pair))
        last = sql.select(sql.func.coalesce(sql.func.max(sql.TERMS.c.place), 0)).where(sql.TERMS.c.glossary == new.id)
        place = connection.execute(last).scalar_one()
        for each in new.dictionaries:
            if each not in old.dictionaries:
                place += 1
                terms = json.dumps(dict(each.terms), ensure_ascii=False)
                digest = hashlib.sha256(terms.encode()).hexdigest()
                key = new.id, each.source, each.target, digest
                values = dict(zip(_KEY, key, strict=True))
                made = sql.insert(sql.TERMS).values(**values, place=place, characters=each.characters, terms=terms)
                connection.execute(made)
                self._keep(key, each)
        _check_room(connection, new.owner)


_KEY = ("glossary", "source", "target", "digest")


def _rows_of(connection: Connection, owner: str) -> Sequence[Row[Any]]:
    """Return the rows of the glossaries of a client, the oldest first."""
    query = sql.select(sql.GLOSSARIES).where(sql.GLOSSARIES.c.owner == owner).order_by(sql.GLOSSARIES.c.created)
    return connection.execute(query).all()


def _row(connection: Connection, owner: str, id_: str, *, is_locked: bool = False) -> Row[Any]:
    query = sql.select(sql.GLOSSARIES).where(sql.GLOSSARIES.c.owner == owner).order_by(sql.GLOSSARIES.c.created)
    for row in connection.execute(query.with_for_update() if is_locked else query):
        if row.id == id_:
            return row
    raise NotFound("there is no glossary of this id; /v3/glossaries lists all")


def _check_room(connection: Connection, owner: str) -> None:
    """Raise `TooLarge` if all glossaries together have too many characters; the transaction then changes nothing."""
    query = sql.select(sql.func.coalesce(sql.func.sum(sql.TERMS.c.characters), 0))
    own = query.join_from(sql.TERMS, sql.GLOSSARIES).where(sql.GLOSSARIES.c.owner == owner)
    limits = ((own, _MAX_CHARACTERS // 2, "all glossaries of this key"), (query, _MAX_CHARACTERS, "all glossaries"))
    for counted, limit, what in limits:
        if connection.execute(counted).scalar_one() > limit:
            raise TooLarge(
                f"{what} together would have more than {limit:,} characters, {_TERM_CHARACTERS} of them per term; use "
                "fewer terms"
            )


def term_dictionary(source: str, target: str, terms: Mapping[str, str]) -> TermDictionary:
    """Return a dictionary of canonical languages; raises `TooLarge`.

    The terms are checked and normalized here, once, and not where they are used.
    """
    if len(terms) > _MAX_TERMS:
        raise TooLarge(
            f"a glossary must have {_MAX_TERMS:,} terms per language pair at most, got {len(terms):,}; use fewer"
        )
    made = TermDictionary(canonical_language(source), canonical_language(target), dict(terms))
    assert made.glossary is not None
    return made


def _check(glossary: StoredGlossary) -> None:
    """Check the name and the number of language pairs. The terms were checked when their dictionary was made."""
    if not check_unicode(glossary.name).strip() or len(glossary.name) > _MAX_NAME or "\0" in glossary.name:
        raise RequestError(
            f"name must have 1 to {_MAX_NAME} characters, got {len(glossary.name)}; name the glossary",
            code="invalid_glossary",
        )
    if len(glossary.dictionaries) > MAX_DICTIONARIES:
        raise TooLarge(f"a glossary must have {MAX_DICTIONARIES} language pairs at most, got more; create another one")


def _check_pairs(glossary: StoredGlossary) -> None:
    """Check that no language pair occurs twice; changes of a stored glossary cannot add one again."""
    for number, each in enumerate(glossary.dictionaries):
        if any(each.matches(other.source, other.target) for other in glossary.dictionaries[:number]):
            raise RequestError(
                f"the glossary has two dictionaries from {each.source} to {each.target}; join them",
                code="invalid_glossary",
            )
