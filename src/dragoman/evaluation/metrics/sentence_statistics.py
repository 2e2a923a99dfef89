"""Count the statistics of BLEU, chrF and TER per sentence, once; corpus scores and significance tests reuse them.

sacreBLEU has no public function that returns or scores statistics: its private parts are used only here and in
`significance.bootstrap`, and tests compare the results with its command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.config.evaluation import METRICS
from dragoman.errors import ConfigError, DataError

_SCORE_NAMES = {"chrf": "chrf++"}  # chrF alone is chrF2, without words

_CODES = {"zho": "zh", "chi": "zh", "cmn": "zh", "jpn": "ja", "kor": "ko"}
"""Three-letter codes of languages for which sacreBLEU has a tokenizer."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of one metric for every sentence of one system. Shape: counts [sentences, statistics]."""

    metric: str
    language: str
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def signed_metric(self) -> Metric:
        """Return the metric for the language of the statistics, ready to sign."""
        return signed_metric(self.metric, self.language)

    @property
    def score_name(self) -> str:
        return _SCORE_NAMES.get(self.metric, self.metric)

    def select(self, rows: NDArray[np.intp]) -> Statistics:
        return Statistics(self.metric, self.language, self.counts[rows])


def corpus_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, metrics: Sequence[str] = METRICS, language: str = ""
) -> tuple[Statistics, ...]:
    """Compute the statistics of every metric, the slow part of scoring; `language` selects BLEU's tokenizer."""
    check_sizes(hypotheses, references)
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise ConfigError(f"metrics must be of {', '.join(METRICS)}, got {unknown[0]!r}; leave it out")
    return tuple(_compute(name, language, hypotheses, references) for name in metrics)


def _compute(name: str, language: str, hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    counts = signed_metric(name, language)._extract_corpus_statistics(hypotheses, [references])  # noqa: SLF001
    return Statistics(name, language, np.array(counts, np.int64))


def signed_metric(name: str, language: str) -> Metric:
    """Return the metric with sacreBLEU's defaults for this language, ready to sign for one reference per sentence."""
    metric: Metric
    if name == "bleu":
        metric = _bleu(language)
    elif name == "chrf":
        metric = CHRF(word_order=2)
    else:
        metric = TER()
    metric.num_refs = 1  # sacreBLEU sets it only when it computes statistics itself
    return metric


def missing_bleu_package(language: str) -> str | None:
    """Return the package with BLEU's tokenizer for a language if it is not installed, such as ``sacrebleu[ja]``."""
    code = _sacrebleu_code(language)
    try:
        BLEU(trg_lang=code)
    except RuntimeError:
        return f"sacrebleu[{code}]"
    return None


def check_sizes(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise `DataError` unless there is one reference per hypothesis."""
    if len(hypotheses) != len(references) or not references:
        raise DataError(
            f"hypotheses and references must be as many, and at least one, got {len(hypotheses)} and "
            f"{len(references)}; give one reference for each translation"
        )


def _bleu(language: str) -> BLEU:
    package = missing_bleu_package(language)
    if package is not None:
        raise ConfigError(
            f"BLEU's tokenizer for {language} is not installed; pip install '{package}', or leave BLEU out of the "
            "metrics"
        )
    return BLEU(force=True, trg_lang=_sacrebleu_code(language))  # force: no warning about texts that look tokenized


def _sacrebleu_code(language: str) -> str:
    code = language.lower().replace("_", "-").split("-")[0]
    return _CODES.get(code, code)
