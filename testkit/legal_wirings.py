"""Every legal combination of the parts of a recurrent model with attention."""

from collections.abc import Iterator

from dragoman.config.attention_scores import ALIGNMENTS, SCORES
from dragoman.config.rnn import LEGAL_WIRINGS, Wiring


def legal_wirings() -> Iterator[tuple[Wiring, str | None, str | None, str | None]]:
    """Yield every legal (wiring, score, alignment, memory); the last three are None if the decoder does not attend."""
    for wiring in LEGAL_WIRINGS:
        if wiring.attend == "none":
            yield wiring, None, None, None
            continue
        for alignment in ALIGNMENTS:
            for score, rules in SCORES.items():
                for memory in rules.memories if alignment in rules.alignments else ():
                    yield wiring, score, alignment, memory
