"""Errors on texts that could not be translated rightly, and the option ``--fail-on``; the output is written before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import EXIT_FLAGGED, echo, print_error
from dragoman.cli.options.arguments import option
from dragoman.errors import ConfigError
from dragoman.reporting.number_format import format_count

if TYPE_CHECKING:
    from dragoman.api.files.document_translation import DocumentTranslation
    from dragoman.cli.options.line_work import LineWork

FailOn = Annotated[
    str | None,
    option(
        "FLAGS",
        "Exit with 4 if a text has one of these quality flags: numbers,language,… Placeholders that cannot be "
        "kept are an error in any case, except with none.",
        "--fail-on",
    ),
]
_NONE = "none"
_DAMAGE = "placeholders"
_LEFT = {_DAMAGE: "placeholders, tags or words would be lost", "unsure": "the confidence is too low"}


def parse_fail_on(value: str | None, *, is_document: bool) -> frozenset[str]:
    """Return the flags of ``--fail-on``; empty for ``none``."""
    from dragoman.evaluation.quality_flags import FLAGS, TEXT_FLAGS

    names = frozenset((value or _DAMAGE).replace(" ", "").split(","))
    if names == {_NONE}:
        return frozenset()
    known = TEXT_FLAGS | _LEFT.keys() if is_document else FLAGS.keys()
    if unknown := sorted(names - known):
        which = "of documents " if is_document and names <= FLAGS.keys() else ""
        listed = ", ".join(name for name in FLAGS if name in known)
        raise ConfigError(
            f"--fail-on must name quality flags {which}({listed}) or none, got {unknown[0]!r}; correct it"
        )
    return names | _LEFT.keys()


def fail_on_lines(work: LineWork, name: str, kinds: frozenset[str]) -> None:
    """Report the lines with a flag of `kinds`, and exit; lines that are left untranslated are noted in any case."""
    counts, found = work.flags.flagged, {}
    for flag, (number, detail) in work.flags.first_flags.items():
        place = work.places.get(flag, f"{name}:{number + 1}")
        found[flag] = _message(flag, format_count(counts[flag], "line"), counts[flag], f"{place}: {detail}")
    _finish(found, kinds)


def fail_on_document(result: DocumentTranslation, name: str, kinds: frozenset[str]) -> None:
    """Report the texts of a document with a flag of `kinds`, and exit."""
    _finish(
        {
            flag: _message(
                flag, format_count(each.count, "text"), each.count, f"{name}, text {each.first}: {each.detail}"
            )
            for flag, each in result.flagged.items()
        },
        kinds,
    )


def _message(flag: str, texts: str, count: int, first: str) -> str:
    from dragoman.evaluation.quality_flags import FLAGS

    if flag in _LEFT:
        return f"{texts} left untranslated, because {_LEFT[flag]}, first {first}"
    return f"{texts} {'has' if count == 1 else 'have'} the flag {flag} ({FLAGS[flag]}), first {first}"


def _finish(found: dict[str, str], kinds: frozenset[str]) -> None:
    failed = [message for flag, message in found.items() if flag in kinds]
    for flag in _LEFT:
        if not failed and flag in found:
            echo(f"note    {found[flag]}", err=True)
    exit_if_flagged(failed)


def exit_if_flagged(messages: list[str]) -> None:
    """Print errors, one line each, and exit with their code; nothing without messages."""
    for message in messages:
        print_error(message, EXIT_FLAGGED, "FlaggedTexts")
    if messages:
        raise typer.Exit(EXIT_FLAGGED)
