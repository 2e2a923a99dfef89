"""Does a sentence's company change its translation? Every family, alone and in random batches.

Sentences of Multi30k are translated one at a time, and then in batches of 2 to 256 whose members are drawn anew for
each size: unlike lengths, so that there is padding, and finished sentences leave. Text and word links must be the same.
Sums in float32 depend on the shape of a batch in their last bits, so two translations that score the same to within
that may change places: such a sentence is counted, with the gap between the two scores, which must be below 1e-4.

Models are the desk presets with random weights (output weights enlarged, so that they are as sure of themselves as
trained ones, and the end as likely as gives translations of some ten pieces), and the trained bundles that are named.
No translation is shorter than six pieces or longer than forty.
"""

from __future__ import annotations

import gzip
import random
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.reporting import heading, parser, table, write
from dragoman.bundle import Bundle
from dragoman.config import load_config
from dragoman.engines.choose import open_engine
from dragoman.engines.protocol import Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import build_model
from dragoman.search import Hypothesis, SearchSettings, Sentence
from dragoman.text import EOS_ID

PRESETS = [
    "sutskever2014-desk",
    "cho2014-desk",
    "bahdanau2015-desk",
    "luong2015-desk",
    "luong2015-location-desk",
    "luong2015-local-m-desk",
    "luong2015-local-p-desk",
    "xu2015-desk",
    "vaswani2017-desk",
]
SMALL = ("model.embedding=128", "model.encoder.hidden=128", "model.decoder.hidden=128")
SIZES = (2, 7, 32, 100, 256)
CLOSE = 1e-4


@dataclass(frozen=True)
class Row:
    """What one model did."""

    model: str
    engine: str
    beam: int
    compared: int
    different: int
    widest_gap: float
    pieces: float
    seconds: float


def random_engine(preset: str, vocab: int, sources: list[list[int]]) -> TorchEngine:
    """A model of the preset's wiring with random weights, whose translations have some ten pieces."""
    small = ("model.tie=none",) if preset.startswith("vaswani") else SMALL
    model = build_model(load_config(preset, small).model, vocab, vocab, seed=3)
    with torch.no_grad():
        model.decoder.output.weight.mul_(4.0)
    engine = TorchEngine(model.requires_grad_(False))

    def distance(push: float) -> float:
        model.decoder.output.bias[EOS_ID] = push
        found = engine.search([Sentence(source) for source in sources], SearchSettings(beam=1, max_length=40))
        return abs(float(np.mean([len(best.pieces) for (best,) in found])) - 10.0)

    model.decoder.output.bias[EOS_ID] = min(np.arange(-2.0, 8.0, 0.25).tolist(), key=distance)
    return engine


def links(found: Hypothesis) -> list[int] | None:
    """Which source piece each piece looks at most."""
    return None if found.alignment is None else found.alignment.argmax(1).tolist()


def run(name: str, engine: Engine, sources: list[list[int]], settings: SearchSettings) -> Row:
    start = time.perf_counter()
    alone = [engine.search([Sentence(source)], settings, show=True)[0][0] for source in sources]
    compared, different, widest = 0, 0, 0.0
    for size in SIZES:
        order = list(range(len(sources)))
        random.Random(size).shuffle(order)
        for first in range(0, len(order), size):
            rows = order[first : first + size]
            found = engine.search([Sentence(sources[row]) for row in rows], settings, show=True)
            for row, (best,) in zip(rows, found, strict=True):
                compared += 1
                if best.pieces != alone[row].pieces:
                    different += 1
                    widest = max(widest, abs(best.score - alone[row].score))
                elif links(best) != links(alone[row]):
                    different += 1
                    widest = max(widest, near(best, alone[row]))
        print(f"{name}, beam {settings.beam}, batches of {size}: {different} of {compared} differ", flush=True)
    pieces = float(np.mean([len(each.pieces) for each in alone]))
    return Row(name, engine.name, settings.beam, compared, different, widest, pieces, time.perf_counter() - start)


def near(one: Hypothesis, other: Hypothesis) -> float:
    """The greatest difference between two maps of the same translation: a link changes where two weights tie."""
    assert one.alignment is not None
    assert other.alignment is not None
    return float(np.abs(one.alignment - other.alignment).max())


def page(rows: list[Row], threads: int, sentences: int) -> str:
    header = ["model", "engine", "beam", "compared", "different", "widest gap", "pieces a translation", "seconds"]
    cells = [
        [
            row.model,
            row.engine,
            str(row.beam),
            f"{row.compared:,}",
            str(row.different),
            "–" if not row.different else f"{row.widest_gap:.1e}",
            f"{row.pieces:.1f}",
            f"{row.seconds:.0f}",
        ]
        for row in rows
    ]
    good = all(row.widest_gap < CLOSE for row in rows)
    command = f"python -m benchmarks.company --sentences {sentences} --threads {threads}"
    return (
        f"{heading('Batching never changes the answer', command, threads)}\n{__doc__ or ''}\n"
        f"{'All gaps are below' if good else 'NOT all gaps are below'} {CLOSE:g}. {sentences:,} sentences, float32.\n\n"
        f"{table(header, cells)}"
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--bundles", nargs="*", type=Path, default=[], help="trained ones")
    options.add_argument("--sentences", type=int, default=2000)
    options.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    bundles = [Bundle.open(path) for path in chosen.bundles]
    if not bundles:
        raise SystemExit("name at least one trained bundle: its tokenizer makes the pieces of all")
    tokenizer = bundles[0].tokenizers()["source"]
    with gzip.open(chosen.corpus / "train.en.gz", "rt", encoding="utf-8") as file:
        sources = [tokenizer.encode(line.rstrip("\n")) for line, _ in zip(file, range(chosen.sentences), strict=False)]
    engines: list[tuple[str, Engine]] = [
        (f"{bundle.config.model.family}, trained", open_engine([bundle], engine=kind, threads=chosen.threads).engine)
        for bundle in bundles
        for kind in (("torch", "onnx") if bundle.config.model.family == "rnn" else ("torch", "ctranslate2"))
    ]
    engines += [(preset, random_engine(preset, tokenizer.size, sources[:40])) for preset in PRESETS]
    rows = [
        run(name, engine, sources, SearchSettings(beam=beam, min_length=6, max_length=40))
        for name, engine in engines
        for beam in chosen.beams
    ]
    write("company", page(rows, chosen.threads, chosen.sentences), [row.__dict__ for row in rows])


if __name__ == "__main__":
    main()
