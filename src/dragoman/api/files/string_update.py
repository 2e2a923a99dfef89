"""Update translated files of strings: only new and changed strings are translated, as a lock file of digests shows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.api.files.document_translation import DocumentTranslation, read_bytes, translate_parsed
from dragoman.api.translation.text_translator import TextTranslator
from dragoman.documents.formats import find_format, read_document
from dragoman.documents.strings.document import StringsDocument
from dragoman.documents.strings.in_place import merge_strings
from dragoman.errors import ConfigError, DataError
from dragoman.files import atomic_overwrite, read_json, write_json
from dragoman.reporting.number_format import format_count

LOCK = "dragoman.lock"
MISSING, CHANGED, STALE, UNUSED = "missing", "changed", "stale", "unused"
_KEPT, _EDITED, _LEFT = "kept", "edited", "left"
_VERSION = 1


class Record(NamedTuple):
    """Digests of a source and of its translation, and what is known of that: nothing if it is this tool's."""

    source: str
    text: str
    kind: str = ""

    def state(self, source: str, text: str) -> str:
        """Return what has to be done with a translation, given the present source and translation."""
        is_same = digest(text) == self.text
        if self.kind == _LEFT and is_same:
            return MISSING
        if self.source == digest(source) or (self.kind == STALE and not is_same):  # a person revised it
            return _KEPT
        return CHANGED if is_same and not self.kind else STALE


