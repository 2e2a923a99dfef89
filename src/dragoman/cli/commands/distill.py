"""`dragoman distill`: write a corpus of a teacher's translations for a student."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.api.synthetic.settings import PairFilters
from dragoman.cli.console import report_errors
from dragoman.cli.options.arguments import Ensemble, On, Resume, Workers
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.outputs import Force
from dragoman.cli.synthetic_corpus import Output, check_input, print_use, translate_corpus
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import DataError

if TYPE_CHECKING:
    from dragoman.api.synthetic.synthetic_corpus import MakePair, Pair
    from dragoman.cli.options.line_work import LineWork

__all__ = ["distill"]

Teacher = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Teacher: a bundle (folder or zip), a run, or a project folder.")
]
Source = Annotated[Path, typer.Argument(metavar="SOURCE", help="Text to translate, one sentence per line, may be .gz.")]
Reference = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="Translations of SOURCE: of all hypotheses of the beam, keep the one with the most chrF++ with them.",
        rich_help_panel="Pairs",
    ),
]


@settings_options(exclude={"nbest", "min_chrf"}, filters=PairFilters, search=SearchSettings, engine=EngineSettings)
def distill(  # noqa: PLR0913 -- one parameter per option
    bundle: Teacher,
    source: Source,
    *,
    output: Output,
    ensemble: Ensemble = None,
    reference: Reference = None,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    workers: Workers = None,
    filters: PairFilters,
    search: SearchSettings,
    engine: EngineSettings,
) -> None:
    """Write a corpus of a teacher's translations, to train a smaller or faster student.

    This is sequence-level distillation; the teacher may be an ensemble. The folder has the pairs as two text files, all
    translations with their scores, and a record of the models and settings.
    """
    with report_errors("run the same command with --resume to continue"):
        check_input(source, output, resume=resume, force=force)
        if reference is not None:
            _check_reference(source, reference)
            search = SearchSettings(**(search.model_dump() | {"nbest": search.beam}))
        from dragoman.api.files.output_lines import LineFormat
        from dragoman.cli.options.line_work import line_work
        from dragoman.files import sha256_of_file

        open_work = line_work(on, workers, bundle, ensemble, engine, search, LineFormat(json=True))

        def describe(work: LineWork) -> tuple[tuple[str, str], MakePair, Mapping[str, Any]]:
            facts = {
                "kind": "distillation",
                "models": [str(path) for path in (bundle, *(ensemble or ()))],
                "reference": reference and {"file": reference.name, "sha256": sha256_of_file(reference)},
                "filters": filters.model_dump(include={"min_score"}),
            }
            return work.languages, _make_pair(filters, reference), facts

        corpus = translate_corpus(open_work, source, output, describe, resume=resume, force=force)
        print_use(corpus, "distillation")


def _check_reference(source: Path, reference: Path) -> None:
    counts = [sum(1 for _ in _lines(path)) for path in (source, reference)]
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} and {reference} must have the same number of lines, got {counts[0]:,} and {counts[1]:,}; add "
            "the missing lines"
        )


def _lines(path: Path) -> Iterator[str]:
    from dragoman.api.files.input_lines import LineReader, decoded_lines

    with LineReader(path) as reader:
        for block in reader.blocks():
            yield from decoded_lines(block)


def _make_pair(filters: PairFilters, reference: Path | None) -> MakePair:
    from dragoman.api.synthetic.synthetic_corpus import nearest, removal_reason

    references = None if reference is None else _lines(reference)

    def make_pair(_: int, line: Mapping[str, Any]) -> Pair | str:
        chosen = line if references is None else nearest(line, next(references))
        return removal_reason(chosen, filters) or (line["source"], chosen["text"])

    return make_pair
