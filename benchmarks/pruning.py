"""Size, speed and translations of models before and after `dragoman prune`.

Firefox's en→pt student (MODEL, imported with `dragoman import`) translates FLORES devtest, int8 with ONNX Runtime. It
is pruned with the sources of the test and its own translations of them: no other token is needed, so that all
translations must be the same. It is also pruned with every second line of them, which is far too little text, to show
what that costs.

The second model has as many tokens as NLLB, 256,206, and random weights: two layers on each side, 512 values wide. Its
tokenizer is trained with Europarl in English and German; the other tokens are random strings of Hangul, whose vectors
are a hundredth as long, so that translations contain few of them, as those of a trained model of English and German
would. It is pruned with the lines of Europarl that it translates and its translations.

Both models of a pair translate the same slice of lines in turn, in one process with one thread, greedily; times are CPU
seconds. The ratio is that of the sums over all slices; in brackets the lowest and the highest of the slices.
"""

from __future__ import annotations

import gzip
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sentencepiece import SentencePieceTrainer
from sentencepiece import sentencepiece_model_pb2 as pb

from benchmarks.reporting import heading, parser, table, write
from dragoman import SearchSettings, Translator
from dragoman.api.pruning import prune_bundle
from dragoman.bundle import Bundle
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.importing.import_model import import_model
from testkit.random_models.random_m2m100 import SHAPES, weight_shapes, write_folder

Engine = Literal["onnx", "ctranslate2"]
SLICE = 64
NLLB_TOKENS = 256_206
OWN_TOKENS = 16_000
RANDOM_LENGTH = 40
"""Most tokens of a translation with random weights, which need not end."""
HANGUL = range(0xAC00, 0xD7A4)


def read(path: Path, limit: int | None = None) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in islice(file, limit)]


def open_translator(bundle: Path, engine: Engine) -> Translator:
    search = SearchSettings(beam=1) if engine == "onnx" else SearchSettings(beam=1, max_length=RANDOM_LENGTH)
    return Translator.open(bundle, engine=engine, threads=1, search=search)


def translate(translator: Translator, lines: Sequence[str], languages: dict[str, str]) -> list[str]:
    source, target = languages.get("source"), languages.get("target")
    return [each.text for each in translator.translate(lines, split_sentences=False, source=source, target=target)]


def compare(folders: Sequence[Path], engine: Engine, lines: Sequence[str], **languages: str) -> dict[str, Any]:
    """Translate with the model before and after, slice by slice; return outputs and seconds of both."""
    models = [open_translator(folder, engine) for folder in folders]
    outputs: list[list[str]] = [[] for _ in models]
    seconds: list[list[float]] = [[] for _ in models]
    for model in models:
        translate(model, lines[:4], languages)
    order = sorted(range(len(lines)), key=lambda row: len(lines[row]))
    ordered = [lines[row] for row in order]
    for number, start in enumerate(range(0, len(lines), SLICE)):
        for place in (0, 1) if number % 2 == 0 else (1, 0):
            began = time.process_time()
            outputs[place] += translate(models[place], ordered[start : start + SLICE], languages)
            seconds[place].append(time.process_time() - began)
    places = np.argsort(order).tolist()
    return {"outputs": [[some[place] for place in places] for some in outputs], "seconds": seconds}


def nllb_folder(folder: Path, corpus: Path) -> Path:
    """Write a folder as NLLB's, with random weights and its number of tokens."""
    corpora = [read(corpus / f"train.{code}.gz", 40_000) for code in ("en", "de")]
    trained = folder.with_suffix(".spm")
    SentencePieceTrainer.train(
        sentence_iterator=iter([line for lines in corpora for line in lines]),
        model_prefix=str(trained.with_suffix("")),
        vocab_size=OWN_TOKENS,
        model_type="bpe",
        normalization_rule_name="nmt_nfkc",
        num_threads=1,
        minloglevel=2,
    )
    proto: Any = pb.ModelProto()  # type: ignore[attr-defined]
    proto.ParseFromString(trained.with_suffix(".model").read_bytes())
    draws, seen = random.Random(1), set[str]()
    shape = replace(SHAPES["NLLB"], dim=512, heads=8, feedforward=2048, layers=(2, 2))
    # An id per subword and one more, one per language, <mask>, and two rows without a token.
    while len(proto.pieces) + 1 + len(shape.languages) + 3 < NLLB_TOKENS:
        piece = "".join(chr(draws.choice(HANGUL)) for _ in range(draws.randint(2, 4)))
        if piece not in seen:
            seen.add(piece)
            proto.pieces.add(piece=piece, score=-float(len(proto.pieces)))
    shape = replace(shape, subword_file=proto.SerializeToString())
    values = np.random.default_rng(1)
    weights = {
        name: values.standard_normal(size, dtype=np.float32) * np.float32(size[-1] ** -0.5 if len(size) > 1 else 0.1)
        for name, size in weight_shapes(shape)
    }
    for name, array in weights.items():
        if name.endswith("layer_norm.weight"):
            array += 1.0
    weights["model.shared.weight"][[row for row, token in enumerate(shape.tokens()) if token in seen]] *= 0.01
    return write_folder(folder, shape, weights=weights)


