"""Dragoman's translator: text in, text out, on the given engine."""

from __future__ import annotations

import argparse

from benchmarks.decoding.drivers.serving import Ask, Task, Translate, serve
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings


def load(task: Task, options: argparse.Namespace) -> Translate:
    bundle = task.facts[options.model]["bundle"]
    translator = Translator.open(bundle, engine=options.engine, precision=options.precision, threads=options.threads)

    def translate(ask: Ask) -> list[str]:
        settings = SearchSettings(beam=ask.beam)
        # All at once: the translator itself makes batches of like length, of 64 sentences at most.
        parts = [ask.texts] if ask.batch > 1 else [[text] for text in ask.texts]
        return [
            each.text for part in parts for each in translator.translate(part, search=settings, split_sentences=False)
        ]

    return translate


if __name__ == "__main__":
    serve(load)
