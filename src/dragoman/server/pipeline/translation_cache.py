"""Cache of translations by model, options and text. Each client has a part of its own: no answer is faster because of
what another client sent."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.server.metrics import ServerMetrics

_ENTRY_BYTES = 300  # of the keys and objects of an entry
_Engine = tuple[str, int]
"""Name of a model and id of its engine."""


class TranslationCache:
    """Cache on the event loop; translations that were not used for long, or of a replaced engine, are dropped."""

    def __init__(self, max_bytes: int, metrics: ServerMetrics) -> None:
        self.max_bytes, self.bytes = max_bytes, 0
        self._metrics = metrics
        self._entries: OrderedDict[bytes, tuple[Translation, int, frozenset[_Engine]]] = OrderedDict()
        self._engines: dict[_Engine, weakref.ref[object]] = {}

    def part(
        self, client: bytes, steps: Sequence[tuple[str, Translator, TranslateOptions]]
    ) -> tuple[bytes, frozenset[_Engine]] | None:
        """Return what identifies translations of a client by these models and options; None if none is stored.

        Sampled translations differ each time, terms may be edited, and search trees are large.
        """
        if not self.max_bytes or not client:
            return None
        engines = set()
        digest = hashlib.blake2b(client, digest_size=16)
        for model, translator, options in steps:
            is_random = options.search.sample or options.search.search == "mbr"
            if options.glossary is not None or options.search_tree or is_random:
                return None
            engine = model, id(translator.shared_engine)
            self._register(engine, translator.shared_engine)
            engines.add(engine)
            digest.update(repr((engine, translator.languages, options)).encode("utf-8", "surrogatepass"))
        return digest.digest(), frozenset(engines)

    def get(self, part: tuple[bytes, frozenset[_Engine]], text: str) -> Translation | None:
        """Return the translation of a text, if it is stored."""
        key = _key(part[0], text)
        found = self._entries.get(key)
        self._metrics.count_cached(is_hit=found is not None)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, part: tuple[bytes, frozenset[_Engine]], text: str, translation: Translation) -> None:
        """Store a translation; the least recently used make room for it."""
        size = _size(translation) + _ENTRY_BYTES
        if size > self.max_bytes:
            return
        self._drop(_key(part[0], text))
        while self.bytes + size > self.max_bytes:
            self._drop(next(iter(self._entries)))
        self._entries[_key(part[0], text)] = translation, size, part[1]
        self.bytes += size

    def _drop(self, key: bytes) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self.bytes -= entry[1]

    def _register(self, engine: _Engine, value: object) -> None:
        """Remember an engine that is new, and drop the translations of engines that are gone."""
        known = self._engines.get(engine)
        if known is not None and known() is value:
            return
        gone = {name for name, each in self._engines.items() if each() is None} | {engine}
        for key in [key for key, (_, _, engines) in self._entries.items() if not engines.isdisjoint(gone)]:
            self._drop(key)
        self._engines = {name: each for name, each in self._engines.items() if name not in gone}
        self._engines[engine] = weakref.ref(value)


def _key(part: bytes, text: str) -> bytes:
    return hashlib.blake2b(part + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _size(value: Any) -> int:
    """Return the memory of a value in bytes; what it shares with others counts as its own."""
    if is_dataclass(value):
        return sys.getsizeof(value) + sum(_size(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, Mapping):
        return sys.getsizeof(value) + sum(_size(name) + _size(each) for name, each in value.items())
    if isinstance(value, list | tuple):
        return sys.getsizeof(value) + sum(map(_size, value))
    return sys.getsizeof(value)
