"""Render a translator, and a translation with its alignment, as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.config.rnn import RnnConfig
from dragoman.config.schema import TransformerConfig
from dragoman.config.search import SearchSettings
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import facts_html
from dragoman.reporting.number_format import format_compact, format_count
from dragoman.text.glossary import Glossary

if TYPE_CHECKING:
    from dragoman.api.translation.translation import Translation

_STYLE = (
    "<style>.dragoman svg{max-width:100%;height:auto;font:13px sans-serif}.dragoman text{fill:currentColor}"
    ".dragoman .ground{fill:currentColor;fill-opacity:.05}.dragoman .cell{fill:#2563eb}"
    ".dragoman .band{fill:none}</style>"
)


def translation_html(translation: Translation) -> str:
    """Return the text, and per sentence the attention weights or the word links, without any script."""
    maps = "".join(map(_heatmap, translation.sentences or (translation,)))
    text = escape(translation.text)
    return f'<div class="dragoman">{_STYLE if maps else ""}<p dir="auto">{text}</p>{maps}</div>'


def _heatmap(sentence: Translation) -> str:
    weights = _weights(sentence)
    if weights is None or not weights.size:
        return ""
    return heatmap_svg(sentence.source_words, sentence.target_words, weights, title=sentence.text)


def _weights(sentence: Translation) -> NDArray[np.float64] | None:
    """Return the weights between words, or 1 for each link. Shapes: [tgt, src]."""
    if sentence.weights is not None:
        return np.array(sentence.weights, dtype=np.float64)
    if sentence.alignment is None:
        return None
    weights = np.zeros((len(sentence.target_words), len(sentence.source_words)))
    for source, target in sentence.alignment:
        weights[target, source] = 1.0
    return weights


def translator_html(
    languages: tuple[str, str],
    bundles: Sequence[Bundle],
    search: SearchSettings,
    *,
    engine: str,
    glossary: Glossary | None = None,
) -> str:
    """Return the languages, the models with their numbers of parameters, the engine and the search settings."""
    facts = [
        (f"model {number}" if len(bundles) > 1 else "model", _model(each)) for number, each in enumerate(bundles, 1)
    ]
    facts.append(("engine", engine))
    method = "samples" if search.sample else "greedy" if search.beam == 1 else f"beam {search.beam}"
    facts.append(("search", f"MBR of {search.candidates}" if search.search == "mbr" else method))
    facts.append(("glossary", "" if glossary is None else format_count(len(glossary), "term")))
    return facts_html(f"Translator {' → '.join(languages)}" if all(languages) else "Translator", facts)


def _model(bundle: Bundle) -> str:
    return f"{_family(bundle.config.model)} · {format_compact(bundle.parameter_count())} parameters"


def _family(model: RnnConfig | TransformerConfig) -> str:
    if isinstance(model, TransformerConfig):
        return f"Transformer, {model.encoder_layers} + {model.decoder_layers} layers of width {model.dim}"
    attention = "no attention" if model.decoder.attend == "none" else f"{model.attention.score} attention"
    layers = f"{model.encoder.layers} + {model.decoder.layers} layers of width {model.decoder.hidden}"
    return f"{model.decoder.cell.partition('-')[0].upper()}, {attention}, {layers}"
