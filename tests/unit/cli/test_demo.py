"""What ``dragoman demo`` says; what it does is tested where it learns."""

import io
import json
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from dragoman.api import demo as api
from dragoman.cli.demo import demo
from dragoman.cli.demo_screen import DemoScreen
from dragoman.evaluation.metrics import Score
from dragoman.training.progress import Began, Ended, Moment, Sample, Scored, Validated

RIGHT = Sample("3 May", "05-03", "05-03", tuple("3 May↵"), tuple("05-03"), tuple((1.0, *[0.0] * 5) for _ in range(5)))
WRONG = Sample("4 May", "05-04", "05-14")


class FakeBundle:
    def __init__(self, folder: Path) -> None:
        self.folder = folder


def made(folder: Path, **_: object) -> api.Demo:
    score = Score("exact match", 0.5, "")
    bundle = FakeBundle(folder / "bundle")
    return api.Demo(folder, folder / "alignment.html", bundle, score, 1, 2, (WRONG,), (RIGHT,))  # type: ignore[arg-type]


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(demo)
    return app


def test_says_how_good_it_is_what_it_looks_at_and_what_to_type(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "demo", made)
    folder = tmp_path / "my demo"
    result = CliRunner().invoke(app, [str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    assert re.search(r"^1 of 2 dates it had never seen are right: 50.0 % exact match, in ", result.stdout)
    assert "  3 May  05-03  ✓\n  4 May  05-14  ✗\n" in result.stdout
    assert "   3   M a y ↵\n0  ██\n" in result.stdout
    assert f"dragoman check '{folder}'" in result.stdout
    assert f"{folder}/alignment.html" in result.stdout
    assert "\x1b" not in result.stdout
    assert "20,000 dates" in result.stderr
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if str(tmp_path) not in line)


def test_says_it_to_scripts(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "demo", made)
    result = CliRunner().invoke(app, [str(tmp_path / "d"), "--json"], catch_exceptions=False)
    figures = json.loads(result.stdout)
    assert (figures["exact_match"], figures["right"], figures["tested"]) == (0.5, 1, 2)


def test_leaves_a_folder_of_somebody_alone(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "dragoman.toml").write_text('extends = "luong2015"\n')
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 2
    assert "must be a new folder, or that of an earlier demonstration" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["dragoman.toml"]


def test_a_stopped_one_says_how_to_go_on(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(folder: Path, **_: object) -> None:
        raise api.Stopped("interrupted")

    monkeypatch.setattr(api, "demo", stopped)
    result = CliRunner().invoke(app, [str(tmp_path / "d")])
    assert result.exit_code == 130
    assert f"go on with: dragoman demo {tmp_path / 'd'}" in result.stderr


def validated(update: int, loss: float, translation: str) -> Validated:
    scored = Scored(samples=(Sample("3 M", "05-03", "05-03"), Sample("3 May", "05-03", translation)))
    return Validated(update, loss, scored, True, update, loss, "loss", 0.1)


def shown(*, is_terminal: bool) -> str:
    """A short training, as it is shown."""
    written = io.StringIO()
    console = Console(
        file=written, width=80, force_terminal=is_terminal, color_system="truecolor" if is_terminal else None
    )
    with DemoScreen(console) as screen:
        screen.begin("cleaning")
        screen.advance(0.5)
        screen.skip("writing")
        screen.began(Began(Path("run"), 1234, 1, "cpu", 0, 200, 0, 0))
        screen.updated(Moment(1, 0, 2.5, 10, 1.0, 0.1, 0.1, 1))
        screen.validating(25)
        screen.validated(validated(25, 2.0, "00-00"))
        screen.validated(validated(50, 1.0, "05-13"))
        screen.validated(validated(75, 0.5, "05-13"))
        screen.validated(validated(100, 0.5, "05-13"))
        screen.validated(validated(125, 0.1, "05-03"))
        screen.saved(125, Path("run"))
        screen.noted("update 126 was skipped")
        screen.ended(Ended("interrupted", 130, 1.0, 10, 125, 0.1, "loss"))
    return written.getvalue()


def test_a_date_gets_better_line_by_line() -> None:
    lines = [line.rstrip() for line in shown(is_terminal=False).splitlines()]
    table = lines[lines.index("One date that it is never told, asked again and again:") + 2 :]
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
