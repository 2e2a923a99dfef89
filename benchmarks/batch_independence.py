"""Compare translations alone and in random batches, for every model family.

Sentences of Multi30k are translated one at a time, and then in batches of 2 to 256 whose members are drawn again for
each size: of different lengths, so that there is padding, and finished sentences are removed. Text and word links must
be the same. Sums in float32 depend on the shape of a batch in their last bits, so two translations whose scores differ
by less than that may change places: such a sentence is counted, with the gap between the two scores, which must be
below 1e-4, or the exit code is 1. Where only word links differ, the gap is that between two attention weights.

Models are the desk presets with random weights (output weights enlarged, so that they are as confident as trained
ones, and the end probable enough for translations of about ten tokens), and the given trained bundles. Everything is
translated with the default limits (random models, which may never end: forty tokens), and once more with at least six
and at most forty tokens.
"""

from __future__ import annotations

import gzip
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.reporting import heading, parser, table, write
from dragoman.bundle import Bundle
from dragoman.config import load_config
from dragoman.engines.protocol import Engine
from dragoman.engines.select import open_engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import build_model
from dragoman.search import Hypothesis, SearchInput, SearchSettings
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
SHOWN = 20
USUAL, NARROW = "usual", "6 to 40"


@dataclass(frozen=True)
class Way:
    """A model, and how it searches."""

    model: str
    engine: Engine
    limits: str
    settings: SearchSettings

    def cells(self) -> list[str]:
        return [self.model, self.engine.name, self.limits, str(self.settings.beam)]


@dataclass(frozen=True)
class Case:
    """A sentence, by its line from 1, that got another translation or other links in a batch of this size."""

    line: int
    batch: int
    what: str
    gap: float


@dataclass(frozen=True)
class Row:
    """What one model did."""

    way: Way
    compared: int
    cases: list[Case]
    tokens: float
    seconds: float

    @property
    def widest_gap(self) -> float:
        return max((case.gap for case in self.cases), default=0.0)

    @property
    def is_good(self) -> bool:
        return all(case.gap < CLOSE for case in self.cases)  # a gap that is no number is not

    def figures(self) -> dict[str, Any]:
        """Plain values."""
        facts: dict[str, Any] = dict(zip(("model", "engine", "limits"), self.way.cells(), strict=False))
        facts |= {"beam": self.way.settings.beam, "compared": self.compared, "different": len(self.cases)}
        facts |= {"widest_gap": self.widest_gap, "tokens": self.tokens, "seconds": self.seconds}
        return facts | {"cases": [asdict(case) for case in self.cases]}


def random_engine(preset: str, vocab: int, sources: list[list[int]]) -> TorchEngine:
    """A model of the preset's wiring with random weights, whose translations have some ten tokens."""
    small = ("model.tie=none",) if preset.startswith("vaswani") else SMALL
    model = build_model(load_config(preset, small).model, vocab, vocab, seed=3)
    with torch.no_grad():
        model.decoder.output.weight.mul_(4.0)
    engine = TorchEngine(model.requires_grad_(False))

    def distance(push: float) -> float:
        model.decoder.output.bias[EOS_ID] = push
        found = engine.search([SearchInput(source) for source in sources], SearchSettings(beam=1, max_length=40))
        return abs(float(np.mean([len(best.tokens) for (best,) in found])) - 10.0)

    model.decoder.output.bias[EOS_ID] = min(np.arange(-2.0, 8.0, 0.25).tolist(), key=distance)
    return engine


def links(found: Hypothesis) -> list[int] | None:
    """The source token with the largest attention weight, per token."""
    return None if found.alignment is None else found.alignment.argmax(1).tolist()


def run(way: Way, sources: list[list[int]]) -> Row:
    """Translate every sentence alone, and then in batches."""
    start = time.perf_counter()
    alone = [way.engine.search([SearchInput(source)], way.settings, return_attention=True)[0][0] for source in sources]
    compared, cases = 0, []
    for size in SIZES:
        order = list(range(len(sources)))
        random.Random(size).shuffle(order)
        for first in range(0, len(order), size):
            rows = order[first : first + size]
            found = way.engine.search([SearchInput(sources[row]) for row in rows], way.settings, return_attention=True)
            for row, (best,) in zip(rows, found, strict=True):
                compared += 1
                if difference := compare(best, alone[row]):
                    cases.append(Case(row + 1, len(rows), *difference))
        print(f"{', '.join(way.cells())}, batches of {size}: {len(cases)} of {compared} differ", flush=True)
    tokens = float(np.mean([len(each.tokens) for each in alone]))
    return Row(way, compared, cases, tokens, time.perf_counter() - start)


