"""Record the searched batches of the block in progress, so that an interrupted translation loses only seconds of work.

A block of lines is written when all its batches are searched. Until then the hypotheses of its batches are appended to
a file every few seconds. A resumed translation has the same blocks and batches, and takes over the recorded ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.files import fsync, open_without_links
from dragoman.search.hypothesis import Hypothesis

if TYPE_CHECKING:
    from dragoman.api.translation.prepared_text import Chunk

RECORD_INTERVAL = 2.0
"""Maximum number of seconds of finished batches that are not recorded."""

_VERSION = 1
_MAX_BYTES = 1 << 28  # of a record: a block with attention weights has about 10 MB


def batch_record_path(output: Path, *, is_folder: bool = False) -> Path:
    """Return the path of the record for an output."""
    return output / ".part.batches" if is_folder else output.with_name(f"{output.name}.part.batches")


class BatchFile:
    """Hypotheses by batch, in a file. `job` is all that they depend on except the text."""

    def __init__(self, path: Path, job: Mapping[str, Any]) -> None:
        self._path = path
        self._job = json.dumps([_VERSION, job], sort_keys=True, default=str)
        self._known = self._read()
        self._segments = 0
        self._pending: list[str] = []
        self._lock = threading.Lock()
        self._saved_at = time.monotonic()
        self._is_first_block = True

    @property
    def segments(self) -> int:
        """Number of segments (sentences, or parts of long ones) searched or taken over in the block in progress."""
        return self._segments

    def count(self, segments: int) -> None:
        with self._lock:
            self._segments += segments

    def end_block(self) -> None:
        """Count no more segments of the block, whose translations are about to be written."""
        self._segments = 0

    def begin_block(self) -> None:
        """Discard the batches of the block before, which is in the output; those of an earlier process are kept."""
        with self._lock:
            if not self._is_first_block:
                self._known, self._pending = {}, []
                self._path.unlink(missing_ok=True)
                self._saved_at = time.monotonic()
            self._is_first_block = False
            self._segments = 0

    def batches_of(self, model: Sequence[str], *, is_counted: bool = True) -> ModelBatches:
        """Return the batches of a model, given the digests of its bundles and its languages."""
        return ModelBatches(self, json.dumps([self._job, *model]), is_counted=is_counted)

    def find(self, key: str) -> list[list[Hypothesis]] | None:
        """Return the recorded hypotheses of a batch, by sentence."""
        return self._known.get(key)

    def add(self, key: str, found: Sequence[Sequence[Hypothesis]]) -> None:
        """Record the hypotheses of a batch; they are written with the first batch after `RECORD_INTERVAL`."""
        text = json.dumps({"key": key, "found": [[_to_json(each) for each in few] for few in found]})
        with self._lock:
            self._pending.append(f"{hashlib.sha256(text.encode()).hexdigest()} {text}\n")
            if time.monotonic() - self._saved_at >= RECORD_INTERVAL:
                self._save()

    def save(self) -> None:
        """Write the batches that are not written yet."""
        with self._lock:
            self._save()

    def _save(self) -> None:
        if self._pending:
            with open_without_links(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
                file.write("".join(self._pending).encode())
            fsync(self._path)
            self._pending = []
        self._saved_at = time.monotonic()

    def _read(self) -> dict[str, list[list[Hypothesis]]]:
        """Return the complete entries of the file; others are searched again."""
        try:
            if self._path.is_symlink() or self._path.stat().st_size > _MAX_BYTES:
                return {}
            lines = self._path.read_bytes().split(b"\n")
        except OSError:
            return {}
        return dict(_entries(lines))


class ModelBatches:
    """Recorded batches of one model; a `BatchStore`."""

    def __init__(self, record: BatchFile, identity: str, *, is_counted: bool) -> None:
        self._record, self._identity, self._is_counted = record, identity, is_counted

    def restore(self, batch: Sequence[Chunk]) -> bool:
        """Set the hypotheses of a batch from the record; return whether it has them."""
        found = self._record.find(self._key(batch))
        if found is None or len(found) != len(batch):
            return False
        for chunk, hypotheses in zip(batch, found, strict=True):
            chunk.hypotheses = hypotheses
        self._count(batch)
        return True

    def add(self, batch: Sequence[Chunk]) -> None:
        self._record.add(self._key(batch), [chunk.hypotheses for chunk in batch])
        self._count(batch)

    def _count(self, batch: Sequence[Chunk]) -> None:
        if self._is_counted:
            self._record.count(len(batch))

    def _key(self, batch: Sequence[Chunk]) -> str:
        digest = hashlib.sha256(self._identity.encode())
        for chunk in batch:
            each = chunk.search_input
            assert each is not None
            inputs = [each.tokens, each.prefix, each.phrases, each.phrase_sources, each.number]
            digest.update(json.dumps(inputs, default=list).encode())
            if each.may_follow is not None:
                digest.update(np.packbits(each.may_follow).tobytes())
        return digest.hexdigest()


def _entries(lines: Sequence[bytes]) -> Iterator[tuple[str, list[list[Hypothesis]]]]:
    for line in lines:
        digest, _, text = line.partition(b" ")
        if hashlib.sha256(text).hexdigest().encode() == digest:
            entry = json.loads(text)
            yield entry["key"], [[_from_json(each) for each in few] for few in entry["found"]]


def _to_json(hypothesis: Hypothesis) -> list[Any]:
    weights = hypothesis.alignment
    packed = None if weights is None else [weights.shape, base64.b64encode(weights.astype("<f4").tobytes()).decode()]
    tokens = [int(token) for token in hypothesis.tokens]
    return [tokens, float(hypothesis.log_prob), packed, float(hypothesis.score), hypothesis.is_finished]


def _from_json(value: list[Any]) -> Hypothesis:
    tokens, log_prob, packed, score, is_finished = value
    weights = None
    if packed is not None:
        shape, data = packed
        weights = np.frombuffer(base64.b64decode(data), "<f4").reshape(shape).astype(np.float32)
    return Hypothesis(tokens, log_prob, weights, score, is_finished)
