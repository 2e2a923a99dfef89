"""The options of commands that translate: which engine, how to search. Their rules stand in `SearchSettings`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.translator import Translator
    from dragoman.engines.choose import EngineName, PrecisionName
    from dragoman.search.settings import SearchSettings

__all__ = [
    "Alpha",
    "BatchTokens",
    "Beam",
    "BundlePath",
    "CoveragePenalty",
    "Diversity",
    "Engine",
    "Groups",
    "LengthPenalty",
    "MaxLength",
    "MinLength",
    "NoRepeatNgram",
    "Others",
    "Patience",
    "Precision",
    "Sample",
    "Seed",
    "Temperature",
    "Threads",
    "TopK",
    "TopP",
    "check_counts",
    "named_as_typed",
    "open_translator",
    "search_settings",
]

_ENGINE, _SEARCH, _SAMPLING = "Engine", "Search", "Sampling"


def _option(help_: str, default: str, panel: str, metavar: str | None = None, *names: str) -> Any:
    """An option that may be left out; its default is only told, and set elsewhere."""
    return typer.Option(*names, help=help_, show_default=default, rich_help_panel=panel, metavar=metavar)


BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A trained translator: a folder, or a zip of one.")]
Others = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="BUNDLE", help="Another translator to decide together with; may be given several times."
    ),
]

Engine = Annotated[str | None, _option("What runs the model.", "the fastest", _ENGINE, "auto|torch|ctranslate2|onnx")]
Precision = Annotated[
    str | None, _option("The numbers it computes with.", "float32", _ENGINE, "auto|float32|bfloat16|int8")
]
Threads = Annotated[int | None, _option("How many threads.", "all cores", _ENGINE)]
BatchTokens = Annotated[
    int | None, _option("How many pieces are translated at a time, padding among them.", "chosen", _ENGINE)
]

Beam = Annotated[int | None, _option("How many translations are kept at each step; 1 is greedy.", "5", _SEARCH)]
LengthPenalty = Annotated[
    str | None, _option("What log p is divided by.", "average", _SEARCH, "average|gnmt|none", "--length-penalty")
]
Alpha = Annotated[float | None, _option("The exponent of the length penalty.", "1.0", _SEARCH)]
CoveragePenalty = Annotated[
    float | None, _option("What source words cost that nothing looks at.", "0.0", _SEARCH, None, "--coverage-penalty")
]
Patience = Annotated[float | None, _option("Done once patience × beam translations have ended.", "1.0", _SEARCH)]
MinLength = Annotated[int | None, _option("The fewest pieces.", "0", _SEARCH, None, "--min-length")]
MaxLength = Annotated[
    int | None, _option("The most pieces.", "twice the source's and 20", _SEARCH, None, "--max-length")
]
NoRepeatNgram = Annotated[
    int | None, _option("No run of so many pieces comes twice.", "0: it may", _SEARCH, None, "--no-repeat-ngram")
]
Groups = Annotated[int | None, _option("Diverse beam search: groups of the beam.", "1", _SEARCH)]
Diversity = Annotated[float | None, _option("How much groups avoid each other's words.", "0.5", _SEARCH)]

Sample = Annotated[bool, typer.Option("--sample", help="Draw translations at random.", rich_help_panel=_SAMPLING)]
Temperature = Annotated[float | None, _option("Below 1 closer to what is likely.", "1.0", _SAMPLING)]
TopK = Annotated[
    int | None, _option("Draw from so many of the likeliest pieces.", "0: all", _SAMPLING, None, "--top-k")
]
TopP = Annotated[
    float | None,
    _option("Draw from the fewest pieces that are together this likely.", "1.0", _SAMPLING, None, "--top-p"),
]
Seed = Annotated[int | None, _option("Another seed, other draws.", "1", _SAMPLING)]


def open_translator(
    bundles: Sequence[Path],
    *,
    engine: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    settings: SearchSettings | None = None,
    glossary: Path | None = None,
    batch_tokens: int | None = None,
) -> Translator:
    """The translator of the command line; which engine it runs on, and what was exported for it, is said on stderr."""
    check_counts(threads=threads, batch_tokens=batch_tokens)
    from dragoman.api.translator import Translator
    from dragoman.text.glossary import Glossary

    with named_as_typed("engine", "precision", "threads"):
        translator = Translator.open(
            *bundles,
            engine=cast("EngineName", engine or "auto"),
            precision=cast("PrecisionName", precision or "auto"),
            threads=threads,
            settings=settings,
            glossary=None if glossary is None else Glossary.read(glossary),
            batch_tokens=batch_tokens,
        )
    typer.echo(f"engine  {translator.why}", err=True)
    members: Sequence[Any] = getattr(translator.engine, "members", (translator.engine,))
    for member in members:
        if getattr(member, "has_new_export", False):  # files were written that nobody asked for
            typer.echo(f"export  {member.note}", err=True)
    return translator


def check_counts(**given: int | None) -> None:
    """Refuse options that count something and are less than one."""
    for name, value in given.items():
        if value is not None and value < 1:
            raise ConfigError(f"{_typed(name)} must be at least 1, got {value}; leave it out to have it chosen")


def search_settings(given: dict[str, Any]) -> SearchSettings:
    """Settings from options; those that are None were left out. What is wrong is named as it was typed."""
    from pydantic import ValidationError

    from dragoman.search.settings import SearchSettings

    _check_company(given)
    try:
        with named_as_typed(*given):
            return SearchSettings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        fault = error.errors()[0]
        rule = fault["msg"].removeprefix("Input should be ").replace("'", "")
        raise ConfigError(
            f"{_typed(str(fault['loc'][0]))} must be {rule}, got {fault['input']}; dragoman translate --help tells more"
        ) from None


def _check_company(given: dict[str, Any]) -> None:
    """Refuse options that would do nothing without another, and what the settings themselves let pass."""
    leaders = {"sample": ("temperature", "top_k", "top_p", "seed"), "groups": ("diversity",)}
    for leader, followers in leaders.items():
        for name in followers:
            if given.get(name) is not None and not given.get(leader):
                raise ConfigError(
                    f"{_typed(name)} must come with {_typed(leader)}, got it without; add that one, or leave this out"
                )
    seed = given.get("seed")
    if seed is not None and seed < 0:
        raise ConfigError(f"--seed must be at least 0, got {seed}; take any other whole number")


def _typed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@contextmanager
def named_as_typed(*names: str) -> Iterator[None]:
    """A message that begins with the name of one of these settings has it as it was typed."""
    try:
        yield
    except ConfigError as error:
        name, space, rest = str(error).removeprefix("the ").partition(" ")
        if name not in names:
            raise
        raise ConfigError(f"{_typed(name)}{space}{rest}") from None
