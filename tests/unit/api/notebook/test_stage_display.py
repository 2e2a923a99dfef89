"""Progress bars in a notebook; tests/docs/test_notebook.py shows them in a kernel."""

import subprocess
import sys

import lxml.html
import pytest

from dragoman.api.notebook.stage_display import CellOutput, StageDisplay, in_notebook, shown_progress
from dragoman.progress import NoProgress


class Recorded(CellOutput):
    """An output that keeps all content."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[str] = []
        self.texts: list[str] = []

    def show(self, html: str, text: str) -> None:
        self.pages.append(html)
        self.texts.append(text)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def output() -> Recorded:
    return Recorded()


def test_a_stage_has_a_bar_with_the_time_left(output: Recorded):
    clock = Clock()
    display = StageDisplay(output, clock=clock)
    display.begin("cleaning <train>")
    assert output.texts == ["cleaning <train>: 0%"]
    clock.now += 2
    display.advance(0.25, 1000)

    page = lxml.html.fromstring(output.pages[-1])
    (bar,) = page.iter("progress")
    assert bar.get("value") == "0.250"
    assert bar.get("aria-label") == "cleaning <train>"
    assert "1,000 pairs · 500/s · 6 s left" in page.text_content()


def test_frequent_advances_are_shown_a_few_times_per_second(output: Recorded):
    clock = Clock()
    display = StageDisplay(output, clock=clock)
    display.begin("cleaning")
    for step in range(1000):
        clock.now += 0.001
        display.advance(step / 1000, step)
    assert len(output.pages) <= 5


def test_finished_stages_stay_as_lines(output: Recorded):
    clock = Clock()
    display = StageDisplay(output, clock=clock)
    display.skip("hashing")
    display.begin("cleaning")
    clock.now += 3
    display.advance(1.0, 10)
    display.begin("writing")
    clock.now += 2
    display.end(stopped=True)

    assert output.texts[-1].splitlines() == [
        "– hashing: done before",
        "✓ cleaning · 10 pairs · 3.0 s",
        "✗ writing: stopped after 2.0 s",
    ]
    assert "<progress" not in output.pages[-1]


def test_quick_work_with_a_delay_shows_nothing(output: Recorded):
    clock = Clock()
    display = StageDisplay(output, delay=1.0, clock=clock)
    display.begin("translating")
    clock.now += 0.9
    display.advance(0.5, 10)
    display.advance(1.0, 20)
    display.end()
    assert output.pages == []


def test_slow_work_with_a_delay_is_shown(output: Recorded):
    clock = Clock()
    display = StageDisplay(output, unit="sentence", delay=1.0, clock=clock)
    display.begin("translating")
    clock.now += 1.5
    display.advance(0.5, 10)
    display.end()
    assert output.texts[-1] == "✓ translating · 10 sentences · 1.5 s"


def test_nothing_is_shown_outside_of_a_kernel():
    assert not in_notebook()
    with shown_progress(None) as progress:
        assert isinstance(progress, NoProgress)


def test_a_given_progress_is_used():
    given = NoProgress()
    with shown_progress(given) as progress:
        assert progress is given


def test_ipython_is_not_imported_outside_of_a_kernel():
    code = (
        "import sys; from dragoman.api.notebook.stage_display import shown_progress\n"
        "with shown_progress(None) as progress: progress.begin('x')\n"
        "assert 'IPython' not in sys.modules and 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_script_that_imports_ipython_is_not_a_notebook():
    code = (
        "import IPython; from dragoman.api.notebook.stage_display import in_notebook\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "assert not in_notebook(); InteractiveShell.instance(); assert not in_notebook()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
