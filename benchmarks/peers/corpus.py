"""The data all contenders learn from: Multi30k in subwords of one joint vocabulary, and one list of batches."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

from dragoman.text import SPECIALS, SentencePieceTokenizer, train_sentencepiece

VOCAB = 8000
SPLITS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
LANGUAGES = ("en", "de")


def read_lines(path: Path) -> list[str]:
    """The sentences of a file; all white space is a space, so that every toolkit splits subwords at the same places."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [" ".join(line.split()) for line in lines]


def bucket(lengths: Sequence[tuple[int, int]], tokens: int) -> list[list[int]]:
    """Rows of like length (source, target; without specials) in batches of about `tokens` target subwords."""
    order = sorted(range(len(lengths)), key=lambda row: (lengths[row][1], lengths[row][0]))
    batches: list[list[int]] = []
    rows: list[int] = []
    for row in order:
        rows.append(row)
        if len(rows) * (lengths[row][1] + 1) >= tokens:
            batches.append(rows)
            rows = []
    return [*batches, rows] if rows else batches


def prepare(corpus: Path, work: Path, tokens: Sequence[int]) -> SentencePieceTokenizer:
    """Write subwords (`train.en` …), raw text (`train.raw.en` …), `vocab.txt` and `batches.N.json` into the folder.

    The order of the batches is the one a random.Random(0) gives them; `drivers.batches` shuffles them in each epoch.
    """
    work.mkdir(parents=True, exist_ok=True)
    texts = {
        (split, language): read_lines(corpus / f"{name}.{language}.gz")
        for split, name in SPLITS.items()
        for language in LANGUAGES
    }
    tokenizer = train_sentencepiece(
        [*texts["train", "en"], *texts["train", "de"]], size=VOCAB, model="bpe", sample_size=200_000
    )
    tokenizer.save(work)
    subwords = {key: [tokenizer.tokens(text) for text in side] for key, side in texts.items()}
    for (split, language), side in subwords.items():
        write_lines(work / f"{split}.{language}", [" ".join(words) for words in side])
        write_lines(work / f"{split}.raw.{language}", texts[split, language])
    words = [tokenizer.vocabulary.token_of(number) for number in range(tokenizer.size)]
    write_lines(work / "vocab.txt", words)
    write_vocabularies(words[len(SPECIALS) :], work)
    lengths = [(len(s), len(t)) for s, t in zip(subwords["train", "en"], subwords["train", "de"], strict=True)]
    for size in tokens:
        batches = bucket(lengths, size)
        random.Random(0).shuffle(batches)
        (work / f"batches.{size}.json").write_text(json.dumps(batches), encoding="utf-8")
    return tokenizer


def write_vocabularies(words: list[str], work: Path) -> None:
    """The same subwords in the format of each toolkit: its own special tokens first."""
    write_lines(work / "vocab.opennmt", [f"{word}\t1" for word in words])
    write_lines(work / "vocab.joey", ["<unk>", "<pad>", "<s>", "</s>", *words])
    marian = ["</s>", "<unk>", *words]
    write_lines(work / "vocab.marian.yml", [f"{json.dumps(word)}: {number}" for number, word in enumerate(marian)])


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
