"""Write the model card of a saved model (bundle): data, model, training, scores, limitations and use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.config import Config, CorpusConfig, TrainingConfig
from dragoman.config.corpus import Direction

if TYPE_CHECKING:
    from jinja2 import Template

_LICENCE = """\
The bundle has no licence. The licences of the corpora may apply to models trained on them; a publisher of this model
states the licence here."""

_BASE_LICENCE = """\
The licences of the corpora may apply to this model, and that of its base model applies. The card of the base states:"""
_LISTED_LANGUAGES = 30
_MAX_SECTION = 20_000  # characters

_IMPORTED_LICENCE = """\
The files of the source state no licence. The licence of the original model applies; find it before you publish this
bundle."""


def model_card(config: Config, facts: Mapping[str, Any]) -> str:
    """Write the card, in Markdown, from the configuration and facts about the run. It contains no text of a corpus.

    `facts` may have these keys; sections without facts are omitted: `parameters`, `updates`, `epochs`, `seconds`,
    `tokens`, `machine`, `versions` (name to version), `pairs` (set to number, such as train to 29000), `validation`
    (plain text), `scores` (a sequence of mappings with `name`, `value`, `signature`, and `set`), `start` (the digest
    of the bundle that training started from), `base` (a mapping with `digest`, `trained`, `parameters`, `new_tokens`,
    and the sections `origin` and `licence` of its card), `licence`.
    """
    return _render(config, facts, licence=_licence(facts), method=_method(config.training), imported=False)


def card_section(card: str, title: str) -> str:
    """Return the text of a section of a card; an empty string if there is none."""
    _, found, rest = f"\n{card}".partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0].strip()[:_MAX_SECTION] if found else ""


def stated_licence(card: str) -> str:
    """Return the licence that a card states in one line; empty if it states none."""
    found = card_section(card, "Licence")
    return "" if "\n" in found else found


def imported_model_card(config: Config, facts: Mapping[str, Any]) -> str:
    """Write the card of a model of another toolkit; `facts` are named in the template."""
    licence = _line(facts["licence"]) if facts.get("licence") else _IMPORTED_LICENCE
    return _render(config, facts, licence=licence, method="", imported=True)


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 -- only where a model is saved

    environment = Environment(trim_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701 -- Markdown
    environment.filters |= {
        "by_source": _by_source,
        "cell": _cell,
        "corpus_name": _corpus,
        "line": _line,
        "number": "{:,}".format,
        "score": lambda value: f"{value:.2f}" if isinstance(value, float) else value,
        "short": "{:g}".format,
        "time": _time,
    }
    return environment.from_string(Path(__file__).with_name("model_card.md.j2").read_text(encoding="utf-8"))


def _render(config: Config, facts: Mapping[str, Any], **values: object) -> str:
    return _template().render(values, config=config, facts=facts, listed_languages=_LISTED_LANGUAGES)


def _method(training: TrainingConfig) -> str:
    """Describe how the base of a fine-tuned model was trained further."""
    if training.lora is not None:
        return f"LoRA, rank {training.lora.rank}, alpha {training.lora.alpha:g}, merged into the weights"
    return f"fine-tuning without {', '.join(training.freeze)}" if training.freeze else "fine-tuning of all weights"


def _licence(facts: Mapping[str, Any]) -> str:
    if facts.get("licence"):
        return _line(facts["licence"])
    of_base = (facts.get("base") or {}).get("licence", "")
    if not of_base or of_base == _LICENCE:
        return _LICENCE
    return f"{_BASE_LICENCE}\n\n{of_base.removeprefix(_BASE_LICENCE).strip()}"


def _by_source(directions: Sequence[Direction]) -> list[tuple[str, list[str]]]:
    """Return the target languages of each source language."""
    targets: dict[str, list[str]] = {}
    for source, target in directions:
        targets.setdefault(source, []).append(target)
    return list(targets.items())


def _corpus(corpus: CorpusConfig) -> str:
    """The name of a corpus, or its file names without folders, since a card is shared."""
    return corpus.name or " and ".join(
        file.rstrip("/\\").replace("\\", "/").rpartition("/")[2] for file in corpus.files
    )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


_HTML = re.compile("<(?=[A-Za-z/!?])")


def _line(text: object) -> str:
    """Return text in one line, without control characters and HTML tags: it may come from an untrusted file."""
    plain = "".join(character if character.isprintable() else " " for character in str(text))
    return _HTML.sub("&lt;", " ".join(plain.split()))


def _cell(text: object) -> str:
    """Escape a table cell."""
    return _line(text).replace("\\", "\\\\").replace("|", "\\|")
