"""Run the date demo: train a small model to translate dates, and show its attention weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.api.demo.demo_project import SPELLINGS, date_corpus, write_project
from dragoman.api.training.checked_training import Prepare, open_training
from dragoman.api.training.preparation import prepare_corpora
from dragoman.api.training.training_run import train_model
from dragoman.api.training.translation_scorer import translate_greedy
from dragoman.bundle import Bundle, write_bundle
from dragoman.evaluation.metrics.corpus_scores import exact_match
from dragoman.evaluation.results import Score
from dragoman.files import atomic_write
from dragoman.inspection.pages.alignment import render_alignment_page
from dragoman.models.build import load_model
from dragoman.run_files import BUNDLE
from dragoman.search import Hypothesis
from dragoman.text import Tokenizer
from dragoman.text.tokenizers.notation import SPACE_MARK
from dragoman.training.callbacks.events import TrainerCallback, ValidationSample
from dragoman.training.thread_controller import single_thread

SEED = 1
TRAINING_PAIRS, VALIDATION_PAIRS, TEST_PAIRS = 20_000, 10 * len(SPELLINGS), 50 * len(SPELLINGS)

_PAGE = "alignment.html"
_END = "↵"  # label of the end of a source
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
    folder: Path, *, prepare: Prepare = prepare_corpora, callbacks: Sequence[TrainerCallback] = ()
) -> DemoResult:
    """Write a corpus of dates to the folder, train on it, test the model, and render its attention.

    The results are ``bundle`` and ``alignment.html``. In the folder of a stopped demo the training resumes; in that of
    a finished one, only the test and the page are repeated.
    """
    corpus = date_corpus(TRAINING_PAIRS, validation=VALIDATION_PAIRS, test=TEST_PAIRS, seed=SEED)
    write_project(folder, corpus)
    bundle, test = _bundle(folder, prepare, callbacks), corpus["test"]
    found = _translate(bundle, test)
    exact = exact_match([sample.translation for sample in found], [reference for _, reference in test])
    samples = tuple(found[len(SPELLINGS) + spelling] for spelling in _SAMPLES)
    page = folder / _PAGE
    introduction = (
        f"A network of {bundle.parameter_count():,} weights learnt this from {TRAINING_PAIRS:,} examples; none of the "
        f"dates below was among them. It reads and writes single characters; {_END} is the end of the text."
    )
    with atomic_write(page) as draft:
        text = render_alignment_page(samples, title="How a translator reads dates", introduction=introduction)
        draft.write_text(text, encoding="utf-8")
    faults = tuple(sample for sample in found if sample.translation != sample.reference)
    return DemoResult(folder, page, bundle, exact, len(test) - len(faults), len(test), faults, samples)


def _bundle(folder: Path, prepare: Prepare, callbacks: Sequence[TrainerCallback]) -> Bundle:
    """Return the existing bundle, or train one."""
    path = folder / BUNDLE
    if path.exists():
        return Bundle.open(path, trusted=True)
    training = open_training(folder, resume=True, prepare=prepare)
    with single_thread():  # so small a network gains little from threads, and on a busy machine they slow it down
        trained = train_model(training, callbacks=callbacks)
    if trained.bundle is None:
        raise DemoStopped(trained.ended.why)
    bundle = trained.bundle
    return write_bundle(path, bundle.config, bundle.weights(), bundle.tokenizers(), bundle.card())


def _translate(bundle: Bundle, pairs: Sequence[tuple[str, str]]) -> list[ValidationSample]:
    """Translate all pairs greedily, with the attention weights of each character."""
    tokenizers = bundle.tokenizers()
    sources = [tokenizers["source"].encode(source) for source, _ in pairs]
    found = translate_greedy(load_model(bundle), sources, check=lambda: None, show=True)
    return [_sample(pair, hypothesis, tokenizers) for pair, hypothesis in zip(pairs, found, strict=True)]


def _sample(pair: tuple[str, str], hypothesis: Hypothesis, tokenizers: dict[str, Tokenizer]) -> ValidationSample:
    """Return weights between characters: words would hide how each digit of a date is found."""
    source, reference = pair
    target = tokenizers["target"]
    assert hypothesis.alignment is not None
    weights = hypothesis.alignment[: len(hypothesis.tokens)].tolist()
    return ValidationSample(
        source=source,
        reference=reference,
        translation=target.decode(hypothesis.tokens),
        source_words=(*(token.replace(SPACE_MARK, " ") for token in tokenizers["source"].tokens(source)), _END),
        target_words=tuple(target.id_to_token(token) for token in hypothesis.tokens),
        weights=tuple(map(tuple, weights)),
    )
