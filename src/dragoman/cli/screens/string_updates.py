"""``dragoman translate --update`` and ``--check``: files of strings and their translations, by the lock file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import echo
from dragoman.cli.options.arguments import flag
from dragoman.cli.options.models import model_directions, named_or_example
from dragoman.cli.screens.flagged_texts import fail_on_document
from dragoman.documents.formats import check_output_suffix, is_document
from dragoman.errors import ConfigError, DataError
from dragoman.reporting.number_format import format_count

if TYPE_CHECKING:
    from dragoman.api.files.string_update import StringUpdate, UpdateOutcome
    from dragoman.api.translation.text_translator import TextTranslator
    from dragoman.config.engine import EngineSettings

_UPDATE = "Files of strings: translate only what is new or changed, by a lock file; texts of people stay."
_CHECK = "List strings whose translation is missing or stale, and exit with 1 if there are any; needs no model."
Update = Annotated[bool, flag("--update", _UPDATE, "Documents")]
Check = Annotated[bool, flag("--check", _CHECK, "Documents")]
More = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MORE]...", help="More inputs, with --update or --check.", show_default=False),
]
_TARGET = "{target}"
_MAX_SHOWN = 20  # strings of a file


def run_on_strings(
    model: Path | None,
    inputs: Sequence[str],
    output: Path | None,
    engine: EngineSettings,
    open_for: Callable[..., TextTranslator] | None,
    *,
    again: bool,
    force: bool,
    kinds: frozenset[str],
) -> None:
    """Update translations of files of strings; `open_for` opens a bundle. Without it, only compare them."""
    if open_for is None:
        _check(model, inputs, output, engine.target_language or "")
        return
    from dragoman.api.files.string_update import StringUpdate

    bundle = named_or_example(model)
    directions = model_directions(bundle)

    @cache
    def open_once(code: str) -> TextTranslator:
        is_one = not code or len(directions) < 2
        return open_for(bundle, engine=engine if is_one else engine.model_copy(update={"target_language": code}))

    targets = [target for source, target in directions if engine.source_language in (None, source)]
    codes = [engine.target_language] if engine.target_language else [*dict.fromkeys(targets)]
    paths = [
        (source, Path(str(pattern).replace(_TARGET, code)), code)
        for source, pattern in _output_paths(inputs, output).items()
        for code in ((codes or [open_once("").languages[1]]) if _TARGET in str(pattern) else [""])
    ]
    outcomes = []
    for source, path, code in paths:
        if path.exists() and path.samefile(source) and code:
            continue  # the language of the source is one that the model writes
        update = StringUpdate(source, path, code)
        outcomes.append((path, _update(update, partial(open_once, code), again=again, force=force, kinds=kinds)))
    for path, outcome in outcomes:
        if outcome.result is not None:
            fail_on_document(outcome.result, path.name, kinds)


def _output_paths(inputs: Sequence[str], output: Path | None) -> dict[Path, Path]:
    """Return the output of each input.

    ``{name}`` stands for the name of the input, with its suffix if the output has none.
    """
    if output is None or str(output) == "-":
        raise ConfigError("--update and --check need the translated file; name it with -o")
    part = "stem" if output.suffix else "name"
    paths = {Path(name): Path(str(output).replace("{name}", getattr(Path(name), part))) for name in inputs}
    if len({*paths.values()}) < len(inputs):
        raise ConfigError(f"the output must differ for each of {len(inputs)} inputs, got {output}; put {{name}} in it")
    for source, path in paths.items():
        if not source.is_file():
            raise DataError(f"{source} {'is no file' if source.exists() else 'does not exist'}; check the path")
        check_output_suffix(path, source, source.suffix.lower())
    return paths


def _check(model: Path | None, inputs: Sequence[str], output: Path | None, language: str) -> None:
    """Print what is missing, changed or stale; raise `DataError` if anything is. The first argument may be an input."""
    from dragoman.api.files.string_update import UNUSED, StringUpdate, update_summary

    is_input = model is not None and model.is_file() and is_document(model.suffix.lower())
    inputs = [*([str(model)] if is_input else []), *(each for each in inputs if each != "-")]
    behind = 0
    for source, pattern in _output_paths(inputs, output).items():
        for path, code in _existing(source, pattern, language):
            outcome = StringUpdate(source, path, code).check()
            for key, state in outcome.found.items():
                echo(f"{state:8}{path}: {key}", err=state == UNUSED)
            echo(update_summary(path, outcome), err=True)
            behind += sum(state != UNUSED for state in outcome.found.values())
    if behind:
        raise DataError(
            f"{format_count(behind, 'string')} must be translated or revised; run the command with --update and a "
            "model, and edit stale translations"
        )


def _existing(source: Path, pattern: Path, language: str) -> Iterator[tuple[Path, str]]:
    """Yield the files that a pattern names and their languages: that of an option, or those of existing files."""
    from dragoman.documents.document import parse_declared_code

    if _TARGET not in str(pattern) or language:
        yield Path(str(pattern).replace(_TARGET, language)), language
        return
    shape = re.compile(re.escape(str(pattern)).replace(re.escape(_TARGET), r"(?P<code>[^/\\]+)", 1))
    found = 0
    for path in sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)).replace(_TARGET, "*"))):
        named = shape.fullmatch(str(path))
        if named and parse_declared_code(named["code"]) and not path.samefile(source):
            found += 1
            yield path, ""
    if not found:
        raise DataError(f"{pattern} matches no file; translate with --update first")


def _update(
    update: StringUpdate, open_: Callable[[], TextTranslator], *, again: bool, force: bool, kinds: frozenset[str]
) -> UpdateOutcome:
    from dragoman.api.files.string_update import STALE, update_summary
    from dragoman.cli.screens.progress import ProgressDisplay

    path = update.output
    with ProgressDisplay(unit="text") as display:
        display.begin(f"translating to {path.name}", share=0.0)

        def tell(done: int, total: int) -> None:
            display.advance(done / max(total, 1), done)

        outcome = update.update(open_, tell, again=again, force=force, flags=kinds)
    echo(f"wrote   {path}" if outcome.is_written else f"note    {path} is up to date", err=True)
    if outcome.result is not None:
        echo(f"texts   {outcome.result.summary}", err=True)
    for state in sorted({*outcome.found.values()}):
        keys = [key for key, found in outcome.found.items() if found == state]
        more = f" and {len(keys) - _MAX_SHOWN:,} more" if len(keys) > _MAX_SHOWN else ""
        fix = "; edit them, or replace them with --again" if state == STALE else ""
        echo(f"{state:8}{', '.join(keys[:_MAX_SHOWN])}{more}{fix}", err=True)
    echo(f"strings {update_summary(path, outcome)}", err=True)
    return outcome
