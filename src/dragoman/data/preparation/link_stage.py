"""Link the tokens of the training pairs, for guided alignment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.preparation.cached_stage import Stage, versions
from dragoman.data.preparation.statistical_alignment import StatisticalAligner
from dragoman.data.preparation.tokenizer_stage import Tokenizers
from dragoman.data.shards import Shards, ShardWriter
from dragoman.files import sha256_of_file
from dragoman.progress import Progress

_VERSION = 2
_STAGE = "linking words"
_MOST_PAIRS = 200_000  # from which an aligner learns
_MOST_CELLS = 200_000_000  # sum of the products of the lengths of both sides: 4 bytes each, and time grow with it
_CHUNK = 20_000
_LEAST_PROBABILITY = 0.4  # of a link, the geometric mean of both directions; chosen on hand-aligned sentences
_LEARNING = 0.9  # of the time


def write_links(
    shards: dict[str, Any], tokenizers: Tokenizers, folder: Path, progress: Progress, *, is_multilingual: bool
) -> list[dict[str, Any]]:
    """Write the links of all training pairs, with an aligner per pair of languages, or use the cached result."""
    train = shards["splits"]["train"]["shards"]
    depends = [_VERSION, is_multilingual, [shard["sha256"] for shard in train], versions("numpy")]
    stage = Stage(folder, "links", depends)
    result: list[dict[str, Any]] | None = stage.result()
    if result is not None:
        progress.skip(_STAGE)
        return result
    progress.begin(_STAGE)
    vocabularies = tokenizers.load()
    sizes = vocabularies["source"].size, vocabularies["target"].size
    groups: dict[int, list[dict[str, Any]]] = {}
    for shard in train:
        groups.setdefault(shard["corpus"] if is_multilingual else 0, []).append(shard)
    total, done, result = max(1, sum(shard["rows"] for shard in train)), 0, []
    for group in groups.values():
        opened = Shards([folder / shards["folder"] / shard["path"] for shard in group])
        aligner = StatisticalAligner(
            opened.gather(_sample(opened)),
            sizes,
            advance=_part(progress, done / total, _LEARNING * len(opened) / total),
        )
        first = 0
        for shard in group:
            path = stage.folder / shard["path"]
            with ShardWriter(path, (1 << 16, 1 << 16)) as writer:
                for start in range(first, first + shard["rows"], _CHUNK):
                    rows = np.arange(start, min(start + _CHUNK, first + shard["rows"]))
                    writer.append(aligner.links(opened.gather(rows), least=_LEAST_PROBABILITY))
            first += shard["rows"]
            progress.advance((done + len(opened) * _LEARNING + first * (1 - _LEARNING)) / total, done + first)
            result.append(
                {
                    "path": f"{stage.folder.name}/{path.name}",
                    "rows": shard["rows"],
                    "bytes": path.stat().st_size,
                    "sha256": sha256_of_file(path),
                }
            )
        done += len(opened)
    stage.finish(result, [Path(each["path"]).name for each in result])
    return result


def _sample(shards: Shards) -> NDArray[np.int64]:
    """Return rows at equal distances, as many as an aligner may learn from."""
    rows = _spread(len(shards), _MOST_PAIRS)
    cells = int(shards.lengths(rows).prod(1).sum())
    return rows if cells <= _MOST_CELLS else rows[_spread(len(rows), max(1, len(rows) * _MOST_CELLS // cells))]


def _spread(count: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _part(progress: Progress, begin: float, share: float) -> Callable[[float], None]:
    return lambda done: progress.advance(begin + share * done)
