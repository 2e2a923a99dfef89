"""Progress in a notebook; tests/docs/test_notebook.py shows it in a kernel."""

import subprocess
import sys

import pytest

from dragoman.api.notebook import stage_display
from dragoman.api.notebook.stage_display import in_notebook, shown_progress
from dragoman.progress import NoProgress
from dragoman.reporting.stage_progress import LineView, StageTracker
from tests.unit.cli.clock import Clock


def test_work_in_a_notebook_is_shown_as_lines_and_inner_work_has_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(stage_display, "in_notebook", lambda: True)
    with shown_progress(None) as progress:
        progress.begin("cleaning")
        with shown_progress(None) as inner:
            inner.begin("translating")
        progress.advance(1.0, 10)

    def interrupted() -> None:
        with shown_progress(None) as progress:
            progress.begin("writing")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().out.splitlines() == [
        "cleaning …",
        "✓ cleaning  10 pairs  0.0 s",
        "writing …",
        "✗ writing: stopped after 0.0 s",
    ]


@pytest.mark.parametrize(("seconds", "shown"), [(9, 0), (11, 2)])
def test_quiet_work_is_shown_only_if_it_takes_long(seconds: int, shown: int):
    clock, lines = Clock(), list[str]()
    tracker = StageTracker(LineView(lines.append, is_quiet=True), "sentence", clock)
    tracker.begin("translating")
    clock.now += seconds
    tracker.advance(0.5, 10)
    tracker.finish()
    assert len(lines) == shown


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
