"""Names of score functions by their rules."""

from dragoman.config.attention_scores import ALIGNMENTS, SCORES

EVERY_SCORE = tuple(SCORES)
CONTENT_SCORES = tuple(name for name, rules in SCORES.items() if rules.alignments == ALIGNMENTS)
SAME_SIZE_SCORES = tuple(name for name, rules in SCORES.items() if rules.needs_equal_sizes)
