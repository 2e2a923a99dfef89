"""`dragoman inspect`: show the attention weights, the candidate tokens and the search tree of a translation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import BundlePath, Ensemble, argument, flag, number, one_of, option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.models import open_translator
from dragoman.cli.options.outputs import check_output, force_option, output_option
from dragoman.config.base import Cli, Size
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.api.translation.translator import Translator
    from dragoman.config.alignment import AttentionChoice, AttentionReading
    from dragoman.inspection.result import InspectionResult

_MAP, _FILES = "Attention map", "Files"
_COUNTERFACTUALS = 3  # other words at each position
_TITLE = "What the translator sees"
_ENDINGS = (".html", ".svg", ".json")


class InspectEngineSettings(EngineSettings):
    """Engine settings with one thread: the steps of one sentence are too small for several."""

    threads: Annotated[Size | None, Cli("Engine")] = 1
    """Number of threads; more are slower."""


Words = Annotated[list[str] | None, argument("TEXT", "Text to translate; without it, or with -: stdin.")]
Target = Annotated[str | None, option("TEXT", "Inspect this translation instead of searching.")]
Prefix = Annotated[str | None, option("TEXT", "The translation must start with this text.")]
Layer = Annotated[int | None, number("Layer, from 1.", panel=_MAP, default="last but one")]
Head = Annotated[int | None, number("Head, from 1.", panel=_MAP, default="mean of all")]
ReadingName = Annotated[
    str,
    option(
        "predicted|input",
        "Step of a word: the one that predicts it, or the one that reads it.",
        "--reading",
        panel=_MAP,
        parser=one_of("predicted", "input"),
    ),
]
Outputs = Annotated[list[Path] | None, output_option(_ENDINGS, panel=_FILES, repeated=True)]
Force = Annotated[bool, force_option(_FILES)]
Json = Annotated[bool, flag("--json", "Print everything as JSON.", _FILES)]


@settings_options(
    search=SearchSettings,
    engine=InspectEngineSettings,
    exclude={"engine", "batch_tokens", "shortlist", "nbest", "min_confidence", "search", "candidates"}
    | {"sample", "temperature", "top_k", "top_p", "seed"},
)
def inspect(  # noqa: PLR0913 -- one parameter per option
    bundle: BundlePath,
    text: Words = None,
    *,
    ensemble: Ensemble = None,
    target: Target = None,
    prefix: Prefix = None,
    layer: Layer = None,
    head: Head = None,
    reading: ReadingName = "predicted",
    output: Outputs = None,
    force: Force = False,
    json: Json = False,
    search: SearchSettings,
    engine: EngineSettings,
) -> None:
    """Inspect a translation: attention, alternatives and their continuations.

    A text of several sentences is inspected sentence by sentence. --output page.html writes an interactive page, which
    also has the candidates of each step, other words with the translations that follow, and the search tree.
    """
    outputs = output or []
    with report_errors("start it again"):
        if target is not None and prefix is not None:
            raise ConfigError(
                "--prefix cannot be combined with --target, since a given translation is not searched; leave one out"
            )
        for path in outputs:  # before anything is computed
            check_output(path, _ENDINGS, force=force)
        from dragoman.cli.screens.inspection import check_console, print_inspection, result_console
        from dragoman.config.alignment import AttentionChoice

        shown = AttentionChoice(layer, head, cast("AttentionReading", reading))
        console = result_console()
        if not json:
            check_console(console)
        source = _text(text)
        engine = engine.model_copy(update={"engine": "torch"})
        translator = open_translator(bundle, ensemble, engine, search)
        _check_map(translator, shown, draws=any(path.suffix.lower() == ".svg" for path in outputs))
        is_complete = json or any(path.suffix.lower() != ".svg" for path in outputs)
        inspected = _inspect(translator, source, target, prefix, is_complete=is_complete)
        if json:
            print_json([one.to_json() for one in inspected])
        else:
            unforced = None
            if prefix is not None:
                unforced = translator.translate(inspected[0].source, split_sentences=False).text
            print_inspection(console, inspected, shown, unforced)
        for path in outputs:
            _write(inspected, path, shown)
    for path in outputs:
        if path.suffix.lower() == ".html":
            print_next(f"open {path} in a browser")


def _check_map(translator: Translator, shown: AttentionChoice, *, draws: bool) -> None:
    """Check that the model has the attention map, before anything is computed and printed."""
    if shown.layer is None and shown.head is None and not draws:
        return
    from dragoman.api.inspection.inspector import attention_shape

    layers, heads = attention_shape(translator)
    for name, given, most in (("--layer", shown.layer, layers), ("--head", shown.head, heads)):
        if given is not None and layers and given > most:
            raise ConfigError(f"{name} must be from 1 to {most} in this model, got {given}; leave it out")
    if not layers:
        raise ConfigError("this model has no attention to draw a map of; use one that has")


def _text(words: list[str] | None) -> str:
    if words and words != ["-"]:
        return " ".join(words)
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"standard input is not UTF-8 at byte {error.start}; convert it") from None
    if not text.strip():
        raise DataError("no text is given; write it after the bundle, or pipe it in")
    return text.strip()


def _inspect(
    translator: Translator, source: str, target: str | None, prefix: str | None, *, is_complete: bool
) -> list[InspectionResult]:
    from dragoman.api.inspection import inspector

    options: dict[str, Any] = {"counterfactuals": _COUNTERFACTUALS if is_complete else 0, "progress": _print_progress}
    if target is not None:
        return [inspector.inspect_sentence(translator, source, target=target, **options)]
    return inspector.inspect_text(
        translator, source, prefix=prefix or "", search_tree=is_complete, on_skip=_print_skipped, **options
    )


def _print_progress(done: int, count: int) -> None:
    """Print progress on stderr: one line on a terminal, a line per step elsewhere."""
    is_terminal = sys.stderr.isatty()
    start, is_over = ("\r", done == count) if is_terminal else ("", True)
    typer.echo(f"{start}what if {done} of {count} other words tried", err=True, nl=is_over)


def _print_skipped(sentence: str) -> None:
    from dragoman.reporting.safe_display_text import visible

    echo(f"note    skipped, it has no letters: {visible(sentence, 60)}", err=True)


def _write(inspected: Sequence[InspectionResult], path: Path, shown: AttentionChoice) -> None:
    """Write one output and print the names of its files on stderr."""
    from dragoman.inspection.pages.inspection import write_inspection

    layer, head, reading = shown.layer, shown.head, shown.reading
    for file in write_inspection(inspected, path, title=_TITLE, layer=layer, head=head, reading=reading):
        echo(f"wrote   {file}", err=True)
