"""``dragoman inspect``: a translation, opened."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly, print_json
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.api.translator import Translator
    from dragoman.cli.inspect_screen import Shown
    from dragoman.inspection.inspected import Inspected
    from dragoman.inspection.map_choice import Reading

__all__ = ["inspect"]

_MAP, _MORE, _FILES = "Map", "More to see", "Files"
_WHAT_IFS = 3  # other words at each place
_TITLE = "What the translator sees"

Words = Annotated[
    list[str] | None, typer.Argument(metavar="TEXT", help="What to translate; without, or -, it is read from stdin.")
]
Target = Annotated[str | None, typer.Option(metavar="TEXT", help="Open this translation instead of searching for one.")]
Force = Annotated[str | None, typer.Option(metavar="PREFIX", help="The translation must begin with this.")]
Layer = Annotated[
    int | None, typer.Option(help="Which layer, from 1.", show_default="last but one", rich_help_panel=_MAP)
]
Head = Annotated[int | None, typer.Option(help="Which head, from 1.", show_default="mean of all", rich_help_panel=_MAP)]
ReadingName = Annotated[
    str,
    typer.Option(
        "--reading",
        metavar="predicted|input",
        help="A step is the look of the word it writes, or of the one it is given.",
        rich_help_panel=_MAP,
    ),
]
Width = Annotated[
    int | None, typer.Option(help="Cells of a line.", show_default="the terminal's, or 80", rich_help_panel=_MAP)
]
Tree = Annotated[bool, typer.Option("--tree", help="Draw the beam.", rich_help_panel=_MORE)]
Candidates = Annotated[
    bool, typer.Option("--candidates", help="List the likeliest pieces at each step.", rich_help_panel=_MORE)
]
WhatIfWord = Annotated[
    str | None,
    typer.Option(
        "--what-if", metavar="WORD", help="Try others in place of this word of the translation.", rich_help_panel=_MORE
    ),
]
Page = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Write all of it as one page.", rich_help_panel=_FILES)
]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE.png|svg", help="Write the map as a picture.", rich_help_panel=_FILES)
]
Threads = Annotated[  # the steps of one sentence are so small that torch's threads mostly wait for each other
    int, typer.Option(help="How many threads; more are slower.", rich_help_panel="Engine")
]
Json = Annotated[bool, typer.Option("--json", help="Print all of it as JSON.", rich_help_panel=_FILES)]


def inspect(  # noqa: PLR0913 -- an option each
    bundle: options.BundlePath,
    text: Words = None,
    *,
    others: options.Others = None,
    target: Target = None,
    force: Force = None,
    layer: Layer = None,
    head: Head = None,
    reading: ReadingName = "predicted",
    width: Width = None,
    tree: Tree = False,
    candidates: Candidates = False,
    what_if: WhatIfWord = None,
    page: Page = None,
    picture: Picture = None,
    json: Json = False,
    precision: options.Precision = None,
    threads: Threads = 1,
    beam: options.Beam = None,
    length_penalty: options.LengthPenalty = None,
    alpha: options.Alpha = None,
    coverage_penalty: options.CoveragePenalty = None,
    patience: options.Patience = None,
    min_length: options.MinLength = None,
    max_length: options.MaxLength = None,
    no_repeat_ngram: options.NoRepeatNgram = None,
    groups: options.Groups = None,
    diversity: options.Diversity = None,
) -> None:
    """Open a translation: where the model looked, what else it weighed, and what other words would have led to.

    A text of several sentences is opened sentence by sentence. --page writes a page to explore all of it with.
    """
    search = {"beam": beam, "length_penalty": length_penalty, "alpha": alpha, "patience": patience}
    search |= {"coverage_penalty": coverage_penalty, "min_length": min_length, "max_length": max_length}
    search |= {"no_repeat_ngram": no_repeat_ngram, "groups": groups, "diversity": diversity}
    with friendly("there is nothing to go on from"):
        settings = options.search_settings(search)
        _check(target=target, force=force, tree=tree, reading=reading)
        _check_files(page, picture)
        from dragoman.cli.inspect_screen import InspectScreen, Shown

        shown = Shown(layer, head, cast("Reading", reading), tree, candidates, what_if)
        screen = None if json else InspectScreen(width)
        source = _text(text)
        translator = options.open_translator(
            [bundle, *(others or ())], engine="torch", precision=precision, threads=threads, settings=settings
        )
        _check_map(translator, shown, picture)
        wants_all = page is not None or json
        inspected = _inspected(translator, source, target, force, shown, wants_all=wants_all)
        _check_word(inspected, what_if)
        if screen is None:
            from dragoman.inspection.inspected_json import inspected_json

            print_json([inspected_json(one) for one in inspected])
        else:
            unforced = None if force is None else translator.translate(inspected[0].source, split=False).text
            screen.print(inspected, shown, unforced)
        _write(inspected, page, picture, shown)


def _check(*, target: str | None, force: str | None, tree: bool, reading: str) -> None:
    """What can be said before a model is loaded."""
    for name, is_given in (("--force", force is not None), ("--tree", tree)):
        if target is not None and is_given:
            raise ConfigError(
                f"{name} must be left out with --target, got both; a translation that is given is not searched for"
            )
    if reading not in ("predicted", "input"):
        raise ConfigError(f"--reading must be predicted or input, got {reading}; predicted is the usual one")


def _check_files(page: Path | None, picture: Path | None) -> None:
    """Where files go must be a place for them, before anything is computed."""
    if picture is not None:
        from dragoman.environment import require
        from dragoman.inspection.picture import check_ending

        check_ending(picture)
        require("matplotlib", "train", "--picture")
    for name, path in (("--page", page), ("--picture", picture)):
        if path is None:
            continue
        if path.is_dir():
            raise ConfigError(f"{name} must be a file, got the folder {path}; name a file in it")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):
            raise ConfigError(f"{name} must be where files may be written, got {path}; name another folder")


def _check_map(translator: Translator, shown: Shown, picture: Path | None) -> None:
    """The map must be one of the model's, before anything is computed and printed."""
    if shown.layer is None and shown.head is None and picture is None:
        return
    from dragoman.api.inspecting import map_counts

    layers, heads = map_counts(translator)
    for name, number, most in (("--layer", shown.layer, layers), ("--head", shown.head, heads)):
        if number is not None and layers and not 1 <= number <= most:
            raise ConfigError(
                f"{name} must be from 1 to {most} in this model, got {number}; leave it out for the usual one"
            )
    if not layers:
        raise ConfigError("a model must have attention to draw a map of it, got one without; use one that has")


