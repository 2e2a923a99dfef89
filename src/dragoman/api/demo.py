"""The demonstration: a small translator that learns, in about a minute, to read dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.api.corpora import prepare_corpora
from dragoman.api.dates import SPELLINGS, date_corpus
from dragoman.api.scoring import translate_pieces
from dragoman.api.training import train
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config
from dragoman.data.progress import Progress, Silent
from dragoman.errors import ConfigError
from dragoman.evaluation.metrics import Score, exact_match
from dragoman.files import whole
from dragoman.inspection import alignment_page
from dragoman.models.load import load_model
from dragoman.search import Hypothesis
from dragoman.text import Tokenizer
from dragoman.text.notation import SPACE_MARK
from dragoman.training.progress import Observer, Sample

__all__ = ["Demo", "Stopped", "demo"]

SEED = 1
TRAINING_PAIRS, VALIDATION_PAIRS, TEST_PAIRS = 20_000, 10 * len(SPELLINGS), 50 * len(SPELLINGS)

END = "↵"
"""How the end of a source is shown."""

_CONFIG, _BUNDLE, _PAGE, _RUN, _CORPUS = "dragoman.toml", "bundle", "alignment.html", "run", "corpus"

_SHOWN = (12, 8, 10, 17, 19, 18)
"""Which spellings the samples have; the first one's map is drawn in the terminal."""

_TEMPLATE = """\
# A demonstration: English dates, spelt in many ways, become ISO dates: the third of May, 1998 -> 1998-05-03.
# Change something and train again, beside the first run:   dragoman train --output another
# Every setting, with its default:                           dragoman config show dragoman.toml
extends = "bahdanau2015-desk" # a recurrent network with attention; others: dragoman config presets

[data]
source = "en"
target = "zxx" # the code for "no language": figures only

[[data.train]]
files = ["corpus/train.src", "corpus/train.tgt"]

[data.validation]
files = ["corpus/validation.src", "corpus/validation.tgt"]

[[data.test]] # no date of these two sets is in the first
files = ["corpus/test.src", "corpus/test.tgt"]

[data.cleaning] # rules that are right for sentences, and wrong for dates
min_letters = 0.0 # 1998-05-03 has none
min_script = 0.0
max_ratio = 20.0 # "the twenty-third of September, nineteen seventy-seven" is far longer than its translation
numbers = false # 3 and 03 are the same day
identical = false # 1998/05/03 and 1998-05-03 differ in punctuation only
max_similarity = 1.0

[tokenizer]
kind = "character" # it learns to spell
joint = false

[model] # some 260,000 weights
embedding = 64
dropout = 0.0
encoder = { hidden = 128 }
attention = { hidden = 128 }
decoder = { hidden = 128, output_hidden = 64 }

[training]
learning_rate = 3e-3
schedule = "cosine"
warmup_updates = 50
max_updates = 700
batch_tokens = 1_024
label_smoothing = 0.0
validate_every = 25 # often, to watch it learn
validation_sentences = 110
checkpoint_every = 100
"""


class Stopped(Exception):  # noqa: N818 -- nothing went wrong
    """Training was asked to stop before its end: ``terminated`` or ``interrupted``."""


@dataclass(frozen=True)
class Demo:
    """What came of it. The score is of the test set, none of whose dates it was trained on."""

    folder: Path
    page: Path
    bundle: Bundle
    exact: Score
    right: int
    tested: int
    faults: tuple[Sample, ...]
    samples: tuple[Sample, ...]
    """A few test dates with what each written character looked at."""