def digest(text: str) -> str:
    """Return the digest of a text in a lock file."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _parse(entry: dict[str, Any] | None) -> tuple[str, dict[str, Record]]:
    """Return the language and the records of a file."""
    if entry is None:
        return "", {}
    strings = {key: Record(*text.split(" ")) for key, text in entry["strings"].items()}
    if not isinstance(entry["language"], str) or any(len(each.kind) > 10 for each in strings.values()):
        raise ValueError
    return entry["language"], strings


class UpdateLock:
    """The lock file of an output: in its folder, or in a folder above it, up to the working folder, if one is there.

    Before a file is replaced, its new records are stored as pending ones. After a kill they are valid if their texts
    are in the file.
    """

    def __init__(self, output: Path) -> None:
        output = output.resolve()
        above = [each for each in output.parent.parents if each.is_relative_to(Path.cwd())]
        found = next((each for each in (output.parent, *above) if (each / LOCK).is_file()), output.parent)
        self.path = found / LOCK
        self._name = output.relative_to(found).as_posix()
        is_empty = self.path.is_file() and not self.path.stat().st_size
        content = (None if is_empty else read_json(self.path)) or {"version": _VERSION, "files": {}}
        try:
            if content["version"] != _VERSION:
                raise ValueError
            self._files: dict[str, Any] = content["files"]
            self._others = {**content.get("pending", {})}
            language, self._pending = _parse(self._others.pop(self._name, None))
            recorded, self._strings = _parse(self._files.get(self._name))
            self.language = recorded or language
            """Target language of the file; empty if it is not recorded."""
        except (AttributeError, KeyError, TypeError, ValueError):
            raise DataError(
                f"{self.path} is no lock file of version {_VERSION}; restore it from git, or rename it: all "
                "translations then count as those of people"
            ) from None

    def record(self, key: str, text: str | None) -> Record | None:
        """Return the record of a string of which the file has this text."""
        pending = self._pending.get(key)
        is_valid = pending is not None and text is not None and pending.text == digest(text)
        return pending if is_valid else self._strings.get(key)

    def save(self, language: str, strings: dict[str, Record], write: Callable[[], None] | None) -> None:
        """Store the records of the file, and between two steps `write` it."""
        records = {key: " ".join(filter(None, record)) for key, record in sorted(strings.items())}
        new = {self._name: {"language": language, "strings": records}}
        content = {"version": _VERSION, "files": dict(sorted((self._files | new).items()))}
        content |= {"pending": self._others} if self._others else {}
        if write is not None:
            write_json(self.path, {"version": _VERSION, "files": self._files, "pending": self._others | new})
            write()
        if write is not None or content != read_json(self.path):
            write_json(self.path, content)


@dataclass(frozen=True)
class UpdateOutcome:
    """What became of the strings of a file."""

    found: dict[str, str]
    """State of each string that is not up to date, by key; after an update, those that stay so."""
    strings: int
    result: DocumentTranslation | None = None
    """What was translated now; None if nothing was sent to the model."""
    is_written: bool = False


class StringUpdate:
    """A file of strings and its translation, compared by the lock file."""

    def __init__(self, source: Path, output: Path, language: str = "") -> None:
        """Read the files and the lock; `language` is the target language, by default the one in the lock file."""
        if output.exists() and output.samefile(source):
            raise ConfigError(f"{output} is the input; give the output another name")
        suffix = source.suffix.lower()
        self._lock = UpdateLock(output)
        self._source, self.output = source, output
        self.language = language or self._lock.language
        document = read_document(source.name, read_bytes(source))
        if not isinstance(document, StringsDocument) or find_format(suffix).is_bilingual:
            raise ConfigError(
                f"--update is for files of strings, one per language, got {source.name}; translate it without --update"
            )
        self._document = document
        self._old_bytes = read_bytes(output) if output.exists() else b""
        self._old = self._read(self._old_bytes) if self._old_bytes.strip() else None
        self._texts = {} if self._old is None else {key: unit.text for key, unit in self._old.members().items()}
        document.members()  # raises an error if a key occurs twice
        self._select()

    def _read(self, data: bytes) -> StringsDocument:
        document = read_document(self.output.name, data, is_target=True)
        assert isinstance(document, StringsDocument)
        return document

    def _select(self) -> None:
        self._document.select(self.language)
        self._sources = self._document.sources
        self._states = {key: self._state(key, source) for key, source in self._sources.items()}
        self._states |= {key: UNUSED for key in self._texts if key not in self._sources}

    def _state(self, key: str, source: str) -> str:
        text = self._texts.get(key)
        if text is None or (source and not text):
            return MISSING
        record = self._lock.record(key, text)
        return _KEPT if record is None else record.state(source, text)

    def check(self) -> UpdateOutcome:
        """Compare the files; nothing is written."""
        found = {key: state for key, state in self._states.items() if state != _KEPT}
        return UpdateOutcome(found, len(self._sources))

    def update(
        self,
        open_: Callable[[], TextTranslator],
        tell: Callable[[int, int], None] = lambda done, total: None,
        *,
        again: bool = False,
        force: bool = False,
        flags: frozenset[str] = frozenset(),
    ) -> UpdateOutcome:
        """Translate what is missing or changed; with `again` also what people wrote for a source that changed since.

        The file is changed in place; with `force` it gets the structure of the source. The model is opened only if it
        is needed.
        """
        wanted = {MISSING, CHANGED, *([STALE] if again else [])}
        is_complete = self.language and not wanted & {*self._states.values()}
        translator = None if is_complete else open_()
        if translator is not None and self.language != translator.languages[1]:
            if self.language:
                raise ConfigError(
                    f"{self.output} is in {self.language}, as {self._lock.path} records, and the model translates to "
                    f"{translator.languages[1]}; name another model or output"
                )
            self.language = translator.languages[1]
            self._select()
        sent = {key for key, state in self._states.items() if state in wanted}
        self._document.reuse({key: self._texts[key] for key in self._sources if key not in sent})
        result = None
        if translator is not None and self._document.segments:
            result = translate_parsed(translator, self._document, tell, flags)
        data = self._document.write((), language=self.language) if result is None else result.data
        left = self._document.left
        new = self._read(data)
        if self._old is not None and not force:
            data = self._in_place(new, sent - left)
            new = self._read(data)
        records = {key: unit.text for key, unit in new.members().items()}
        strings = dict(self._records(records, sent - left, left))
        is_same = data == self._old_bytes
        self.output.parent.mkdir(parents=True, exist_ok=True)
        self._lock.save(self.language, strings, None if is_same else lambda: self._write(data))
        stay = {key: state for key, state in self._states.items() if state in (STALE, UNUSED) and key not in sent}
        stay |= dict.fromkeys(left, MISSING)
        return UpdateOutcome(
            {key: each for key, each in stay.items() if key in records}, len(self._sources), result, not is_same
        )

    def _write(self, data: bytes) -> None:
        with atomic_overwrite(self.output) as draft:
            draft.write_bytes(data)

    def _in_place(self, new: StringsDocument, done: set[str]) -> bytes:
        """Return the existing file with new texts and new strings, and without those of this tool that are unused."""
        assert self._old is not None
        added = {key: unit.text for key, unit in new.members().items()}
        changed = self._texts | {key: added[key] for key in done if key in added and key in self._texts}
        old = self._old
        if changed != self._texts:
            old.reuse(changed)
            old = self._read(old.write((), language=self.language))
        removable = [key for key in self._texts if self._states[key] == UNUSED and self._is_own(key)]
        for unused in (removable, []):
            text = merge_strings(old, new, unused)
            data = self._old_bytes if text == self._old.text else old.encoded(text)
            if self._is_merged(data, added | changed, removable if unused else []):
                return data
        raise DataError(
            f"{self.output} differs too much from {self._source.name} for new strings to be added in place; add them "
            "with empty texts, or write all of it again with --force, without its own comments and strings"
        )

    def _is_own(self, key: str) -> bool:
        record = self._lock.record(key, self._texts[key])
        return record is not None and not record.kind and record.text == digest(self._texts[key])

    def _is_merged(self, data: bytes, expected: dict[str, str], removable: Iterable[str]) -> bool:
        """Whether a file has exactly these strings; those that could be removed may be there."""
        try:
            found = {key: unit.text for key, unit in self._read(data).members().items()}
        except DataError:
            return False
        return all(found.get(key) == text for key, text in expected.items() if key not in {*removable}) and all(
            expected.get(key) == text for key, text in found.items()
        )

    def _records(self, texts: dict[str, str], done: set[str], left: set[str]) -> Iterable[tuple[str, Record]]:
        for key, text in texts.items():
            source, old = self._sources.get(key), self._lock.record(key, self._texts.get(key))
            if source is None:
                if old is not None:
                    yield key, old
            elif key in left:
                is_new = key not in self._texts or not self._texts[key]
                yield key, Record(digest(source), digest(text), _LEFT) if is_new or old is None else old
            elif key in done:
                yield key, Record(digest(source), digest(text))
            elif self._states[key] == STALE:
                assert old is not None
                yield key, Record(old.source, digest(text), STALE)
            elif old is None or old.text != digest(text):
                yield key, Record(digest(source), digest(text), _EDITED)
            else:
                yield key, old


def update_summary(path: Path, outcome: UpdateOutcome) -> str:
    """One line: ``locales/de.json: 5,000 strings, 40 missing, 2 stale``."""
    counts = [
        f"{count:,} {state}"
        for state in (MISSING, CHANGED, STALE, UNUSED)
        if (count := sum(each == state for each in outcome.found.values()))
    ]
    return f"{path}: {', '.join([format_count(outcome.strings, 'string'), *(counts or ['all up to date'])])}"
