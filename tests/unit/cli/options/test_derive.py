"""Options derived from settings: types, defaults, help, and errors with the names of options."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import pytest
import typer
from pydantic import BeforeValidator, model_validator
from typer.testing import CliRunner, Result

from dragoman.cli.console import set_command
from dragoman.cli.help_pages import PlainCommand
from dragoman.cli.options.derive import default_text, described_fields, help_text, settings_options
from dragoman.config.base import Cli, Positive, Settings, Size
from dragoman.config.validation_errors import SettingError


def _split(value: Any) -> Any:
    return tuple(value.split("-")) if isinstance(value, str) else value


class Nested(Settings):
    size: Size = 3
    """Size of it."""


class Example(Settings):
    beam: Annotated[Size, Cli("Search")] = 5
    """Beam size."""
    alpha: Annotated[Positive | None, Cli("Search", default="chosen")] = None
    """Exponent."""
    mode: Literal["fast", "slow"] = "fast"
    """Mode."""
    engine: Literal["torch", "ctranslate2", "onnxruntime"] | None = None
    """Engine."""
    names: tuple[str, ...] = ("a", "b")
    """Names."""
    head: Size | Literal["mean"] = "mean"
    """Head."""
    pair: Annotated[tuple[str, str] | None, BeforeValidator(_split)] = None
    """Pair."""
    draw: bool = False
    """Draw at random."""
    page: bool = True
    """Serve the page."""
    inner: Annotated[Nested, Cli("Inner")] = Nested()
    """Nested settings."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if self.beam > 9 and not self.draw:
            raise SettingError("{beam} must be at most 9 without {draw}, got {value}; add that one", value=self.beam)
        return self


def run(*arguments: str, exclude: tuple[str, ...] = (), unvalidated: bool = False) -> tuple[Result, Any]:
    received: list[Any] = []

    @settings_options(example=Example, exclude=exclude, unvalidated={"example"} if unvalidated else ())
    def command(text: str = "", *, example: Any) -> None:
        received.append((text, example))

    set_command("", json_errors=False)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=PlainCommand)(command)
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
    return result, received[0] if received else None


def test_without_options_all_defaults_apply():
    result, (_, example) = run()
    assert result.exit_code == 0
    assert example == Example()
    assert example.model_fields_set == set()


def test_values_have_the_types_of_their_fields():
    given = ("--beam", "4", "--alpha", "0.5", "--mode", "slow", "--engine", "torch", "--names", "x,y", "--names", "z")
    result, (text, example) = run(
        "--text", "t", *given, "--head", "2", "--pair", "en-de", "--inner-size", "7", "--draw"
    )
    assert (result.exit_code, text) == (0, "t")
    assert example == Example(
        beam=4,
        alpha=0.5,
        mode="slow",
        engine="torch",
        names=("x", "y", "z"),
        head=2,
        pair=("en", "de"),
        draw=True,
        inner=Nested(size=7),
    )
    assert run("--no-page")[1][1] == Example(page=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--beam", "0"), "--beam must be greater than or equal to 1, got 0; see dragoman --help"),
        (("--mode", "fats"), "--mode must be one of fast, slow, got 'fats'; did you mean fast?"),
        (("--head", "all"), "--head must be a whole number or mean, got 'all'; choose one of them"),
        (("--inner-size", "0"), "--inner-size must be greater than or equal to 1, got 0; see dragoman --help"),
        (("--beam", "10"), "--beam must be at most 9 without --draw, got 10; add that one"),
    ],
)
def test_errors_name_the_option(arguments: tuple[str, ...], message: str):
    result, received = run(*arguments)
    assert (result.exit_code, result.stdout, received) == (2, "", None)
    assert result.stderr == f"error: {message}\n"


def test_help_has_docstrings_defaults_choices_and_panels():
    shown = " ".join(run("--help")[0].stdout.split())
    for expected in ("Beam size. [default: 5]", "Exponent. [default: chosen]", "fast|slow", "Serve the page."):
        assert expected in shown
    assert "One of torch, ctranslate2, onnxruntime." in shown
    assert " Search: --beam" in shown
    assert " Inner: --inner-size" in shown
    assert "--no-page" in shown
    assert "--no-draw" not in shown


def test_excluded_fields_have_no_option():
    result, (_, example) = run("--beam", "2", exclude=("mode", "inner.size"))
    assert (result.exit_code, example) == (0, Example(beam=2))
    assert run("--mode", "slow", exclude=("mode",))[0].exit_code == 2


def test_unvalidated_settings_are_values_by_path():
    _, (_, values) = run("--beam", "0", "--no-draw", "--inner-size", "2", unvalidated=True)
    assert values == {"beam": 0, "draw": False, "inner.size": 2}


def test_texts_of_a_field():
    fields = described_fields(Example)
    assert help_text(fields["beam"][0]) == "Beam size."
    assert [default_text(fields[name][0]) for name in ("beam", "alpha", "names", "draw", "page")] == [
        *("5", "chosen", "a,b", "", "yes"),
    ]
    assert fields["inner.size"][1].panel == "Inner"
