"""Decimals and direction (higher or lower is better) of metrics; format scores and p-values."""

from dragoman.plugins import find_plugin, load_plugin

SIGNIFICANCE_LEVEL = 0.05
MIN_USEFUL_BLEU = 5.0  # below it, hardly a sentence can be understood
_UNSPLIT = {"bo", "dz", "km", "lo", "my", "th"}  # without spaces, and without a tokenizer of BLEU
SENTENCE_METRIC = "chrf++"
"""The metric of single sentences."""

_LOWER_IS_BETTER = ("ter",)
_MIN_P_VALUE = 0.001


def decimals(metric: str) -> int:
    """Return the number of decimals shown: four for COMET, whose scores are between 0 and 1, else two."""
    return 4 if metric.lower() == "comet" else 2


def is_lower_better(metric: str) -> bool:
    """Whether a lower value is better; of a plug-in that is not installed, the higher value is taken to be better."""
    if find_plugin("metrics", metric) is not None:
        return bool(load_plugin("metrics", metric).is_lower_better)
    return metric.lower() in _LOWER_IS_BETTER


def is_improvement(metric: str, difference: float) -> bool:
    """Whether a difference from the baseline is an improvement."""
    return (difference < 0) == is_lower_better(metric) and difference != 0


def format_metric_value(metric: str, value: float) -> str:
    """Format a value with the decimals of its metric."""
    return f"{value:.{decimals(metric)}f}"


def format_difference(metric: str, difference: float) -> str:
    """Format a difference with its sign."""
    return f"{difference:+.{decimals(metric)}f}".replace("-", "−")


def format_p_value(value: float, separator: str = " ") -> str:
    """Format a p-value with three decimals, more near the level: 0.0496 is not shown as 0.050."""
    if value < _MIN_P_VALUE:
        return f"p{separator}<{separator}{_MIN_P_VALUE}"
    places = 3 if value == SIGNIFICANCE_LEVEL or abs(value - SIGNIFICANCE_LEVEL) >= 0.0005 else 4
    while value < SIGNIFICANCE_LEVEL <= float(f"{value:.{places}f}"):
        places += 1
    return f"p{separator}={separator}{value:.{places}f}"


def is_bleu_unsuited(language: str) -> bool:
    """Whether BLEU counts whole sentences as words in a language."""
    return language.partition("-")[0] in _UNSPLIT
