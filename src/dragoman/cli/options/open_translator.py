"""Open the translator that command-line options describe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import echo
from dragoman.cli.options.error_names import named_as_typed
from dragoman.cli.options.locate import locate_bundle

if TYPE_CHECKING:
    from dragoman.api.translation.translator import Translator
    from dragoman.config.engine import EngineSettings
    from dragoman.config.search import SearchSettings

__all__ = ["open_translator"]


def open_translator(
    bundle: Path,
    ensemble: Sequence[Path] | None,
    engine: EngineSettings,
    search: SearchSettings | None = None,
    *,
    glossary: Path | None = None,
) -> Translator:
    """Open a model, or several as an ensemble; bundles, engine and new exports are printed on stderr."""
    from dragoman.api.translation.translator import Translator
    from dragoman.text.glossary import Glossary, doubtful_copies, header_term

    bundles = [locate_bundle(path) for path in (bundle, *(ensemble or ()))]
    terms = None if glossary is None else Glossary.from_file(glossary)
    with named_as_typed(*type(engine).model_fields):
        opened = Translator.open(*bundles, search=search, glossary=terms, **engine.model_dump())
        translator = opened.direction()  # a model with several directions needs one
    echo(f"engine  {translator.engine_reason}", err=True)
    if terms is not None:
        kept = sum(target is None for target in terms.terms.values())
        echo(f"terms   {len(terms) - kept:,} with a translation, {kept:,} to keep, from {glossary}", err=True)
        if header := header_term(terms):
            echo(
                f"note    {terms.location(header)}{header!r} looks like the header of a column, and is used as a term; "
                "save the file without it",
                err=True,
            )
        if doubtful := doubtful_copies(terms):
            separator = "comma or a semicolon" if str(glossary).lower().endswith(".csv") else "tab"
            more = f" (and {len(doubtful) - 1:,} more such lines)" if len(doubtful) > 1 else ""
            echo(
                f"note    {terms.location(doubtful[0])}{doubtful[0]!r} is copied unchanged, because the line has no "
                f"translation{more}; write a term, a {separator} and its translation",
                err=True,
            )
    members: Sequence[Any] = getattr(translator.engine, "members", (translator.engine,))
    for member in members:
        if getattr(member, "has_new_export", False):  # written without a command of the user
            echo(f"export  {member.note}", err=True)
    return translator