def row(name: str, bundles: Sequence[Bundle], tokens: tuple[int, int], found: dict[str, Any]) -> list[str]:
    """A row of the table: sizes, equal translations, and speed after pruning divided by that before."""
    before, after = found["outputs"]
    sums = [sum(seconds) for seconds in found["seconds"]]
    ratios = [a / b for a, b in zip(*found["seconds"], strict=True)]
    megabytes = [
        sum(path.stat().st_size for path in each.folder.rglob("*") if path.is_file()) / 1e6 for each in bundles
    ]
    found.update(
        {"tokens": tokens, "megabytes": megabytes, "equal": sum(a == b for a, b in zip(before, after, strict=True))}
    )
    return [
        name,
        f"{tokens[0]:,} → {tokens[1]:,}",
        f"{megabytes[0]:,.1f} → {megabytes[1]:,.1f}",
        f"{found['equal']:,} of {len(before):,}",
        f"{sums[0] / sums[1]:.2f} ({min(ratios):.2f} … {max(ratios):.2f})",
    ]


def pruned(
    bundle: Bundle, text: Sequence[str], folder: Path, languages: Sequence[str] = ()
) -> tuple[Bundle, tuple[int, int]]:
    if folder.exists():
        shutil.rmtree(folder)
    found = prune_bundle(bundle, text, folder, languages=languages)
    return found.bundle, found.tokens


def imported(source: Callable[[], Path], folder: Path) -> Bundle:
    """Return the bundle of an earlier run, or import the model."""
    return Bundle.open(folder) if folder.exists() else import_model(source(), folder).bundle


def main() -> None:
    options = parser(__doc__)
    options.add_argument("model", type=Path, help="folder of Firefox's en→pt student")
    options.add_argument("--tests", type=Path, default=Path("../shared/data/other-systems/en-pt"))
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/europarl"))
    options.add_argument("--lines", type=int, default=128, help="lines for the model with NLLB's vocabulary")
    options.add_argument("--work", type=Path, default=Path("pruning-runs"))
    given = options.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}

    student = imported(lambda: given.model, given.work / "student")
    lines, references = read(given.tests / "flores-test.en.gz"), read(given.tests / "flores-test.pt.gz")
    own = translate(open_translator(student.folder, "onnx"), lines, {})
    for name, step in (("Firefox en→pt, the text of the test", 1), ("Firefox en→pt, half of it", 2)):
        small, tokens = pruned(student, lines[::step] + own[::step], given.work / f"student-{step}")
        found = compare((student.folder, small.folder), "onnx", lines)
        rows.append(row(name, (student, small), tokens, found))
        found["bleu"] = [corpus_scores(some, references, metrics=["bleu"])[0].value for some in found.pop("outputs")]
        figures[name] = found
        print(rows[-1], flush=True)

    large = imported(lambda: nllb_folder(given.work / "nllb", given.corpus), given.work / "large")
    languages = {"source": "en", "target": "de"}
    lines = read(given.corpus / "test.en.gz", given.lines)
    own = translate(open_translator(large.folder, "ctranslate2"), lines, languages)
    small, tokens = pruned(large, [*lines, *own], given.work / "large-en-de", ("en", "de"))
    found = compare((large.folder, small.folder), "ctranslate2", lines, **languages)
    name = "vocabulary of NLLB, random weights"
    rows.append(row(name, (large, small), tokens, found))
    del found["outputs"]
    figures[name] = found

    text = heading("Pruned vocabularies", "python -m benchmarks.pruning MODEL", 1) + f"\n{__doc__ or ''}\n"
    text += table(["model, text", "tokens", "bundle, MB", "same translations", "speed after / before"], rows)
    scores = [figures[each]["bleu"] for each in figures if "bleu" in figures[each]]
    text += f"\nBLEU of the student before and after: {', '.join(f'{a:.2f} → {b:.2f}' for a, b in scores)}.\n"
    write("pruning", text, figures)


if __name__ == "__main__":
    main()
