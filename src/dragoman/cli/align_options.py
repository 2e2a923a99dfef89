"""The options of ``dragoman align``: which map, which links, and what they are held against."""

from __future__ import annotations

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
]

_MAP, _LINKS, _GOLD = "Which map", "Links", "Against links drawn by hand"


def _option(name: str, panel: str, metavar: str, help_: str, default: str | bool = False) -> Any:
    """An option that may be left out; its default is only told, and set elsewhere."""
    return typer.Option(name, help=help_, rich_help_panel=panel, metavar=metavar, show_default=default)


def _flag(name: str, panel: str, help_: str) -> Any:
    return typer.Option(name, help=help_, rich_help_panel=panel)


Layer = Annotated[int | None, _option("--layer", _MAP, "N", "From 1, the lowest.", "the last but one")]
Head = Annotated[int | None, _option("--head", _MAP, "N", "From 1.", "the mean of all")]
Read = Annotated[
    str | None,
    _option("--reading", _MAP, "predicted|input", "Where a word looks: as it is written, or one step on.", "predicted"),
]
BackwardLayer = Annotated[
    int | None, _option("--backward-layer", _MAP, "N", "That of the other translator.", "the same")
]
BackwardHead = Annotated[int | None, _option("--backward-head", _MAP, "N", "That of the other translator.", "the same")]

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
    "backward": ("symmetrize", "backward_layer", "backward_head"),
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
    "reading": "--reading",
}


def align_settings(given: dict[str, Any]) -> AlignSettings:
    """Settings from options, by their names; what is wrong is named as it was typed."""
    _check(given)
    from dragoman.api.aligning import AlignSettings
    from dragoman.api.attention import AttentionChoice

    choice = AttentionChoice(given["layer"], given["head"], given["reading"] or "predicted")
    back = {name: given[f"backward_{name}"] for name in ("layer", "head")}
    try:
        return AlignSettings(
            choice=choice,
            backward_choice=replace(choice, **{name: value for name, value in back.items() if value is not None}),
            extraction=given["extract"] or "argmax",
            threshold=given["threshold"],
            symmetrization=given["symmetrize"] or "grow-diag-final",
            ignore_end=given["ignore_end"],
            by_spaces=(given["words"] or ("usual" if given["gold"] is None else "spaces")) == "spaces",
        )
    except ConfigError as error:
        name, space, rest = str(error).partition(" ")
        raise ConfigError(f"{_TYPED.get(name, name)}{space}{rest}") from None


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
    fixed = [_typed(name) for name in ("layer", "head", "reading", "backward_layer", "backward_head") if given[name]]
    if given["find_best"] and fixed:
        raise ConfigError(f"--find-best must come without {fixed[0]}, got both; it looks at every map")
    for name, legal in _LEGAL.items():
        if given[name] is not None and given[name] not in legal:
            raise ConfigError(
                f"{_typed(name)} must be {' or '.join(map(str, legal))}, got {given[name]}; choose one of them"
            )


def _typed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
