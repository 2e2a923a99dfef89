"""Rules on which decoder type, attention and output layer of a recurrent model can be combined, and their check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from dragoman.errors import CombinationError, ConfigError

if TYPE_CHECKING:
    from dragoman.config.schema import RnnConfig

__all__ = ["Wiring", "check_rnn", "legal_wirings"]

CONTENT_SCORES = ("dot", "scaled-dot", "general", "concat")
EVERY_SCORE = (*CONTENT_SCORES, "location")
SAME_SIZE_SCORES = ("dot", "scaled-dot")

SCORES_OF_ALIGNMENT = {
    "global": EVERY_SCORE,
    "hard": EVERY_SCORE,
    # A location score is one row over all positions, independent of the keys: there is no window of it to gather.
    "local-m": CONTENT_SCORES,
    "local-p": CONTENT_SCORES,
}
ROW_ALIGNMENTS = ("global", "hard")
MEMORIES_OF_SCORE = {
    **dict.fromkeys(CONTENT_SCORES, ("shared", "split")),
    "location": ("shared",),  # it uses no keys, so half of each state would be lost
}


class Wiring(NamedTuple):
    """Connections of a recurrent decoder: when it attends, what it feeds back, and the input of its output layer."""

    attend: str
    input_feeding: bool
    context: str
    output: str


LEGAL_WIRINGS = (
    Wiring("none", False, "initial", "linear"),
    Wiring("none", False, "every-step", "linear"),
    Wiring("none", False, "every-step", "deep"),
    Wiring("before", False, "initial", "linear"),
    Wiring("before", False, "initial", "deep"),
    Wiring("after", False, "initial", "linear"),
    Wiring("after", True, "initial", "linear"),
)


def legal_wirings() -> Iterator[tuple[Wiring, str | None, str | None, str | None]]:
    """Yield every legal (wiring, score, alignment, memory); the last three are None if the decoder does not attend."""
    for wiring in LEGAL_WIRINGS:
        if wiring.attend == "none":
            yield wiring, None, None, None
            continue
        for alignment, scores in SCORES_OF_ALIGNMENT.items():
            for score in scores:
                for memory in MEMORIES_OF_SCORE[score]:
                    yield wiring, score, alignment, memory


def check_rnn(config: RnnConfig) -> None:
    """Raise an error if the parts of a recurrent model cannot be combined."""
    _check_wiring(config)
    _check_sizes(config)
    if config.encoder.structured_rows:
        _check_structured(config)
    if config.decoder.attend != "none":
        _check_attention(config)


def _check_wiring(config: RnnConfig) -> None:
    decoder = config.decoder
    wiring = Wiring(decoder.attend, decoder.input_feeding, decoder.context, decoder.output)
    if wiring not in LEGAL_WIRINGS:
        legal = "; ".join(_describe(w) for w in LEGAL_WIRINGS)
        raise CombinationError(f"model.decoder must be wired in a legal way, got {_describe(wiring)}; legal: {legal}")
    if decoder.query_context and decoder.attend == "none":
        raise CombinationError(
            "model.decoder.query_context must be false where model.decoder.attend is none, got true; "
            "legal: attend=before, attend=after"
        )


def _describe(wiring: Wiring) -> str:
    feeding = str(wiring.input_feeding).lower()
    return f"attend={wiring.attend} input_feeding={feeding} context={wiring.context} output={wiring.output}"


def _check_structured(config: RnnConfig) -> None:
    """Structured self-attention: rows have no order for a window; without attention they must be one vector."""
    rows, decoder, alignment = config.encoder.structured_rows, config.decoder, config.attention.alignment
    if decoder.attend == "none" and rows != 1:
        raise CombinationError(
            f"model.encoder.structured_rows must be 0 or 1 where model.decoder.attend is none, got {rows}; legal for "
            "more: attend=before, attend=after"
        )
    if decoder.attend == "none" and (decoder.start, decoder.context) == ("copy", "initial"):
        raise CombinationError(
            "model.decoder.start must be project where the source vector of structured self-attention only initializes "
            "the decoder, got copy; legal: start=project, context=every-step"
        )
    if decoder.attend != "none" and alignment not in ROW_ALIGNMENTS:
        raise CombinationError(
            f"model.attention.alignment must be {' or '.join(ROW_ALIGNMENTS)} where model.encoder.structured_rows is "
            f"not 0, got {alignment}; the rows of structured self-attention have no order"
        )


def _check_attention(config: RnnConfig) -> None:
    attention = config.attention
    scores = SCORES_OF_ALIGNMENT[attention.alignment]
    if attention.score not in scores:
        pairs = "; ".join(f"{name}: {', '.join(fit)}" for name, fit in SCORES_OF_ALIGNMENT.items())
        raise CombinationError(
            f"model.attention.score must be one of {', '.join(scores)} with alignment {attention.alignment}, "
            f"got {attention.score}; legal pairs: {pairs}"
        )
    memories = MEMORIES_OF_SCORE[attention.score]
    if attention.memory not in memories:
        pairs = "; ".join(f"{name}: {', '.join(fit)}" for name, fit in MEMORIES_OF_SCORE.items())
        raise CombinationError(
            f"model.attention.memory must be {' or '.join(memories)} with score {attention.score}, "
            f"got {attention.memory}; legal pairs: {pairs}"
        )
    if attention.score in SAME_SIZE_SCORES and config.decoder.query_context:
        raise CombinationError(
            f"model.attention.score must be general, concat or location where model.decoder.query_context is true, got "
            f"{attention.score}; the query and the keys have different sizes"
        )
    if attention.score in SAME_SIZE_SCORES and config.value_size != config.decoder.hidden:
        raise CombinationError(
            f"model.decoder.hidden must be {config.value_size}, the size of a key, with score {attention.score}, "
            f"got {config.decoder.hidden}; or use score general or concat, which need no equal sizes"
        )


def _check_sizes(config: RnnConfig) -> None:
    encoder, decoder = config.encoder, config.decoder
    halves = config.directions_halved
    splits = decoder.attend != "none" and config.attention.memory == "split"
    if encoder.hidden % 2 and (halves or splits):
        why = "each direction has half of it" if halves else "keys and values have half of it each"
        raise ConfigError(f"model.encoder.hidden must be even, got {encoder.hidden}; {why}")
    same = (encoder.cell, encoder.layers, encoder.hidden) == (decoder.cell, decoder.layers, decoder.hidden)
    if decoder.start == "copy" and not (same and (not encoder.bidirectional or halves)):
        raise CombinationError(
            "model.decoder.start must be project where the encoder's and the decoder's cell, layers or hidden size "
            "differ or its directions are joined by a linear map, got copy; legal: project always, copy where all agree"
        )
    if config.tie != "none" and config.features != config.embedding:
        raise ConfigError(
            f"model.tie must be none where the output layer has {config.features} features and embeddings have "
            f"{config.embedding}, got {config.tie}; make the two sizes equal to tie them"
        )
