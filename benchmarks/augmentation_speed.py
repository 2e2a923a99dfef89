"""What changed pairs and sampled subwords cost in training, and how often tags are put around the right words.

Multi30k en→de and the small Transformer of `benchmarks.augmentation`. The loader reads two whole epochs, planning
included, without workers; the step is the mean of some updates. Tokens are those of the target, per second of processor
time. Speed is that of training, step and loader together, relative to unchanged pairs with the same step. Links are
learned from the sentences of Europarl of at most 25 words. A tag around a hand-aligned word of the source, or several,
is right if every word inside it in the target is linked to one of them by hand, surely or possibly, and each of them to
one of those; words that were not linked by hand do not count.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch

from benchmarks.alignment.corpus import CORPORA, read, words_of
from benchmarks.augmentation import MODEL
from benchmarks.markup import gold_pairs
from benchmarks.quality.__main__ import data_settings
from benchmarks.reporting import heading, parser, table, write
from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import Config, load_config
from dragoman.data.augmentation import linked_spans
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.models import build_model
from dragoman.text.perturbation import draw_numbers
from dragoman.text.words import WordLinks
from dragoman.training import build_optimizer, train_step
from dragoman.training.step import RewardBaseline

ARMS = {"plain": "", "changed pairs": "[data.augment]\n", "subwords": "[data.sampling]\nsubword_temperature = 5.0\n"}
GOAL = 0.97
TAGS = 5  # per sentence
LEARNED = 20_000  # lines


def loading(prepared: PreparedData, config: Config) -> tuple[float, float]:
    """Seconds until the loader begins, and per target token in the two epochs after the first, which fills caches."""
    began = time.process_time()
    with BatchLoader.from_prepared(prepared, config) as loader:
        start = time.process_time() - began
        while loader.position.epoch < 1:
            next(loader)
        began, tokens = time.process_time(), 0
        while loader.position.epoch < 3:
            tokens += next(loader).target_tokens
    return start, (time.process_time() - began) / tokens


def stepping(prepared: PreparedData, config: Config, updates: int) -> float:
    """Seconds of an update, per target token."""
    source, target = (each.size for each in prepared.tokenizers().values())
    model = build_model(config.model, source, target, 1)
    optimizer, baseline = build_optimizer(model, config.training), RewardBaseline(config.training.baseline_decay)
    with BatchLoader.from_prepared(prepared, config) as loader:
        batches = list(islice(loader, updates + 2))
    began = 0.0
    for number, batch in enumerate(batches, 1):
        if number == 3:  # the first ones allocate memory
            began = time.process_time()
        train_step(model, optimizer, batch, config.training, number, baseline)
    return (time.process_time() - began) / sum(batch.target_tokens for batch in batches[2:])


def measure_speed(corpus: Path, updates: int) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    step = plain = 0.0
    with tempfile.TemporaryDirectory() as room:
        for name, more in ARMS.items():
            folder = Path(room) / name
            folder.mkdir()
            (folder / "dragoman.toml").write_text(MODEL + data_settings(corpus) + more, encoding="utf-8")
            config = load_config(folder / "dragoman.toml")
            prepared = prepare_corpora(config, folder)
            start, load = loading(prepared, config)
            step = step or stepping(prepared, config, updates)
            plain = plain or load
            found.append(
                {"arm": name, "start": start, "loader": 1 / load, "training": 1 / (step + load),
                 "speed": (step + plain) / (step + load)}
            )  # fmt: skip
            print(found[-1], flush=True)
    return found


def measure_tags(data: Path, name: str, corpus: str) -> dict[str, object]:
    """Tags around words of hand-aligned sentences, placed by links that were learned from other sentences."""
    pair, sides = CORPORA[corpus], name.split("-")
    lines = [list(islice(read(data / "europarl" / f"train.{side}.gz"), LEARNED)) for side in sides]
    texts = [[words_of(text, side, whole=pair.whole) for text in each] for each, side in zip(lines, sides, strict=True)]
    kept = [each for each in zip(*texts, strict=True) if max(len(text.split()) for text in each) <= pair.longest]
    began = time.process_time()
    links = WordLinks.learn(kept)
    took = time.process_time() - began
    right = tags = linked = 0
    sentences = gold_pairs(data / "alignment-gold", name)
    for number, (source, words, gold) in enumerate(sentences):
        both = source, " ".join(words)
        draws = draw_numbers(f"{name} {number}")
        linked += bool(links.find(both))
        drawn = gold.sure | gold.possible
        for _ in range(TAGS):
            if spans := linked_spans(both, draws, links):
                inside = [
                    set(range(text[:start].count(" "), text[:end].count(" ") + 1))
                    for text, (start, end) in zip(both, spans, strict=True)
                ]
                here = [{link[side] for link in drawn} & inside[side] for side in range(2)]
                ours = [{link[side] for link in drawn if link[1 - side] in inside[1 - side]} for side in range(2)]
                if all(here):
                    tags += 1
                    right += all(each <= hand for each, hand in zip(here, ours, strict=True))
    return {"pair": name, "learned": len(kept), "seconds": took, "tags": tags, "right": right / tags,
            "linked": linked / len(sentences)}  # fmt: skip


def page(options: argparse.Namespace, speed: list[dict], tags: list[dict]) -> str:
    text = heading("The cost of changed pairs", "python -m benchmarks.augmentation_speed", options.threads)
    text += f"\n{__doc__ or ''}\nThe goal is a speed of at least {GOAL}.\n\n"
    rows = [
        [each["arm"], f"{each['start']:.1f}", f"{each['loader']:,.0f}", f"{each['training']:,.0f}",
         f"{each['speed']:.3f}"] for each in speed
    ]  # fmt: skip
    text += table(["", "start, s", "loader, tokens/s", "training, tokens/s", "speed"], rows) + "\n"
    rows = [
        [each["pair"], f"{each['learned']:,}", f"{each['seconds']:.1f}", f"{100 * each['linked']:.0f} %",
         f"{each['tags']:,}", f"{100 * each['right']:.1f} %"] for each in tags
    ]  # fmt: skip
    head = ["tags", "pairs learned from", "s", "sentences with links", "tags", "around the right words"]
    return text + table(head, rows)


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data"), help="a folder of corpora")
    options.add_argument("--updates", type=int, default=20)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    tags = [measure_tags(chosen.corpus, *each) for each in (("en-de", "de-en"), ("en-fr", "en-fr"))]
    print(tags, flush=True)
    speed = measure_speed(chosen.corpus / "multi30k", chosen.updates)
    write("augmentation_speed", page(chosen, speed, tags), {"speed": speed, "tags": tags})


if __name__ == "__main__":
    main()
