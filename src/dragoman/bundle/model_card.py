"""Write the model card of a saved model (bundle): data, model, training, scores, limitations and use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.config import Config, CorpusConfig, DataConfig, TrainingConfig

_LIMITS = """\
It covers the subjects of its corpora and little else. Names, numbers and long sentences are the most frequent errors,
and a wrong translation can be fluent: important texts need a check by a speaker of both languages. False or unfair
statements in the corpora can appear in translations."""

_USE = """\
```python
from dragoman import Translator

translator = Translator.open("BUNDLE")  # verifies every file; runs no code from it
print(translator.translate("..."))
```

On the command line: `dragoman translate BUNDLE`."""

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
    parts = [
        _title(config),
        _section("Directions", _directions(config.data)),
        _section("Base model", _base(config.training, facts.get("base"))),
        _section("Origin", (facts.get("base") or {}).get("origin", "")),
        _section("Data", _data(config.data, facts)),
        _section("Model", _model(config, facts)),
        _section("Training", _training(config, facts)),
        _section("Scores", _scores(facts.get("scores", ()))),
        _section("Limits", _LIMITS),
        _section("Use", _use(config.data)),
        _section("Licence", _licence(facts)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def card_section(card: str, title: str) -> str:
    """Return the text of a section of a card; an empty string if there is none."""
    _, found, rest = f"\n{card}".partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0].strip()[:_MAX_SECTION] if found else ""


def stated_licence(card: str) -> str:
    """Return the licence that a card states in one line; empty if it states none."""
    found = card_section(card, "Licence")
    return "" if "\n" in found else found


def imported_model_card(config: Config, facts: Mapping[str, Any]) -> str:
    """Write the card of a model that another toolkit trained.

    `facts`: `format`, `origin` (a name), `files` (a sequence of name, size and SHA-256), `parameters`, `notes` (plain
    text), `versions`, and optionally `licence`.
    """
    rows = [("Imported from", facts["format"]), ("Name", facts["origin"])]
    rows += [(f"{name}, {size:,} bytes", f"SHA-256 {digest}") for name, size, digest in facts["files"]]
    rows += [(_line(name), str(version)) for name, version in facts["versions"].items()]
    parts = [
        _title(config),
        _section("Directions", _directions(config.data)),
        _section("Origin", _table(rows)),
        _section("Model", _model(config, facts)),
        _section("Notes", "\n".join(f"- {_line(note)}" for note in facts["notes"])),
        _section("Limits", _LIMITS),
        _section("Use", _use(config.data)),
        _section("Licence", _line(facts["licence"]) if facts.get("licence") else _IMPORTED_LICENCE),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _base(training: TrainingConfig, base: Mapping[str, Any] | None) -> str:
    """Describe the base of a fine-tuned model and what was done with it."""
    if base is None:
        return ""
    method = "fine-tuning of all weights"
    if training.lora is not None:
        method = f"LoRA, rank {training.lora.rank}, alpha {training.lora.alpha:g}, merged into the weights"
    elif training.freeze:
        method = f"fine-tuning without {', '.join(training.freeze)}"
    rows = [("Bundle", f"digest {base['digest']}"), ("Method", method)]
    if base.get("trained") and base.get("parameters"):
        rows.append(("Trained parameters", f"{base['trained']:,} of {base['parameters']:,}"))
    if base.get("new_tokens"):
        rows.append(("New tokens", f"{base['new_tokens']:,}"))
    return _table(rows)


def _licence(facts: Mapping[str, Any]) -> str:
    if facts.get("licence"):
        return _line(facts["licence"])
    of_base = (facts.get("base") or {}).get("licence", "")
    if not of_base or of_base == _LICENCE:
        return _LICENCE
    return f"{_BASE_LICENCE}\n\n{of_base.removeprefix(_BASE_LICENCE).strip()}"


def _title(config: Config) -> str:
    data = config.data
    title = "# A translator"
    if data is not None and data.is_multilingual:
        title += f" with {len(data.all_directions()):,} directions"
    elif data is not None:
        title += f" from {_line(data.source)} to {_line(data.target)}"
    return f"{title}\n\n{_line(config.description)}".strip()


def _directions(data: DataConfig | None) -> str:
    """List the directions of a model with several: by source language, its target languages."""
    if data is None or not data.is_multilingual:
        return ""
    targets: dict[str, list[str]] = {}
    for source, target in data.all_directions():
        targets.setdefault(source, []).append(target)
    listed = [f"- {_line(source)} → {_line(', '.join(codes))}" for source, codes in targets.items()]
    more = len(listed) - _LISTED_LANGUAGES
    return "\n".join([*listed[:_LISTED_LANGUAGES], *([f"- and {more} more source languages"] if more > 0 else [])])


def _use(data: DataConfig | None) -> str:
    if data is None or not data.is_multilingual:
        return _USE
    source, target = (_line(code) for code in data.all_directions()[0])
    options = f'source="{source}", target="{target}"'
    command = f"dragoman translate BUNDLE --source-language {source} --target-language {target}"
    return _USE.replace('translate("...")', f'translate("...", {options})').replace(
        "dragoman translate BUNDLE", command
    )


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
    """The name of a corpus, or its file names without folders, since a card is shared."""
    return corpus.name or " and ".join(
        file.rstrip("/\\").replace("\\", "/").rpartition("/")[2] for file in corpus.files
    )


def _model(config: Config, facts: Mapping[str, Any]) -> str:
    model, own = config.model, config.inference
    rows: list[tuple[str, str]] = [("Family", model.family)]
    if model.family == "transformer":
        rows += [
            ("Layers", f"{model.encoder_layers} encoder, {model.decoder_layers} decoder"),
            ("Width", f"{model.dim}, {model.heads} heads, feed-forward {model.feedforward}"),
            ("Normalisation", model.norm),
        ]
    else:
        attention = f"{model.attention.score} × {model.attention.alignment}, {model.decoder.attend} the cell"
        rows += [
            ("Encoder", f"{model.encoder.layers} × {model.encoder.cell}, {model.encoder.hidden}"),
            ("Decoder", f"{model.decoder.layers} × {model.decoder.cell}, {model.decoder.hidden}"),
            ("Attention", "none" if model.decoder.attend == "none" else attention),
        ]
    rows += [("Parameters", f"{facts['parameters']:,}")] if "parameters" in facts else []
    if own is not None:
        search = "" if own.beam is None else "greedy search, " if own.beam == 1 else f"a beam of {own.beam}, "
        rows.append(("Made for", f"{search}{own.precision}; used unless an option names others"))
    return _table(rows)


def _training(config: Config, facts: Mapping[str, Any]) -> str:
    training = config.training
    rows = [("Optimizer", f"{training.optimizer}, rate {training.learning_rate:g}, {training.schedule}")]
    rows += [("Precision", training.precision), ("Seed", str(training.seed))]
    rows += [
        (title, f"{facts[name]:,}")
        for title, name in (("Updates", "updates"), ("Epochs", "epochs"), ("Target tokens seen", "tokens"))
        if facts.get(name) is not None
    ]
    if facts.get("seconds") is not None:
        rows.append(("Time", _time(facts["seconds"])))
    rows += [(title, str(facts[name])) for title, name in _TEXTS if facts.get(name)]
    rows += [(_line(name), str(version)) for name, version in facts.get("versions", {}).items()]
    return _table(rows)


_TEXTS = (("Validation", "validation"), ("Machine", "machine"), ("Started from the bundle", "start"))


def _scores(scores: Sequence[Mapping[str, Any]]) -> str:
    if not scores:
        return ""
    lines = ["| set | score | value | signature |", "|---|---|---:|---|"]
    for score in scores:
        value = score["value"]
        cells = (
            score.get("set", ""),
            score["name"],
            f"{value:.2f}" if isinstance(value, float) else value,
            score.get("signature", ""),
        )
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines)


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows]
    return "\n".join(["| | |", "|---|---|", *lines]) if lines else ""


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
