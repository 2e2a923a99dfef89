"""The demonstration, as a new user runs it: it learns to read dates it has never seen, and shows how."""

from pathlib import Path

import pytest
import torch
from lxml import html

from dragoman.api.demo import TEST_PAIRS, Demo, demo
from dragoman.bundle import Bundle
from dragoman.training.progress import Began, Ended, Moment, Sample, Validated

pytestmark = pytest.mark.slow


class Counting:
    """Counts what training tells."""

    def __init__(self) -> None:
        self.updates = 0

    def began(self, began: Began) -> None: ...
    def updated(self, moment: Moment) -> None:
        self.updates += 1

    def validating(self, update: int) -> None: ...
    def validated(self, validated: Validated) -> None: ...
    def saving(self, update: int) -> None: ...
    def saved(self, update: int, folder: Path) -> None: ...
    def noted(self, text: str) -> None: ...
    def ended(self, ended: Ended) -> None: ...


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    threads = torch.get_num_threads()
    made = demo(tmp_path_factory.mktemp("demo") / "dates")
    assert torch.get_num_threads() == threads
    return made


def test_nearly_all_dates_that_it_has_never_seen_are_right(made: Demo) -> None:
    assert made.exact.value >= 0.98
    assert (made.right, made.tested) == (round(made.exact.value * TEST_PAIRS), TEST_PAIRS)
    assert len(made.faults) == TEST_PAIRS - made.right


def place(sample: Sample, row: int) -> str:
    """The source up to where a character looks at most."""
    assert sample.weights is not None
    weights = sample.weights[row]
    return sample.source[: weights.index(max(weights)) + 1]


def test_it_looks_where_the_answer_is(made: Demo) -> None:
    """The last figures of the year and of the day are read off where they stand."""
    sample = next(sample for sample in made.samples if sample.source[:1].isdigit() and "." in sample.source)
    day, month, year = sample.source.split(".")
    assert place(sample, 3) == f"{day}.{month}.{year}"
    assert place(sample, 9) == day


def test_it_leaves_a_translator_and_a_page(made: Demo) -> None:
    bundle = Bundle.open(made.folder / "bundle")
    assert bundle.digest == made.bundle.digest
    page = html.document_fromstring(made.page.read_text(encoding="utf-8"))
    assert len(page.findall(".//svg")) == len(made.samples) == 6


def test_again_it_only_shows_what_is_there(made: Demo) -> None:
    made.page.unlink()
    watching = Counting()
    again = demo(made.folder, observers=[watching])
    assert watching.updates == 0
    assert again.exact == made.exact
    assert again.page.is_file()


def test_a_stopped_one_goes_on(made: Demo, tmp_path: Path) -> None:
    """A bundle that was not written, as after a crash at the very end: nothing is learnt twice."""
    (made.folder / "bundle").rename(tmp_path / "bundle")
    watching = Counting()
    again = demo(made.folder, observers=[watching])
    assert watching.updates == 0
    assert again.exact == made.exact
