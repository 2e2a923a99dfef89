"""A claim trained a second time, compared with the records of the ledger: verdict, effects, losses, translations.

`python -m claims run CLAIM --fresh` on a clean checkout trains the models, one thread each; this command compares their
records with those of the ledger. Losses are compared as recorded, with four decimals; translations exactly.
"""

from __future__ import annotations

import argparse
import datetime as dt
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.reporting import table, write
from claims.ledger.claim import Claim, Ledger
from claims.ledger.record import MAIN_SEARCH, ModelRecord, RecordStore
from claims.pool.pool_model import pool_models, variant_models
from claims.report.ledger_report import LedgerReport
from dragoman.errors import DataError, DragomanError

Curve = list[tuple[int, float]]


def same_losses(first: ModelRecord, second: ModelRecord) -> bool:
    """Whether two trainings have the same losses, of training and of validation.

    A training that is stopped and resumed has a point of its own at that update, and the next point is a mean of fewer
    updates: a point of the training loss is compared if both trainings have the same point before it.
    """
    curves = [each.facts["training"]["curves"] for each in (first, second)]
    one, other = (_points(each["train"]) for each in curves)
    shared = one.keys() & other.keys()
    return (
        bool(shared)
        and all(one[span] == other[span] for span in shared)
        and curves[0]["validation"] == curves[1]["validation"]
    )


def _points(curve: Curve) -> dict[tuple[int, int], float]:
    """Return the points of a curve by the updates that each is the mean of: after the first, up to the second."""
    return {(before[0], after[0]): after[1] for before, after in pairwise([(0, 0.0), *curve])}


def model_figures(first: ModelRecord, second: ModelRecord) -> dict[str, Any]:
    """Compare two records of one model: the first of the ledger, the second trained again."""
    texts = list(zip(first.facts["hypotheses"], second.facts["hypotheses"], strict=True))
    return {
        "bleu": [each.facts["searches"][MAIN_SEARCH]["scores"]["bleu"]["value"] for each in (first, second)],
        "same_losses": same_losses(first, second),
        "same_translations": sum(one == other for one, other in texts),
        "translations": len(texts),
        "machines": [each.facts["machine"] for each in (first, second)],
        "commits": [each.facts["code"]["commit"] for each in (first, second)],
    }


def rerun_figures(ledger: Ledger, claim: Claim, stores: tuple[RecordStore, RecordStore]) -> dict[str, Any]:
    """Return the verdicts and effects of both stores, and the comparison of each model."""
    if any(variant.probe for variant in claim.variants.values()):
        raise DataError(f"{claim.id} must be a claim about models, not about a probe; choose another claim")
    models = pool_models(ledger, [claim])
    for store in stores:
        if (count := sum(map(store.has, models))) < len(models):
            raise DataError(
                f"{store.folder} must contain the records of all models of {claim.id}, got {count} of {len(models)}; "
                f"run `python -m claims run {claim.id}`, with --fresh for a second training"
            )
    verdicts = []
    for store in stores:
        result = LedgerReport.compute(ledger, store, [claim]).results[claim.id]
        effects = [
            {
                "name": each.effect.comparison.name,
                "effect": each.effect.value,
                "interval": each.interval,
                "level": 1 - each.alpha,
                "verdict": each.verdict,
            }
            for each in result.comparisons
        ]
        verdicts.append({"verdict": result.verdict, "seeds": result.seeds, "effects": effects})
    compared = {
        f"{name}, seed {model.seed}": model_figures(*(store.read(model) for store in stores))
        for name, variant in claim.variants.items()
        for model in variant_models(ledger, claim, variant)
    }
    return {"claim": claim.id, "verdicts": verdicts, "models": compared}


def page(claim: Claim, figures: dict[str, Any]) -> str:
    """Return the tables of a comparison."""
    names = ("ledger", "trained again")
    effects = [
        [
            name,
            each["name"],
            f"{each['effect']:.2f}",
            f"{each['interval'][0]:.2f} to {each['interval'][1]:.2f} ({100 * each['level']:.3g} %)",
            each["verdict"],
        ]
        for name, found in zip(names, figures["verdicts"], strict=True)
        for each in found["effects"]
    ]
    models = [
        [
            name,
            *(f"{value:.2f}" for value in each["bleu"]),
            "yes" if each["same_losses"] else "no",
            f"{each['same_translations']:,} of {each['translations']:,}",
        ]
        for name, each in figures["models"].items()
    ]
    first, second = (f"{found['verdict']} ({found['seeds']} seeds)" for found in figures["verdicts"])
    return "\n".join(
        [
            f"{claim.id}: {claim.title}. Verdict of the ledger: {first}; trained again: {second}.\n",
            table(["records", "comparison", "effect", "interval", "verdict"], effects),
            table(["model", "BLEU, ledger", "BLEU, again", "same losses", "same translations"], models),
            *(
                f"{name}: {'; '.join(_different(figures, 'machines', place))}. "
                f"Commits: {', '.join(commit[:7] for commit in _different(figures, 'commits', place))}.\n"
                for place, name in enumerate(("Ledger", "Trained again"))
            ),
        ]
    )


def _different(figures: dict[str, Any], name: str, place: int) -> list[str]:
    return sorted({each[name][place] for each in figures["models"].values()})


def main() -> None:
    """Compare and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("claim")
    arguments.add_argument("--fresh", type=Path, required=True, help="folder of the second training: WORK/fresh")
    arguments.add_argument("--ledger", type=Path, default=Path("claims"))
    options = arguments.parse_args()
    stores = RecordStore(options.ledger / "records"), RecordStore(options.fresh / "records")
    try:
        ledger = Ledger.read(options.ledger)
        claim = ledger.claim(options.claim)
        figures = rerun_figures(ledger, claim, stores)
    except DragomanError as error:
        arguments.error(str(error))
    today = dt.datetime.now(dt.UTC).date().isoformat()
    command = f"python -m benchmarks.claim_rerun {claim.id} --fresh WORK/fresh"
    text = f"# {claim.id} trained a second time\n\nCompared {today} with `{command}`.\n\n{__doc__}\n"
    write(f"claim-rerun-{claim.id.lower()}", f"{text}{page(claim, figures)}", figures)


if __name__ == "__main__":
    main()
