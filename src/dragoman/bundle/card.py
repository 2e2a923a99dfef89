"""The card of a model: what it is, what it learnt from, how good it is, where it fails, and how to use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.config import Config, CorpusConfig, DataConfig, ModelConfig

__all__ = ["model_card"]

_LIMITS = """\
It knows what its corpora are about, and little else. Names, numbers and long sentences are where translations go wrong
first, and a wrong translation can read well: have somebody who knows both languages check what matters. Whatever is
false or unfair in the corpora can come back in translations."""

_USE = """\
```python
from dragoman.api import Translator

translator = Translator.open("BUNDLE")  # verifies every file; runs no code from it
print(translator.translate("...").text)
```

On the command line: `dragoman translate BUNDLE`."""

_LICENCE = """\
The bundle carries no licence of its own. The licences of the corpora may bind what is learnt from them; whoever
publishes this model says here which one holds."""


def model_card(config: Config, facts: Mapping[str, Any]) -> str:
    """The card in Markdown, of the configuration and of what the run found out. No text of a corpus is in it.

    `facts` may hold any of these, and what it lacks is left out: `parameters`, `updates`, `epochs`, `seconds`,
    `tokens`, `machine`, `versions` (name to version), `pairs` (set to number, such as train to 29000), `validation`
    (plain text), `scores` (a sequence of mappings with `name`, `value`, `signature`, and `set`), `start` (the digest
    of the bundle that training began with), `licence`.
    """
    parts = [
        _title(config),
        _section("Data", _data(config.data, facts)),
        _section("Model", _model(config.model, facts)),
        _section("Training", _training(config, facts)),
        _section("Scores", _scores(facts.get("scores", ()))),
        _section("Limits", _LIMITS),
        _section("Use", _USE),
        _section("Licence", _line(facts["licence"]) if facts.get("licence") else _LICENCE),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(config: Config) -> str:
    data = config.data
    title = f"# A translator from {_line(data.source)} to {_line(data.target)}" if data else "# A translator"
    return f"{title}\n\n{_line(config.description)}".strip()


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""


def _data(data: DataConfig | None, facts: Mapping[str, Any]) -> str:
    rows = [(f"Pairs, {_line(name)}", f"{count:,}") for name, count in facts.get("pairs", {}).items()]
    if data is not None:
        rows += [("Corpus", _corpus(corpus)) for corpus in data.train]
        rows += [("Validation corpus", _corpus(data.validation))] if data.validation else []
        rows += [("Test corpus", _corpus(corpus)) for corpus in data.test]
    return _table(rows)


def _corpus(corpus: CorpusConfig) -> str:
    """What it is called; of a path its last part only, since a card is shared."""
    return corpus.name or " and ".join(
        file.rstrip("/\\").replace("\\", "/").rpartition("/")[2] for file in corpus.files
    )


def _model(model: ModelConfig, facts: Mapping[str, Any]) -> str:
    rows: list[tuple[str, str]] = [("Family", model.family)]
    if model.family == "transformer":
        rows += [
            ("Layers", f"{model.encoder_layers} read, {model.decoder_layers} write"),
            ("Width", f"{model.dim}, {model.heads} heads, feed-forward {model.feedforward}"),
            ("Normalisation", model.norm),
        ]
    else:
        attention = f"{model.attention.score} × {model.attention.alignment}, {model.decoder.attend} the cell"
        rows += [
            ("Reader", f"{model.encoder.layers} × {model.encoder.cell}, {model.encoder.hidden}"),
            ("Writer", f"{model.decoder.layers} × {model.decoder.cell}, {model.decoder.hidden}"),
            ("Attention", "none" if model.decoder.attend == "none" else attention),
        ]
    rows += [("Parameters", f"{facts['parameters']:,}")] if "parameters" in facts else []
    return _table(rows)


def _training(config: Config, facts: Mapping[str, Any]) -> str:
    training = config.training
    rows = [("Optimizer", f"{training.optimizer}, rate {training.learning_rate:g}, {training.schedule}")]
    rows += [("Precision", training.precision), ("Seed", str(training.seed))]
    rows += [
        (title, f"{facts[name]:,}")
        for title, name in (("Updates", "updates"), ("Epochs", "epochs"), ("Target pieces seen", "tokens"))
        if facts.get(name) is not None
    ]
    if facts.get("seconds") is not None:
        rows.append(("Time", _time(facts["seconds"])))
    rows += [(title, str(facts[name])) for title, name in _PLAIN if facts.get(name)]
    rows += [(_line(name), str(version)) for name, version in facts.get("versions", {}).items()]
    return _table(rows)


_PLAIN = (("Validation", "validation"), ("Machine", "machine"), ("Began with the bundle", "start"))


def _scores(scores: Sequence[Mapping[str, Any]]) -> str:
    if not scores:
        return ""
    lines = ["| set | score | value | signature |", "|---|---|---:|---|"]
    for score in scores:
        value = f"{score['value']:.2f}"
        cells = (score.get("set", ""), score["name"], value, score.get("signature", ""))
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines)


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows]
    return "\n".join(["| | |", "|---|---|", *lines]) if lines else ""


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _line(text: object) -> str:
    return " ".join(str(text).split())


def _cell(text: object) -> str:
    """A text that stays within its cell."""
    return _line(text).replace("\\", "\\\\").replace("|", "\\|")
