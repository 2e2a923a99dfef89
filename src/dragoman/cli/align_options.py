"""The options of ``dragoman align``: which map, which links, and what they are held against."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.aligning import AlignSettings

__all__ = [
    "Backward",
    "BackwardHead",
    "BackwardLayer",
    "BackwardRead",
    "Extract",
    "FindBest",
    "Format",
    "GoldFile",
    "GoldFormat",
    "GoldFrom",
    "Head",
    "IgnoreEnd",
    "Layer",
    "Read",
    "Symmetrize",
    "Threshold",
    "Words",
    "align_settings",
    "is_any_given",
    "named_as_typed",
    "needs_torch",
]

_MAP, _LINKS, _GOLD = "Which map", "Links", "Against links drawn by hand"


def _option(name: str, panel: str, metavar: str, help_: str, default: str | bool = False) -> Any:
    """An option that may be left out; its default is only told, and set elsewhere."""
    return typer.Option(name, help=help_, rich_help_panel=panel, metavar=metavar, show_default=default)


def _flag(name: str, panel: str, help_: str) -> Any:
    return typer.Option(name, help=help_, rich_help_panel=panel)


Layer = Annotated[int | None, _option("--layer", _MAP, "N", "From 1, the lowest.", "the last but one")]
Head = Annotated[str | None, _option("--head", _MAP, "N|mean", "From 1, or the mean of all.", "mean")]
Read = Annotated[
    str | None,
    _option(
        "--reading",
        _MAP,
        "predicted|input|posterior",
        "Where a word looks: as it is written, one step on, or once it is known.",
        "predicted",
    ),
]
BackwardLayer = Annotated[
    int | None, _option("--backward-layer", _MAP, "N", "That of the other translator.", "the same")
]
BackwardHead = Annotated[
    str | None, _option("--backward-head", _MAP, "N|mean", "That of the other translator.", "the same")
]
BackwardRead = Annotated[
    str | None,
    _option("--backward-reading", _MAP, "predicted|input|posterior", "That of the other translator.", "the same"),
]

Extract = Annotated[
    str | None,
    _option(
        "--extract",
        _LINKS,
        "argmax|threshold|mutual",
        "For each target word the source word it looks at most; all of enough weight; or the first, if no other target "
        "word looks there more.",
        "argmax",
    ),
]
Threshold = Annotated[float | None, _option("--threshold", _LINKS, "WEIGHT", "The least weight of a link.")]
IgnoreEnd = Annotated[
    bool, _flag("--ignore-end", _LINKS, "Words that look at the end of the source most get a link too.")
]
Words = Annotated[
    str | None,
    _option("--words", _LINKS, "usual|spaces", "What is a word: spaces, for texts cut by hand.", "--gold: spaces"),
]
Backward = Annotated[
    Path | None, _option("--backward", _LINKS, "BUNDLE", "A translator from target to source: links of both.")
]
Symmetrize = Annotated[
    str | None,
    _option(
        "--symmetrize",
        _LINKS,
        "NAME",
        "What both make: intersection, union, grow-diag, grow-diag-final, grow-diag-final-and, product.",
        "grow-diag-final",
    ),
]
Format = Annotated[
    str | None,
    _option("--format", _LINKS, "pharaoh|naacl", "A line a pair; or a line a link, counted from 1.", "pharaoh"),
]

GoldFile = Annotated[
    Path | None, _option("--gold", _GOLD, "FILE", "Links drawn by hand: errors are printed, not links.")
]
GoldFormat = Annotated[
    str | None, _option("--gold-format", _GOLD, "pharaoh|naacl", "How they are written.", "seen from the file")
]
GoldFrom = Annotated[int | None, _option("--gold-from", _GOLD, "0|1", "The number of the first word.", "0; naacl: 1")]
FindBest = Annotated[bool, _flag("--find-best", _GOLD, "Rank every layer, head and reading by its error.")]

_LEADERS = {
    "backward": ("symmetrize", "backward_layer", "backward_head", "backward_reading"),
    "gold": ("gold_format", "gold_from", "find_best"),
}
_LEGAL = {
    "words": ("usual", "spaces"),
    "format": ("pharaoh", "naacl"),
    "gold_format": ("pharaoh", "naacl"),
    "gold_from": (0, 1),
}
_TYPED = {
    "extraction": "--extract",
    "symmetrization": "--symmetrize",
    "threshold": "--threshold",
    "ignore_end": "--ignore-end",
    "layer": "--layer",
    "head": "--head",
    "reading": "--reading",
    "backward layer": "--backward-layer",
    "backward head": "--backward-head",
    "backward reading": "--backward-reading",
}
_MAPS = ("layer", "head", "reading", "backward_layer", "backward_head", "backward_reading")
_ENGINE = ("with", "engine")  # options that choose no map and no links


def align_settings(given: dict[str, Any]) -> AlignSettings:
    """Settings from options, by their names; what is wrong is named as it was typed."""
    _check(given)
    heads = {name: _head(name, given[name]) for name in ("head", "backward_head")}
    from dragoman.api.aligning import AlignSettings
    from dragoman.api.attention import AttentionChoice

    choice = AttentionChoice(given["layer"], heads["head"], given["reading"] or "predicted")
    back = {name: given[f"backward_{name}"] for name in ("layer", "head", "reading")}
    own = {name: value for name, value in back.items() if value is not None}
    if "head" in own:
        own["head"] = heads["backward_head"]
    with named_as_typed():
        settings = AlignSettings(
            choice=choice,
            backward_choice=replace(choice, **own),
            extraction=given["extract"] or "argmax",
            threshold=given["threshold"],
            symmetrization=given["symmetrize"] or "grow-diag-final",
            ignore_end=given["ignore_end"],
            by_spaces=(given["words"] or ("usual" if given["gold"] is None else "spaces")) == "spaces",
        )
    _check_engine(given, settings)
    return settings


def is_any_given(given: dict[str, Any]) -> bool:
    """Whether any map or links but the usual ones are asked for."""
    return any(value is not None and value is not False for name, value in given.items() if name not in _ENGINE)


def needs_torch(given: dict[str, Any], settings: AlignSettings) -> bool:
    """Whether only the torch engine shows what is asked for."""
    return bool(given["find_best"]) or not settings.is_usual


@contextmanager
def named_as_typed() -> Iterator[None]:
    """A message that begins with the name of a setting has it as it was typed."""
    try:
        yield
    except ConfigError as error:
        for name, typed in _TYPED.items():
            if str(error).startswith(f"{name} "):
                raise ConfigError(f"{typed}{str(error).removeprefix(name)}") from None
        raise


def _check(given: dict[str, Any]) -> None:
    """Refuse options that would do nothing, and values that are none of theirs."""
    for leader, followers in _LEADERS.items():
        for name in followers:
            if given[name] is not None and given[name] is not False and given[leader] is None:
                raise ConfigError(
                    f"{_typed(name)} must come with --{leader}, got it without; add that one, or leave this out"
                )
    if given["format"] is not None and given["gold"] is not None:
        raise ConfigError("--format must come without --gold, got both; with --gold no links are printed")
    fixed = [_typed(name) for name in _MAPS if given[name] is not None]
    if given["find_best"] and fixed:
        raise ConfigError(f"--find-best must come without {fixed[0]}, got both; it looks at every map")
    for name, legal in _LEGAL.items():
        if given[name] is not None and given[name] not in legal:
            raise ConfigError(
                f"{_typed(name)} must be {' or '.join(map(str, legal))}, got {given[name]}; choose one of them"
            )
    if given["ignore_end"] and given["symmetrize"] == "product" and given["gold"] is None:
        raise ConfigError(
            "--ignore-end must come without --symmetrize product, got both; a product never counts the end"
        )


def _head(name: str, value: str | None) -> int | None:
    """The number of a head; None is the mean of all."""
    if value is None or value == "mean":
        return None
    if not (value.isascii() and value.isdigit()):
        raise ConfigError(f"{_typed(name)} must be a number from 1 on, or mean, got {value}; see --find-best")
    return int(value)


def _check_engine(given: dict[str, Any], settings: AlignSettings) -> None:
    """Refuse what an ensemble, or an engine that was typed, cannot show."""
    if not needs_torch(given, settings):
        return
    chosen = [_typed(name) for name in ("find_best", *_MAPS) if given[name] is not None and given[name] is not False]
    by_words = "--gold" if given["words"] is None else "--words spaces"
    what = chosen[0] if chosen else by_words
    usual = ", or add --words usual" if what == "--gold" else ""
    if given["with"] is not None:
        rule = "come without --with" + (", or with --words usual" if usual else "")
        raise ConfigError(
            f"{what} must {rule}, got an ensemble, which shows only its usual map; leave out --with{usual}"
        )
    if given["engine"] not in {None, "auto", "torch"}:
        raise ConfigError(
            f"--engine must be torch with {what}, got {given['engine']}; type --engine torch, or leave it out{usual}"
        )


def _typed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
