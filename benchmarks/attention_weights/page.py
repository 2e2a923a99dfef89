"""Draw the pages on attention weights: self-contained HTML, in English and Chinese."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.attention_weights.page_data import page_data
from benchmarks.attention_weights.page_tables import page_tables
from dragoman.reporting.html import inlined, json_for_script, read_asset

FOLDER = Path(__file__).parent
FILES = {"en": "attention.html", "zh": "attention.zh.html"}
_LANGUAGES = {"en": "en", "zh": "zh-CN"}
_SECTIONS = ("models", "lengths", "heads", "training", "classes", "received", "interventions", "gold")
_STYLES = ("palette.css", "page.css")


def draw_pages(result: Mapping[str, Any], records: Path) -> dict[str, str]:
    """Return the content of each page by its file name."""
    data = page_data(result, records)
    source = {key: result[key] for key in ("date", "version", "machine")}
    return {file: _page(data, source, language) for language, file in FILES.items()}


def page_texts(language: str) -> dict[str, Any]:
    """Return the texts of the page in a language."""
    texts: dict[str, Any] = tomllib.loads((FOLDER / f"texts.{language}.toml").read_text(encoding="utf-8"))
    return texts


def answer_values(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of the answer, formatted: those of models as ``<model>_<figure>``, and of gold links."""
    found: dict[str, str] = {}
    for name, model in data["models"].items():
        figures = _weight_figures(model, data["values"]) | _search_figures(model)
        if "training" in model:
            for update, values in zip(model["training"]["updates"], model["training"]["values"], strict=True):
                figures[f"{update}_top3"] = _percent(values[data["values"].index("top-3")])
        found |= {f"{name}_{key}".replace("-", ""): figure for key, figure in figures.items()}
    if data["gold"]:
        for control, groups in data["gold"]["points"][-1].items():
            key = f"gold_{control}".replace(" ", "_")
            found |= {f"{key}_mass": _percent(groups["all"][1]), f"{key}_largest": _percent(groups["all"][2])}
        found["gold_words"] = f"{data['gold']['points'][-1]['attention']['all'][0]:,}"
        found["gold_seeds"] = str(len(data["gold"]["seeds"]))
    return found


def _weight_figures(model: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return each value by state, of equal weights, and of the lowest and the highest head."""
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        for state, seeds in model["all"].items():
            found[f"{state}_{name}"] = _formatted(name, float(np.mean([each[place] for each in seeds])))
        found[f"uniform_{name}"] = _formatted(name, model["uniform"][place])
        heads = np.array(model["heads"]["trained"])[..., place]
        found[f"heads_{name}_low"] = _formatted(name, heads.min())
        found[f"heads_{name}_high"] = _formatted(name, heads.max())
    return found


def _search_figures(model: Mapping[str, Any]) -> dict[str, str]:
    """Return BLEU of each search, its change, and the range of the change over seeds or its interval."""
    found: dict[str, str] = {}
    for name, values in model["searches"].items():
        changes = np.subtract(values, model["searches"]["beam-1"])
        found |= {name: f"{np.mean(values):.1f}", f"{name}_change": _change(changes.mean())}
        found |= {f"{name}_least": _change(changes.min()), f"{name}_most": _change(changes.max())}
    for name, (_, low, high) in model.get("changes", {}).items():
        found |= {f"{name}_low": _change(low), f"{name}_high": _change(high)}
    return found


def _formatted(value: str, number: float) -> str:
    return f"{number:.1f}" if value == "effective" else _percent(number)


def _change(difference: float) -> str:
    """Format a difference of BLEU with a minus sign; one that rounds to 0 has no sign."""
    text = f"{abs(difference):.1f}"
    return text if text == "0.0" else f"{'−' if difference < 0 else '+'}{text}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _page(data: dict[str, Any], source: Mapping[str, str], language: str) -> str:
    texts = page_texts(language)
    other = "zh" if language == "en" else "en"
    styles = [*map(read_asset, _STYLES), (FOLDER / "page.css").read_text(encoding="utf-8")]
    parts = inlined(styles, (FOLDER / "page.js").read_text(encoding="utf-8"))
    values = answer_values(data)
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("page.html").render(
        language=_LANGUAGES[language],
        other={"file": FILES[other], "language": _LANGUAGES[other], "name": texts["other_language"]},
        **parts,
        data=json_for_script(data | {"texts": texts["script"] | {key: texts[key] for key in _SHARED}}),
        t=texts,
        sentence=texts["sentence"].format(**values),
        answer=[line.format(**values) for line in texts["answer"]],
        models=list(data["models"]),
        top=data["top"],
        sections=[name for name in _SECTIONS if name != "gold" or data["gold"]],
        gold_points=len(data["gold"]["updates"]) if data["gold"] else 1,
        tables=page_tables(data, texts),
        source=texts["source"].format(**source),
    )
    return page + "\n"


_SHARED = ("models", "statistics", "states", "classes", "gold", "links", "searches")


def read_result(path: Path) -> dict[str, Any]:
    """Read the committed result of `measure`."""
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result
