"""The demonstration, as a new user runs it: it learns to read dates it has never seen, and shows how."""

import shutil
from pathlib import Path

import pytest
import torch
from lxml import html

from dragoman.api.demo.date_demo import TEST_PAIRS, DemoResult, run_demo
from dragoman.bundle import Bundle
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
)

pytestmark = pytest.mark.slow


class Counting:
    """Counts what training tells."""

    def __init__(self) -> None:
        self.updates = 0

    def on_start(self, began: TrainingStarted) -> None: ...
    def on_update(self, moment: StepEvent) -> None:
        self.updates += 1

    def on_validation_start(self, update: int) -> None: ...
    def on_validation_end(self, validated: ValidationEvent) -> None: ...
    def on_checkpoint_start(self, update: int) -> None: ...
    def on_checkpoint_end(self, update: int, folder: Path) -> None: ...
    def on_message(self, text: str) -> None: ...
    def on_end(self, ended: TrainingEnded) -> None: ...


@pytest.fixture(scope="module")
def made(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    threads = torch.get_num_threads()
    made = run_demo(shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo") / "dates"))
    assert torch.get_num_threads() == threads
    return made


def test_nearly_all_dates_that_it_has_never_seen_are_right(made: DemoResult) -> None:
    assert made.exact.value >= 0.98
    assert (made.right, made.tested) == (round(made.exact.value * TEST_PAIRS), TEST_PAIRS)
    assert len(made.faults) == TEST_PAIRS - made.right


def place(sample: ValidationSample, row: int) -> str:
    """The source up to the position with the highest attention of a character."""
    assert sample.weights is not None
    weights = sample.weights[row]
    return sample.source[: weights.index(max(weights)) + 1]


def test_it_looks_where_the_answer_is(made: DemoResult) -> None:
    """The last figures of the year and of the day are read off where they stand."""
    sample = next(sample for sample in made.samples if sample.source[:1].isdigit() and "." in sample.source)
    day, month, year = sample.source.split(".")
    assert place(sample, 3) == f"{day}.{month}.{year}"
    assert place(sample, 9) == day


def test_it_leaves_a_translator_and_a_page(made: DemoResult) -> None:
    bundle = Bundle.open(made.folder / "bundle")
    assert bundle.digest == made.bundle.digest
    page = html.document_fromstring(made.page.read_text(encoding="utf-8"))
    assert len(page.findall(".//svg")) == len(made.samples) == 6


def test_again_it_only_shows_what_is_there(made: DemoResult) -> None:
    made.page.unlink()
    watching = Counting()
    again = run_demo(made.folder, callbacks=[watching])
    assert watching.updates == 0
    assert again.exact == made.exact
    assert again.page.is_file()


def test_a_stopped_one_goes_on(made: DemoResult, tmp_path: Path) -> None:
    """A bundle that was not written, as after a crash at the very end: nothing is learnt twice."""
    (made.folder / "bundle").rename(tmp_path / "bundle")
    watching = Counting()
    again = run_demo(made.folder, callbacks=[watching])
    assert watching.updates == 0
    assert again.exact == made.exact
