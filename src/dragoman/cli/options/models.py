"""Find and open the models that users name; which were chosen is printed on stderr."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import echo
from dragoman.errors import ConfigError, DragomanError

if TYPE_CHECKING:
    from dragoman.api.files.parallel_lines import LinePairs
    from dragoman.api.translation.multi_model.translators import PivotTranslator
    from dragoman.api.translation.translator import Translator
    from dragoman.config.engine import EngineSettings
    from dragoman.config.search import SearchSettings
    from dragoman.storage.memory_reader import MemoryReader
    from dragoman.text.glossary import Glossary


def locate_bundle(path: Path) -> Path:
    """Return the bundle of a run or a project folder; the choice is printed on stderr."""
    from dragoman.bundle.locate import find_bundle

    found = find_bundle(path)
    if found.reason:
        echo(f"bundle  {found.path}, {found.reason}", err=True)
    if found.note:
        echo(f"note    {found.note}", err=True)
    return found.path


def named_or_example(bundle: Path | None) -> Path:
    """Return the model that was named, or else the example model, with a note on stderr."""
    if bundle is not None:
        return bundle
    from dragoman.bundle.locate import EXAMPLE

    if not EXAMPLE.is_dir():
        raise ConfigError("no model was given; name a bundle, a run or a project, or get a model: dragoman get en-de")
    echo(
        "note    a small example model of everyday sentences (en→de); get a real one with dragoman get en-de", err=True
    )
    return EXAMPLE


def model_directions(bundle: Path) -> list[tuple[str, str]]:
    """Return the directions of a model; none if it cannot be opened."""
    from dragoman.bundle import Bundle
    from dragoman.bundle.locate import find_bundle

    try:
        data = Bundle.open(find_bundle(bundle).path).config.data
    except DragomanError:  # reported when it is opened to translate
        return []
    return [] if data is None else [*data.all_directions()]


def locate_run(path: Path) -> Path:
    """Return the run of a project folder; the choice is printed on stderr."""
    from dragoman.bundle.locate import find_run

    run = find_run(path)
    if run != path:
        echo(f"run     {run}, of {path}", err=True)
    return run


def open_for_text(
    bundle: Path,
    ensemble: Sequence[Path] | None,
    engine: EngineSettings,
    search: SearchSettings | None = None,
    *,
    glossary: Path | None = None,
    memory: tuple[str, int, bool] | None = None,
) -> Translator | PivotTranslator:
    """Open a model, an ensemble, or both models of a stored route.

    `memory` is the name of a translation memory, its threshold, and whether similar matches are repaired.
    """
    if memory is not None:
        from dragoman.storage.memory_reader import MemoryReader

        reader = MemoryReader.open(memory[0], used=memory[1], repairs=memory[2])
        translator = open_for_text(bundle, ensemble, engine, search, glossary=glossary)
        if reader.repairs and not hasattr(translator, "score"):
            raise ConfigError(f"--memory-repair needs one model, and {bundle} is a route of two; leave it out")
        translator.memory = reader
        _print_memory(reader, translator.languages)
        return translator
    from dragoman.bundle.locate import named_bundles

    legs = named_bundles(bundle)
    if len(legs) < 2:
        terms = None if glossary is None else _read_terms(glossary, [bundle])
        return open_translator(bundle, ensemble, engine, search, terms=terms)
    languages = engine.source_language or engine.target_language
    for option, value in (("--ensemble", ensemble), ("--source-language", languages)):
        if value:
            raise ConfigError(f"{option} is for one model, and {bundle} is a route of two; leave it out")
    from dragoman.api.translation.multi_model.translators import PivotTranslator

    terms = None if glossary is None else _read_terms(glossary, legs)
    first = open_translator(legs[0], None, engine, search)
    second = open_translator(legs[1], None, engine, search, terms=terms)
    return PivotTranslator(first, second, terms)


def _print_memory(reader: MemoryReader, languages: tuple[str, str]) -> None:
    for memory in reader.memories:
        found = memory.find(*languages)
        units = sum(each[3] for each in memory.directions if each[0] in found)
        pairs = ", ".join(f"{source}-{target}" for _, source, target, _ in memory.directions)
        more = "" if found or not pairs else f"; it has {pairs}"
        echo(f"memory  {memory.name}: {units:,} units from {languages[0]} to {languages[1]}{more}", err=True)


def _read_terms(path: Path, bundles: Sequence[Path]) -> Glossary:
    """Read a glossary for a model or a route, and print what it has on stderr."""
    from dragoman.api.translation.glossary_constraints import read_glossary
    from dragoman.bundle import Bundle
    from dragoman.bundle.locate import find_bundle
    from dragoman.text.glossary import doubtful_copies

    terms = read_glossary(path, *(Bundle.open(find_bundle(each).path) for each in bundles))
    kept = sum(target is None for target in terms.terms.values())
    echo(f"terms   {len(terms) - kept:,} with a translation, {kept:,} to keep, from {path}", err=True)
    if doubtful := doubtful_copies(terms):
        separator = "comma or a semicolon" if str(path).lower().endswith(".csv") else "tab"
        more = f" (and {len(doubtful) - 1:,} more such lines)" if len(doubtful) > 1 else ""
        echo(
            f"note    {terms.location(doubtful[0])}{doubtful[0]!r} is copied unchanged, because the line has no "
            f"translation{more}; write a term, a {separator} and its translation",
            err=True,
        )
    return terms


def open_translator(
    bundle: Path,
    ensemble: Sequence[Path] | None,
    engine: EngineSettings,
    search: SearchSettings | None = None,
    *,
    terms: Glossary | None = None,
) -> Translator:
    """Open a model, or several as an ensemble; bundles, engine and new exports are printed on stderr."""
    from dragoman.api.translation.translator import Translator
    from dragoman.cli.options.derive import named_as_typed

    first, *others = [locate_bundle(path) for path in (bundle, *(ensemble or ()))]
    with named_as_typed(*type(engine).model_fields):
        translators = Translator.open(first, *others, search=search, glossary=terms, **engine.model_dump())
        translator = translators.direction()  # a model with several directions needs one
    echo(f"engine  {translator.engine_reason}", err=True)
    own = translator.search_settings
    if "beam" in own.model_fields_set and (search is None or "beam" not in search.model_fields_set):
        beam = own.beam
        echo(f"search  {'greedy' if beam == 1 else f'beam {beam}'}, which the model was made for", err=True)
    members: Sequence[Any] = getattr(translator.engine, "members", (translator.engine,))
    for member in members:
        if getattr(member, "has_new_export", False):  # written without a command of the user
            echo(f"export  {member.note}", err=True)
    return translator


def note_swapped_sides(
    blocks: Iterator[LinePairs], languages: tuple[str, str], *, in_one_file: bool
) -> Iterator[LinePairs]:
    """Yield the blocks of pairs unchanged; the note is printed on stderr before the first one."""
    from dragoman.text.other_language import swapped_note

    fix = "exchange the two columns" if in_one_file else "exchange the two files"
    for number, pairs in enumerate(blocks):
        if number == 0 and all(languages):
            sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
            if note := swapped_note(sources, targets, *languages, other="targets", fix=fix):
                echo(f"note    {note}", err=True)
        yield pairs
