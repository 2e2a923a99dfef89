"""Output of ``dragoman demo``; its training is tested in tests/learning."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dragoman.api.demo import date_demo as api
from dragoman.cli.commands.demo import demo, shown_samples
from dragoman.evaluation.results import Score
from dragoman.training.callbacks.events import ValidationSample

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
    assert "   3   M a y ↵\n0  █\n" in result.stdout
    assert f"dragoman check '{folder}'" in result.stdout
    assert f"{folder}/alignment.html" in result.stdout
    assert "\x1b" not in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if str(tmp_path) not in line)


def test_leaves_a_folder_of_somebody_alone(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "dragoman.toml").write_text('extends = "luong2015"\n')
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 2
    assert "has other files than those of a demo" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["dragoman.toml"]


def test_a_stopped_one_says_how_to_go_on(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(folder: Path, **_: object) -> None:
        raise api.DemoStopped("interrupted")

    monkeypatch.setattr(api, "run_demo", stopped)
    result = CliRunner().invoke(app, [str(tmp_path / "d")])
    assert result.exit_code == 130
    assert f"continue with: dragoman demo {tmp_path / 'd'}" in result.stderr


def test_only_dates_with_letters_are_printed():
    """`dragoman translate` copies the others."""
    assert shown_samples([RIGHT, ValidationSample("3.5.1998", "05-03", "05-03")]) == [RIGHT]
