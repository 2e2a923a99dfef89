"""`dragoman backtranslate`: write synthetic pairs from text of the target language."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.api.synthetic.settings import BLANK, NoiseSettings, PairFilters, TagSettings
from dragoman.cli.console import report_errors
from dragoman.cli.options.arguments import Ensemble, On, Resume, Workers
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.outputs import Force
from dragoman.cli.synthetic_corpus import Output, check_input, print_use, translate_corpus
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.synthetic.synthetic_corpus import MakePair, Pair
    from dragoman.cli.options.line_work import LineWork

__all__ = ["backtranslate"]

ReverseModel = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="Model that translates from the target language to the source language."),
]
Monolingual = Annotated[
    Path, typer.Argument(metavar="TEXT", help="Text in the target language, one sentence per line, may be .gz.")
]
RoundTrip = Annotated[
    Path | None,
    typer.Option(
        "--round-trip",
        metavar="MODEL",
        help="Translate each synthetic source back with this model, and record its chrF++ with the text.",
        rich_help_panel="Pairs",
    ),
]


@settings_options(
    exclude={"nbest"},
    tagging=TagSettings,
    filters=PairFilters,
    noise=NoiseSettings,
    search=SearchSettings,
    engine=EngineSettings,
)
def backtranslate(  # noqa: PLR0913 -- one parameter per option
    bundle: ReverseModel,
    text: Monolingual,
    *,
    output: Output,
    ensemble: Ensemble = None,
    round_trip: RoundTrip = None,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    workers: Workers = None,
    tagging: TagSettings,
    filters: PairFilters,
    noise: NoiseSettings,
    search: SearchSettings,
    engine: EngineSettings,
) -> None:
    """Write synthetic pairs from text of the target language: back-translation.

    The folder has the pairs as two text files, all translations with their scores, and a record of the models and
    settings. Filters, noise and tag can be changed with --resume, without translating again.
    """
    with report_errors("run the same command with --resume to continue"):
        if filters.min_chrf is not None and round_trip is None:
            raise ConfigError("--min-chrf must come with --round-trip, got it alone; name the model of the round trip")
        check_input(text, output, resume=resume, force=force)
        from dragoman.api.files.output_lines import LineFormat
        from dragoman.cli.options.line_work import line_work

        form = LineFormat(json=True)
        open_work = line_work(on, workers, bundle, ensemble, engine, search, form, round_trip=round_trip)

        def describe(work: LineWork) -> tuple[tuple[str, str], MakePair, Mapping[str, Any]]:
            facts = {
                "kind": "back-translation",
                "models": [str(path) for path in (bundle, *(ensemble or ()))],
                "round_trip_model": None if round_trip is None else str(round_trip),
                **tagging.model_dump(),
                "noise": noise.model_dump() if noise.noise else None,
                "filters": filters.model_dump(),
            }
            return work.languages[::-1], _make_pair(tagging.tag, filters, noise), facts

        corpus = translate_corpus(open_work, text, output, describe, resume=resume, force=force)
        symbols = [tagging.tag] if tagging.tag else []
        print_use(corpus, "back-translation", [*symbols, *([BLANK] if noise.noise else [])])


def _make_pair(tag: str, filters: PairFilters, noise: NoiseSettings) -> MakePair:
    from dragoman.api.synthetic.synthetic_corpus import removal_reason
    from dragoman.api.synthetic.word_noise import noisy

    def make_pair(number: int, line: Mapping[str, Any]) -> Pair | str:
        if reason := removal_reason(line, filters):
            return reason
        source = noisy(line["text"], noise, number) if noise.noise else line["text"]
        return f"{tag} {source}" if tag else source, line["source"]

    return make_pair
