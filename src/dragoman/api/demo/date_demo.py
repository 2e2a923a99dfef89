"""Run the date demo: train a small model to translate dates, and show its attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.api.demo.date_corpus import SPELLINGS, date_corpus
from dragoman.api.demo.demo_project import CONFIG_FILE, write_project
from dragoman.api.demo.demo_samples import END, translate_samples
from dragoman.api.training.preparation import prepare_corpora
from dragoman.api.training.single_thread import single_thread
from dragoman.api.training.training_run import train_model
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config
from dragoman.evaluation.metrics.corpus_scores import exact_match
from dragoman.evaluation.results import Score
from dragoman.files import atomic_write
from dragoman.inspection.pages.alignment import render_alignment_page
from dragoman.progress import NoProgress, Progress
from dragoman.training.callbacks.events import TrainerCallback, ValidationSample

__all__ = ["DemoResult", "DemoStopped", "run_demo"]

SEED = 1
TRAINING_PAIRS, VALIDATION_PAIRS, TEST_PAIRS = 20_000, 10 * len(SPELLINGS), 50 * len(SPELLINGS)

_BUNDLE, _PAGE, _RUN = "bundle", "alignment.html", "run"

_SAMPLES = (12, 8, 10, 17, 19, 18)
"""Indices of the spellings of the samples; the map of the first one is shown in the terminal."""


class DemoStopped(Exception):  # noqa: N818 -- not an error
    """A signal stopped the training: ``terminated`` or ``interrupted``."""


@dataclass(frozen=True)
class DemoResult:
    """Result of the demo. The score is that of the test set, which has no date of the training set."""

    folder: Path
    page: Path
    bundle: Bundle
    exact: Score
    right: int
    tested: int
    faults: tuple[ValidationSample, ...]
    samples: tuple[ValidationSample, ...]
    """A few test dates with the attention weights of each character."""


def run_demo(
    folder: Path,
    *,
    progress: Progress | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    overrides: Sequence[str] = (),
) -> DemoResult:
    """Write a corpus of dates to the folder, train on it, test the model, and render its attention.

    The results are ``bundle`` and ``alignment.html``. In the folder of a stopped demo the training resumes; in that of
    a finished one, only the test and the page are repeated.
    """
    progress = progress or NoProgress()
    corpus = date_corpus(TRAINING_PAIRS, validation=VALIDATION_PAIRS, test=TEST_PAIRS, seed=SEED)
    progress.begin("writing dates")
    write_project(folder, corpus)
    bundle = _bundle(folder, progress, callbacks, overrides)
    progress.begin("testing")
    test = corpus["test"]
    found = translate_samples(bundle, test)
    exact = exact_match([sample.translation for sample in found], [reference for _, reference in test])
    samples = tuple(found[len(SPELLINGS) + spelling] for spelling in _SAMPLES)
    page = folder / _PAGE
    introduction = (
        f"A network of {bundle.parameter_count():,} weights learnt this from {TRAINING_PAIRS:,} examples; none of the "
        f"dates below was among them. It reads and writes single characters; {END} is the end of the text."
    )
    with atomic_write(page) as draft:
        text = render_alignment_page(samples, title="How a translator reads dates", introduction=introduction)
        draft.write_text(text, encoding="utf-8")
    faults = tuple(sample for sample in found if sample.translation != sample.reference)
    return DemoResult(folder, page, bundle, exact, len(test) - len(faults), len(test), faults, samples)


def _bundle(folder: Path, progress: Progress, callbacks: Sequence[TrainerCallback], overrides: Sequence[str]) -> Bundle:
    """Return the existing bundle, or train one."""
    path = folder / _BUNDLE
    if path.exists():
        progress.skip("training")
        return Bundle.open(path, trusted=True)
    config = load_config(folder / CONFIG_FILE, overrides)
    prepare_corpora(config, folder, progress=progress)
    with single_thread():  # so small a network gains little from threads, and on a busy machine they slow it down
        trained = train_model(config, folder, run=folder / _RUN, resume=True, callbacks=callbacks)
    if trained.bundle is None:
        raise DemoStopped(trained.ended.why)
    bundle = trained.bundle
    return write_bundle(path, bundle.config, bundle.weights(), bundle.tokenizers(), bundle.card())
