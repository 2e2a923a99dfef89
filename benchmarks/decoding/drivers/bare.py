"""CTranslate2 by itself, on sentences that are pieces already; `--engine side-by-side` gives every batch one thread."""

from __future__ import annotations

import argparse

import ctranslate2

from benchmarks.decoding.drivers.serving import Ask, Task, Translate, limit, serve


def load(task: Task, options: argparse.Namespace) -> Translate:
    folder = task.folder / f"ctranslate2-{options.precision}"
    batches, threads = (options.threads, 1) if options.engine == "side-by-side" else (1, options.threads)
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type=options.precision, inter_threads=batches, intra_threads=threads
    )
    words: list[str] = task.read("words.json")
    numbers = {word: number for number, word in enumerate(words)}

    def translate(ask: Ask) -> list[list[int]]:
        sources = [[words[piece] for piece in source] for source in ask.sources]
        longest = limit(ask.sources)
        parts = [sources] if ask.batch > 1 else [[source] for source in sources]
        return [
            [numbers[word] for word in result.hypotheses[0]]
            for part in parts
            for result in translator.translate_batch(
                part, beam_size=ask.beam, max_batch_size=ask.batch, max_decoding_length=longest
            )
        ]

    return translate


if __name__ == "__main__":
    serve(load)