def demo(
    folder: Path, *, progress: Progress | None = None, observers: Sequence[Observer] = (), overrides: Sequence[str] = ()
) -> Demo:
    """Make a corpus of dates in the folder, train on it, test the translator, and draw what it looks at.

    It leaves ``bundle`` and ``alignment.html``. In the folder of a demonstration that was stopped it goes on from
    there, and in that of a finished one it only tests and draws again.
    """
    progress = progress or Silent()
    corpus = date_corpus(TRAINING_PAIRS, validation=VALIDATION_PAIRS, test=TEST_PAIRS, seed=SEED)
    progress.begin("writing dates")
    _write_project(folder, corpus)
    bundle = _bundle(folder, progress, observers, overrides)
    progress.begin("testing")
    test = corpus["test"]
    found = _translated(bundle, test)
    exact = exact_match([sample.translation for sample in found], [reference for _, reference in test])
    samples = tuple(found[len(SPELLINGS) + spelling] for spelling in _SHOWN)
    page = folder / _PAGE
    introduction = (
        f"A network of {_parameters(bundle):,} weights learnt this from {TRAINING_PAIRS:,} examples; none of the dates "
        f"below was among them. It reads and writes single characters; {END} is the end of the text."
    )
    with whole(page) as draft:
        text = alignment_page(samples, title="How a translator reads dates", introduction=introduction)
        draft.write_text(text, encoding="utf-8")
    faults = tuple(sample for sample in found if sample.translation != sample.reference)
    return Demo(folder, page, bundle, exact, len(test) - len(faults), len(test), faults, samples)


def _write_project(folder: Path, corpus: dict[str, list[tuple[str, str]]]) -> None:
    """The configuration first: it tells a demonstration from a folder that must be left alone."""
    config = folder / _CONFIG
    is_ours = config.is_file() and config.read_text(encoding="utf-8", errors="replace") == _TEMPLATE
    if not is_ours and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"{folder} must be a new folder, or that of an earlier demonstration, got other files there; name another: "
            "dragoman demo FOLDER"
        )
    (folder / _CORPUS).mkdir(parents=True, exist_ok=True)
    files = {config: _TEMPLATE}
    for name, pairs in corpus.items():
        for side, ending in enumerate(("src", "tgt")):
            files[folder / _CORPUS / f"{name}.{ending}"] = "".join(f"{pair[side]}\n" for pair in pairs)
    for path, text in files.items():
        if not path.is_file():
            with whole(path) as draft:
                draft.write_text(text, encoding="utf-8")


def _bundle(folder: Path, progress: Progress, observers: Sequence[Observer], overrides: Sequence[str]) -> Bundle:
    """The translator: that of an earlier time, or a new one."""
    place = folder / _BUNDLE
    if place.exists():
        progress.skip("training")
        return Bundle.open(place, trusted=True)
    config = load_config(folder / _CONFIG, overrides)
    prepare_corpora(config, folder, progress=progress)
    with _one_thread():
        trained = train(config, folder, run=folder / _RUN, resume=True, observers=observers)
    if trained.bundle is None:
        raise Stopped(trained.ended.why)
    bundle = trained.bundle
    return write_bundle(place, bundle.config, bundle.weights(), bundle.tokenizers(), bundle.card())


@contextmanager
def _one_thread() -> Iterator[None]:
    """So small a network gains little from several threads, and on a busy machine they would wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _translated(bundle: Bundle, pairs: Sequence[tuple[str, str]]) -> list[Sample]:
    """The translations of all pairs, with what each character looked at."""
    tokenizers = bundle.tokenizers()
    sources = [tokenizers["source"].encode(source) for source, _ in pairs]
    found = translate_pieces(load_model(bundle), sources, check=lambda: None, show=True)
    return [_sample(pair, hypothesis, tokenizers) for pair, hypothesis in zip(pairs, found, strict=True)]


def _sample(pair: tuple[str, str], hypothesis: Hypothesis, tokenizers: dict[str, Tokenizer]) -> Sample:
    """Character by character: words would hide how the figures of a date are found one by one."""
    source, reference = pair
    target = tokenizers["target"]
    assert hypothesis.alignment is not None
    weights = hypothesis.alignment[: len(hypothesis.pieces)].tolist()
    return Sample(
        source=source,
        reference=reference,
        translation=target.decode(hypothesis.pieces),
        source_words=(*(piece.replace(SPACE_MARK, " ") for piece in tokenizers["source"].pieces(source)), END),
        target_words=tuple(target.id_to_piece(piece) for piece in hypothesis.pieces),
        weights=tuple(map(tuple, weights)),
    )


def _parameters(bundle: Bundle) -> int:
    return sum(array.size for array in bundle.weights().values())
