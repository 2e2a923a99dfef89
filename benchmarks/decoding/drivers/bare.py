"""CTranslate2 by itself, on tokenized sentences: one thread per batch, and parallel batches."""

from __future__ import annotations

import argparse

import ctranslate2

from benchmarks.decoding.drivers.serving import Ask, Task, Translate, limit, serve


def load(task: Task, options: argparse.Namespace) -> Translate:
    folder = task.folder / f"ctranslate2-{options.precision}"
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type=options.precision, inter_threads=options.threads, intra_threads=1
    )
    words: list[str] = task.read("words.json")
    numbers = {word: number for number, word in enumerate(words)}

    def translate(ask: Ask) -> list[list[int]]:
        sources = [[words[token] for token in source] for source in ask.sources]
        longest = limit(ask.sources)
        # All at once: it makes batches of like length itself, and as many of them run at a time as there are threads.
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