def compare(one: Hypothesis, other: Hypothesis) -> tuple[str, float] | None:
    """What differs between two translations of a sentence, and by how much."""
    if one.tokens != other.tokens or one.is_finished != other.is_finished:
        return "text", abs(one.score - other.score)
    return None if links(one) == links(other) else ("links", near(one, other))


def near(one: Hypothesis, other: Hypothesis) -> float:
    """The greatest difference between two maps of the same translation: a link changes where two weights tie."""
    assert one.alignment is not None
    assert other.alignment is not None
    return float(np.abs(one.alignment - other.alignment).max())


def page(rows: list[Row], threads: int, sentences: int) -> str:
    """The result for people."""
    header = ["model", "engine", "limits", "beam", "compared", "different", "widest gap", "tokens each", "seconds"]
    cells = [
        [
            *row.way.cells(),
            f"{row.compared:,}",
            str(len(row.cases)),
            "–" if not row.cases else f"{row.widest_gap:.1e}",
            f"{row.tokens:.1f}",
            f"{row.seconds:.0f}",
        ]
        for row in rows
    ]
    good = all(row.is_good for row in rows)
    command = f"python -m benchmarks.batch_independence --sentences {sentences} --threads {threads}"
    return (
        f"{heading('Batching never changes the answer', command, threads)}\n{__doc__ or ''}\n"
        f"{'All gaps are below' if good else '**NOT all gaps are below**'} {CLOSE:g}. {sentences:,} sentences, float32."
        f"\n\n{table(header, cells)}{case_table(rows)}"
    )


def case_table(rows: list[Row]) -> str:
    """The sentences that differed, as many as are shown."""
    header = ["model", "engine", "limits", "beam", "line", "batch of", "differs in", "gap"]
    cells = [
        [*row.way.cells(), str(case.line), str(case.batch), case.what, f"{case.gap:.1e}"]
        for row in rows
        for case in row.cases
    ]
    if not cells:
        return ""
    count = f"the first {SHOWN} of {len(cells):,}" if len(cells) > SHOWN else f"{len(cells)}"
    return f"\nWhat differed, {count}:\n\n{table(header, cells[:SHOWN])}"


def settings_of(beam: int, limits: str, *, is_trained: bool) -> SearchSettings:
    """How to search: within the usual limits, or with at least six and at most forty tokens."""
    if limits == NARROW:
        return SearchSettings(beam=beam, min_length=6, max_length=40)
    return SearchSettings(beam=beam, max_length=None if is_trained else 40)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--bundles", nargs="*", type=Path, default=[], help="trained ones")
    options.add_argument("--sentences", type=int, default=2000)
    options.add_argument("--beams", nargs="+", type=int, default=[1, 4])
    options.add_argument("--limits", nargs="+", choices=[USUAL, NARROW], default=[USUAL, NARROW])
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    bundles = [Bundle.open(path) for path in chosen.bundles]
    if not bundles:
        raise SystemExit("name at least one trained bundle: its tokenizer makes the tokens of all")
    tokenizer = bundles[0].tokenizers()["source"]
    with gzip.open(chosen.corpus / "train.en.gz", "rt", encoding="utf-8") as file:
        sources = [tokenizer.encode(line.rstrip("\n")) for line, _ in zip(file, range(chosen.sentences), strict=False)]
    engines: list[tuple[str, Engine, bool]] = [
        (
            f"{bundle.config.model.family}, trained",
            open_engine([bundle], engine=kind, threads=chosen.threads).engine,
            True,
        )
        for bundle in bundles
        for kind in (("torch", "onnx") if bundle.config.model.family == "rnn" else ("torch", "ctranslate2"))
    ]
    engines += [(preset, random_engine(preset, tokenizer.size, sources[:40]), False) for preset in PRESETS]
    rows = [
        run(Way(name, engine, limits, settings_of(beam, limits, is_trained=is_trained)), sources)
        for name, engine, is_trained in engines
        for limits in chosen.limits
        for beam in chosen.beams
    ]
    write("batch-independence", page(rows, chosen.threads, chosen.sentences), [row.figures() for row in rows])
    if not all(row.is_good for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
