"""Attention weights for claim C15: points of training, word classes, interventions, gold links, the Firefox student.

`measure` measures trained models of the pool of claims (`--models`, folders of `python -m claims run`) and the imported
student (`--firefox`, a bundle), and writes the result. A model that `--work` has a result of is not measured again.
`page` draws `claims/attention.html` and `claims/attention.zh.html` from the result and the records of the pool, and
writes the result as Markdown.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path
from typing import Any

import torch

from benchmarks.attention_weights.measure import (
    FIREFOX,
    compact_json,
    kept,
    measure_firefox,
    measured_models,
    shortened,
)
from benchmarks.attention_weights.page import draw_pages, read_result
from benchmarks.attention_weights.result_page import result_page
from benchmarks.reporting import RESULTS, parser
from dragoman import __version__
from dragoman.environment import machine_info

RESULT = RESULTS / "attention-weights.json"
CLAIMS = Path(__file__).parents[2] / "claims"


def measure(options: argparse.Namespace) -> None:
    """Measure all models and write the result."""
    options.work.mkdir(parents=True, exist_ok=True)
    models: list[dict[str, Any]] = list(measured_models(options.models, options.work, options.data, options.sentences))
    if options.firefox is not None:
        tests = options.data / "other-systems"
        found = kept(
            options.work / f"{FIREFOX}.json", lambda: measure_firefox(options.firefox, tests, options.sentences)
        )
        models.append({"variant": "firefox", "corpus": FIREFOX, "seed": 1} | found)
    facts = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "version": __version__,
        "machine": machine_info().signature,
        "models": sorted(map(shortened, models), key=lambda each: (each["corpus"], each["variant"], each["seed"])),
    }
    RESULT.write_text(compact_json(facts), encoding="utf-8")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["measure", "page"])
    options.add_argument("--models", type=Path, nargs="*", default=[], help="folders of trained models of the pool")
    options.add_argument("--firefox", type=Path, help="bundle of the imported English-Portuguese student")
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--work", type=Path, default=Path("attention-runs"), help="where results of models are kept")
    options.add_argument("--sentences", type=int, default=300, help="of each test set")
    options.add_argument("--output", type=Path, default=CLAIMS, help="folder of the pages")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    if chosen.what == "measure":
        measure(chosen)
    else:
        for name, text in draw_pages(read_result(RESULT), CLAIMS / "records").items():
            (chosen.output / name).write_text(text, encoding="utf-8")
        page = result_page(read_result(RESULT), __doc__ or "")
        RESULT.with_suffix(".md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
