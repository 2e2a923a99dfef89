"""Output of ``dragoman demo``; its training is tested in tests/learning."""

import io
import json
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from dragoman.api.demo import date_demo as api
from dragoman.cli.commands.demo import demo, shown_samples
from dragoman.cli.screens.demo import DemoScreen
from dragoman.evaluation.results import Score
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
    ValidationScores,
)

RIGHT = ValidationSample(
    "3 May", "05-03", "05-03", tuple("3 May↵"), tuple("05-03"), tuple((1.0, *[0.0] * 5) for _ in range(5))
)
WRONG = ValidationSample("4 May", "05-04", "05-14")


class FakeBundle:
    def __init__(self, folder: Path) -> None:
        self.folder = folder


def made(folder: Path, **_: object) -> api.DemoResult:
    score = Score("exact match", 0.5, "")
    bundle = FakeBundle(folder / "bundle")
    return api.DemoResult(folder, folder / "alignment.html", bundle, score, 1, 2, (WRONG,), (RIGHT,))  # type: ignore[arg-type]


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(demo)
    return app


def test_says_how_good_it_is_what_it_looks_at_and_what_to_type(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "run_demo", made)
    folder = tmp_path / "my demo"
    result = CliRunner().invoke(app, [str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    assert re.search(r"^1 of 2 unseen dates are right: 50.0 % exact match, in ", result.stdout)
    assert "  3 May  05-03  ✓\n  4 May  05-14  ✗\n" in result.stdout
    assert "   3   M a y ↵\n0  ██\n" in result.stdout
    assert f"dragoman check '{folder}'" in result.stdout
    assert f"{folder}/alignment.html" in result.stdout
    assert "\x1b" not in result.stdout
    assert "20,000 dates" in result.stderr
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if str(tmp_path) not in line)


def test_says_it_to_scripts(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "run_demo", made)
    result = CliRunner().invoke(app, [str(tmp_path / "d"), "--json"], catch_exceptions=False)
    figures = json.loads(result.stdout)
    assert (figures["exact_match"], figures["right"], figures["tested"]) == (0.5, 1, 2)


def test_leaves_a_folder_of_somebody_alone(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "dragoman.toml").write_text('extends = "luong2015"\n')
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 2
    assert "must be a new folder, or that of an earlier demo" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["dragoman.toml"]


def test_a_stopped_one_says_how_to_go_on(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(folder: Path, **_: object) -> None:
        raise api.DemoStopped("interrupted")

    monkeypatch.setattr(api, "run_demo", stopped)
    result = CliRunner().invoke(app, [str(tmp_path / "d")])
    assert result.exit_code == 130
    assert f"continue with: dragoman demo {tmp_path / 'd'}" in result.stderr


def validated(update: int, loss: float, translation: str) -> ValidationEvent:
    scored = ValidationScores(
        samples=(ValidationSample("3 M", "05-03", "05-03"), ValidationSample("3 May", "05-03", translation))
    )
    return ValidationEvent(update, loss, scored, True, update, loss, "loss", 0.1)


def shown(*, is_terminal: bool) -> str:
    """Return the display of a short training."""
    written = io.StringIO()
    console = Console(
        file=written, width=80, force_terminal=is_terminal, color_system="truecolor" if is_terminal else None
    )
    with DemoScreen(console) as screen:
        screen.begin("cleaning")
        screen.advance(0.5)
        screen.skip("writing")
        screen.on_start(TrainingStarted(Path("run"), 1234, 1, "cpu", 0, 200, 0, 0))
        screen.on_update(StepEvent(1, 0, 2.5, 10, 1.0, 0.1, 0.1, 1))
        screen.on_validation_start(25)
        screen.on_validation_end(validated(25, 2.0, "00-00"))
        screen.on_validation_end(validated(50, 1.0, "05-13"))
        screen.on_validation_end(validated(75, 0.5, "05-13"))
        screen.on_validation_end(validated(100, 0.5, "05-13"))
        screen.on_validation_end(validated(125, 0.1, "05-03"))
        screen.on_checkpoint_end(125, Path("run"))
        screen.on_message("update 126 was skipped")
        screen.on_end(TrainingEnded("interrupted", 130, 1.0, 10, 125, 0.1, "loss"))
    return written.getvalue()


def test_a_date_gets_better_line_by_line() -> None:
    lines = [line.rstrip() for line in shown(is_terminal=False).splitlines()]
    table = lines[lines.index("One unseen date after each validation:") + 2 :]
    assert table[:6] == [
        "  updates   loss                            3 May",
        "       25  2.000  ████████████████████████  00-00",
        "       50  1.000  ████████████              05-13",
        "      100  0.500  ██████                    05-13",
        "      125  0.100  █                         05-03  ✓",
        "  update 126 was skipped",
    ]
    assert "stopped after 130 updates; nothing is lost" in lines


def test_a_terminal_has_colours_and_a_bar() -> None:
    text = shown(is_terminal=True)
    assert "learning" in text
    assert "\x1b[32m05-\x1b[0m" in text or "\x1b[32m0\x1b[0m" in text


def test_only_dates_with_letters_are_printed():
    """`dragoman translate` copies the others."""
    assert shown_samples([RIGHT, ValidationSample("3.5.1998", "05-03", "05-03")]) == [RIGHT]
