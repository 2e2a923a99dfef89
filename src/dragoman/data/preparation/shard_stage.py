"""Last stage of preparation: write the token ids of the kept pairs to shards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dragoman.config import DataConfig
from dragoman.data.cleaning.filters.lengths_and_letters import count_words
from dragoman.data.duplicates.decisions import Decision
from dragoman.data.preparation.cached_stage import Stage
from dragoman.data.preparation.selected_pairs import PairChunk, SelectedPairs
from dragoman.data.preparation.tokenizer_stage import Tokenizers
from dragoman.data.reason_counts import Example, Tally
from dragoman.data.shards import ShardWriter
from dragoman.data.token_pairs import SIDES, Pairs, Sentences
from dragoman.data.worker_processes import Workers
from dragoman.files import read_json, sha256_of_file, write_json
from dragoman.progress import Progress
from dragoman.text import Tokenizer

TOO_MANY_TOKENS = "too many tokens"
"""Drop reason of pairs with more than max_tokens tokens."""

_VERSION = 3


def write_shards(
    selected: SelectedPairs,
    tokenizers: Tokenizers,
    data: DataConfig,
    *,
    folder: Path,
    workers: Workers,
    progress: Progress,
) -> dict[str, Any]:
    """Write the shards of training and validation pairs, or use the cached result; return their manifest entries."""
    depends = [_VERSION, selected.key, tokenizers.key, data.max_tokens, data.shard_pairs]
    stage = Stage(folder, "shards", depends)
    result = stage.result()
    if result is not None:
        assert isinstance(result, dict)
        shards = [shard for split in result["splits"].values() for shard in split["shards"]]
        if all(_is_intact(stage.folder / shard["path"], shard) for shard in shards):
            progress.skip("writing shards")
            return result
    progress.begin("writing shards")
    splits = selected.splits()
    tasks = [
        _Task(
            split,
            group,
            selected.decisions,
            decision,
            tokenizers,
            data.max_tokens,
            stage.folder / f"{split}-{number:05}.arrow",
        )
        for split, (chunks, decision) in splits.items()
        for number, group in enumerate(_groups(chunks, data.shard_pairs))
    ]
    of_split: dict[str, list[dict[str, Any]]] = {split: [] for split in splits}
    done, written, pairs = 0, 0, sum(chunk.height for task in tasks for chunk in task.chunks)
    for task, shard in zip(tasks, workers.run(_write_shard, tasks), strict=True):
        of_split[task.split].append(shard)
        done += sum(chunk.height for chunk in task.chunks)
        written += shard["rows"]
        progress.advance(done / max(1, pairs), written)
    result = {"folder": stage.folder.name, "splits": {split: _joined(shards) for split, shards in of_split.items()}}
    for draft in stage.folder.glob("*.tmp"):  # of a worker that was killed
        draft.unlink()
    stage.finish(result, [shard["path"] for shards in of_split.values() for shard in shards])
    return result


@dataclass(frozen=True)
class _Task:
    split: str
    chunks: tuple[PairChunk, ...]
    decisions: Path
    decision: Decision | None
    tokenizers: Tokenizers
    max_tokens: int
    path: Path


def _groups(chunks: Sequence[PairChunk], pairs: int) -> Iterator[tuple[PairChunk, ...]]:
    """Group consecutive chunks of one corpus with about `pairs` pairs together."""
    group: list[PairChunk] = []
    for chunk in chunks:
        if group and (group[0].corpus != chunk.corpus or sum(each.height for each in group) >= pairs):
            yield tuple(group)
            group = []
        group.append(chunk)
    if group:
        yield tuple(group)


def _write_shard(task: _Task) -> dict[str, Any]:
    """Write one shard unless an earlier run did; its record is written last."""
    record = task.path.with_suffix(".json")
    done = read_json(record)
    if done is not None and _is_intact(task.path, done):
        assert isinstance(done, dict)
        return done
    tokenizers = _loaded(task.tokenizers)
    drops, tokens, words = Tally(), dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, 0)
    sizes = (tokenizers["source"].size, tokenizers["target"].size)
    with ShardWriter(task.path, sizes) as writer:
        for chunk in task.chunks:
            frame = chunk.frame() if task.decision is None else chunk.with_decision(task.decision, task.decisions)
            pairs, too_long = encode(frame, tokenizers, task.max_tokens)
            examples = (
                Example(chunk.file, row["line"], row["source"], row["target"]) for row in _rows(frame, too_long)
            )
            drops.add(TOO_MANY_TOKENS, int(too_long.sum()), examples)
            writer.append(pairs)
            counted = frame.filter(pl.Series(~too_long)).select(count_words(pl.col(side)).sum() for side in SIDES)
            for side in SIDES:
                tokens[side] += int(getattr(pairs, side).lengths.sum())
                words[side] += int(counted[side].item())
        rows = writer.rows
    result = {
        "path": task.path.name,
        "rows": rows,
        "bytes": task.path.stat().st_size,
        "sha256": sha256_of_file(task.path),
        "corpus": task.chunks[0].corpus,
        "tokens": tokens,
        "words": words,
        "drops": drops.to_json(),
    }
    write_json(record, result)
    return result


def _is_intact(path: Path, record: dict[str, Any]) -> bool:
    """Whether a shard has the size and the hash that were recorded when it was written."""
    return path.is_file() and path.stat().st_size == record["bytes"] and sha256_of_file(path) == record["sha256"]


@lru_cache(maxsize=1)
def _loaded(tokenizers: Tokenizers) -> dict[str, Tokenizer]:
    """Load the tokenizers once per process."""
    return tokenizers.load()


def _rows(frame: pl.DataFrame, wanted: np.ndarray[Any, np.dtype[np.bool_]]) -> Iterator[dict[str, Any]]:
    yield from frame.filter(pl.Series(wanted)).iter_rows(named=True)


def encode(
    frame: pl.DataFrame, tokenizers: dict[str, Tokenizer], max_tokens: int
) -> tuple[Pairs, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Encode the pairs of a frame, without those with too many tokens on a side; also return which those are."""
    encoded = {side: [tokenizers[side].encode(text) for text in frame[side]] for side in SIDES}
    lengths = {side: np.fromiter(map(len, encoded[side]), np.int64, frame.height) for side in SIDES}
    too_long = np.maximum(lengths["source"], lengths["target"]) > max_tokens
    kept = [_sentences(encoded[side], lengths[side], ~too_long) for side in SIDES]
    return Pairs(*kept), too_long


def _sentences(
    encoded: list[list[int]], lengths: np.ndarray[Any, np.dtype[np.int64]], keep: np.ndarray[Any, np.dtype[np.bool_]]
) -> Sentences:
    wanted = encoded if keep.all() else [encoded[row] for row in np.flatnonzero(keep)]
    total = int(lengths[keep].sum())
    return Sentences(np.fromiter(chain.from_iterable(wanted), np.int64, total), lengths[keep])


def _joined(shards: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the manifest entry of a split."""
    drops = Tally()
    for shard in shards:
        drops.merge(Tally.from_json(shard["drops"]))
    return {
        "shards": [{key: shard[key] for key in ("path", "rows", "bytes", "sha256", "corpus")} for shard in shards],
        "rows": sum(shard["rows"] for shard in shards),
        **{kind: {side: sum(shard[kind][side] for shard in shards) for side in SIDES} for kind in ("tokens", "words")},
        "drops": drops.to_json(),
    }
