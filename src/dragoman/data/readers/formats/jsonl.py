"""Read JSON Lines corpora: one object per line, with a text for each language."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.formats.single_file import (
    BlockChunk,
    ChunkBuilder,
    FileSequence,
    find_language_columns,
    list_names,
    read_blocks,
)
from dragoman.data.readers.lines import LineFault, check_text


class _BadRecordError(Exception):
    """An invalid record: the reason, which is counted, and the detail of this record."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class JsonChunk(BlockChunk):
    """Lines as bytes. `names` are keys if `is_exact`, else language codes."""

    names: tuple[str, str]
    is_exact: bool

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        """Parse each line and take the two texts."""
        draft = ChunkBuilder(self.file)
        rows = self.texts(draft, max_line_bytes=max_line_bytes)
        for line, text in enumerate(rows, self.block.first_line):
            if text is None:
                continue
            try:
                texts = self._texts(text)
            except _BadRecordError as error:
                draft.add_fault(line, LineFault(error.reason, error.detail, text))
                continue
            fault = next((found for side in texts if (found := check_text(side, max_line_bytes))), None)
            if fault is None:
                draft.add(line, *texts)
            else:
                draft.add_fault(line, fault)
        return draft.finish()

    def _texts(self, line: str) -> tuple[str, str]:
        try:
            record = json.loads(line, object_pairs_hook=_without_repeats)
        except json.JSONDecodeError as error:
            raise _BadRecordError("not JSON", f"{error.msg} at character {error.pos + 1}") from error
        except (ValueError, RecursionError) as error:  # numbers with thousands of digits; deep nesting
            raise _BadRecordError("not JSON", str(error)) from error
        if not isinstance(record, dict):
            raise _BadRecordError("not a JSON object", f"a {type(record).__name__}")
        inner = record.get("translation")
        if isinstance(inner, dict) and not self.is_exact:
            record = inner
        source, target = (_text(record, key) for key in self._keys(record))
        return source, target

    def _keys(self, record: dict[str, Any]) -> tuple[str, str]:
        if not self.is_exact:
            choice = find_language_columns(tuple(record), self.names)
            if choice.names is None:
                raise _BadRecordError(choice.reason, f"{choice.detail}; name the keys in columns")
            return choice.names
        missing = [name for name in self.names if name not in record]
        if missing:
            raise _BadRecordError("missing language", f"no {missing[0]}; there is {list_names(tuple(record))}")
        return self.names


class JsonReader(FileSequence):
    """JSONL files, one after the other; `columns` are keys to use instead of the languages."""

    def __init__(self, files: Sequence[str], source: str, target: str, columns: tuple[str, str] | None = None) -> None:
        super().__init__(files)
        self._names = columns or (source, target)
        self._is_exact = columns is not None

    def chunks(self, rows: int) -> Iterator[JsonChunk]:
        """Cut the files into blocks of lines."""
        for block in read_blocks(self._files, rows):
            yield JsonChunk(block, self._names, self._is_exact)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _BadRecordError("repeated key", f"{name} occurs more than once")
            seen.add(name)
    return record


def _text(record: dict[str, Any], key: str) -> str:
    if not isinstance(record[key], str):
        raise _BadRecordError("not a string", f"{key} is {json.dumps(record[key])[:100]}")
    return str(record[key])