def _text(words: list[str] | None) -> str:
    if words and words != ["-"]:
        return " ".join(words)
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise DataError(f"standard input must be UTF-8, got another byte at {error.start}; convert it") from None
    if not text.strip():
        raise DataError("a text must be given to be translated, got none; type it behind the bundle, or pipe it in")
    return text.strip()


def _inspected(
    translator: Translator, source: str, target: str | None, force: str | None, shown: Shown, *, wants_all: bool
) -> list[Inspected]:
    from dragoman.api import inspecting

    what_ifs = _WHAT_IFS if wants_all or shown.what_if is not None else 0
    at = None if wants_all else shown.what_if
    if target is not None:
        return [inspecting.inspect(translator, source, target=target, what_ifs=what_ifs, at=at, progress=_tell)]
    return inspecting.inspect_text(
        translator,
        source,
        prefix=force or "",
        what_ifs=what_ifs,
        at=at,
        tree=wants_all or shown.tree,
        progress=_tell,
        left_out=_tell_left_out,
    )


def _tell(done: int, count: int) -> None:
    """How far it is: one line on a terminal, a line each elsewhere."""
    is_terminal = sys.stderr.isatty()
    is_last = done == count
    lead, is_over = ("\r", is_last) if is_terminal else ("", True)
    typer.echo(f"{lead}what if {done} of {count} other words tried", err=True, nl=is_over)


def _tell_left_out(sentence: str) -> None:
    from dragoman.data.check.visible import visible

    typer.echo(f"note    left out, it has no letters: {visible(sentence, 60)}", err=True)


def _check_word(inspected: Sequence[Inspected], what_if: str | None) -> None:
    from dragoman.api.what_ifs import is_named

    words = [word for one in inspected for word in one.target_words]
    if what_if is not None and not any(is_named(word, what_if) for word in words):
        raise ConfigError(
            f"--what-if must be a word of the translation, got {what_if}; it has {', '.join(dict.fromkeys(words))}"
        )


def _write(inspected: Sequence[Inspected], page: Path | None, picture: Path | None, shown: Shown) -> None:
    """The files that were asked for; what was written is said on stderr."""
    if page is not None:
        from dragoman.files import whole
        from dragoman.inspection.inspection_page import inspection_page

        with whole(page) as draft:
            draft.write_text(inspection_page(inspected, title=_TITLE), encoding="utf-8")
        typer.echo(f"page    {page}", err=True)
    if picture is None:
        return
    from dragoman.inspection.map_choice import chosen_map
    from dragoman.inspection.picture import save_picture

    for number, one in enumerate(inspected, start=1):
        path = picture if len(inspected) == 1 else picture.with_stem(f"{picture.stem}-{number}")
        chosen = chosen_map(one, layer=shown.layer, head=shown.head, reading=shown.reading)
        for note in save_picture(chosen.columns, chosen.rows, chosen.weights, path, title=chosen.name):
            typer.echo(f"note    {note}", err=True)
        typer.echo(f"picture {path}", err=True)
