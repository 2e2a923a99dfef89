"""Length and coverage penalties for scoring hypotheses. Paper: [wu2016], equation (14)."""

from dataclasses import dataclass

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import Floats


@dataclass(frozen=True)
class Penalties:
    """s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y).

    lp is |Y|^α (the average log p for α = 1), ((5 + |Y|) / 6)^α, or 1, and |Y| counts the end;
    cp = β Σ_s log min(Σ_t a_t(s), 1).
    """

    settings: SearchSettings

    def length(self, length: int) -> float:
        """lp of a translation with this number of tokens, including the end."""
        if self.settings.length_penalty == "none":
            return 1.0
        base = length if self.settings.length_penalty == "average" else (5 + length) / 6
        return float(base**self.settings.alpha)

    def score(self, log_prob: float, length: int, weights: Floats | None) -> float:
        """The score of a translation. Shapes: weights [tgt, src] of real source words."""
        score = log_prob / self.length(length)
        if self.settings.coverage_penalty and weights is not None:
            covered = weights.sum(0).clip(np.finfo(np.float32).tiny, 1.0)
            score += self.settings.coverage_penalty * float(np.log(covered).sum())
        return score

    def at_best(self, log_prob: float, longest: int) -> float:
        """Upper bound of the score of an unfinished translation: all further tokens up to `longest` with p = 1."""
        return log_prob / self.length(longest)
