"""Marian's C++ decoder through pymarian; a decoder for each way to search, since that is part of loading."""

from __future__ import annotations

import argparse

from pymarian import Translator

from benchmarks.decoding.drivers.serving import UNK, Ask, Task, Translate, serve


def load(task: Task, options: argparse.Namespace) -> Translate:
    folder = task.folder / f"marian-{options.model}"
    shared = f"--models {folder / 'model.npz'} --vocabs {folder / 'vocab.yml'} {folder / 'vocab.yml'} --quiet "
    shared += "--normalize 1 --max-length 500 --workspace 256"
    sources, steps = task.read("sources.json"), task.facts[options.model]["steps"]
    made: dict[tuple[int, int], Translator] = {}

    def decoder(beam: int, batch: int) -> Translator:
        if (beam, batch) not in made:
            # A product of matrices takes one thread, so that there is a worker a thread; one sentence has one worker.
            workers = options.threads if batch > 1 else 1
            size = f"--mini-batch {batch} --maxi-batch {1000 if batch > 1 else 1} --maxi-batch-sort src"
            size += f" --max-length-factor {factor(sources, batch, steps[str(beam)]):.4f}"
            made[beam, batch] = Translator(f"{shared} --beam-size {beam} {size} --cpu-threads {workers}")
        return made[beam, batch]

    def translate(ask: Ask) -> list[list[int]]:
        lines = [" ".join(map(str, source)) for source in ask.sources]
        one = decoder(ask.beam, ask.batch)
        parts = [lines] if ask.batch > 1 else [[line] for line in lines]
        return [[number(word) for word in line.split()] for part in parts for line in one.translate(part)]

    return translate


def factor(sources: list[list[int]], batch: int, steps: float) -> float:
    """The factor of the longest source of a batch, end included, that allows this number of steps per sentence."""
    lengths = sorted(map(len, sources))
    widths = [lengths[min(start + batch, len(lengths)) - 1] + 1 for start in range(0, len(lengths), batch)]
    return steps * len(widths) / sum(widths)


def number(word: str) -> int:
    return UNK if word == "<unk>" else int(word)


if __name__ == "__main__":
    serve(load)
