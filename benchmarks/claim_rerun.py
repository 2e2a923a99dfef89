"""A claim trained a second time, compared with the records of the ledger: verdict, effect, translations.

`dragoman claims run CLAIM --fresh` on a clean checkout trains the models; this command compares their records with
those of the ledger. Training losses and translations are the same or not; nothing is rounded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write
from dragoman.claims.claim import Claim, Ledger
from dragoman.claims.pool.pool_model import variant_models
from dragoman.claims.record import MAIN_SEARCH, ModelRecord, RecordStore
from dragoman.claims.report import LedgerReport


def model_figures(first: ModelRecord, second: ModelRecord) -> dict[str, Any]:
    """Compare two records of one model: the first of the ledger, the second trained again."""
    texts = list(zip(first.facts["hypotheses"], second.facts["hypotheses"], strict=True))
    return {
        "bleu": [each.facts["searches"][MAIN_SEARCH]["scores"]["bleu"]["value"] for each in (first, second)],
        "same_losses": first.facts["training"]["curves"] == second.facts["training"]["curves"],
        "same_translations": sum(one == other for one, other in texts),
        "translations": len(texts),
        "machines": [each.facts["machine"] for each in (first, second)],
        "commits": [each.facts["code"]["commit"] for each in (first, second)],
    }


def rerun_figures(ledger: Ledger, claim: Claim, stores: tuple[RecordStore, RecordStore]) -> dict[str, Any]:
    """Return the verdicts and effects of both stores, and the comparison of each model."""
    verdicts = []
    for store in stores:
        result = LedgerReport.compute(ledger, store, [claim]).results[claim.id]
        effects = [
            {"name": each.effect.comparison.name, "effect": each.effect.value, "interval": each.interval}
            for each in result.comparisons
        ]
        verdicts.append({"verdict": result.verdict, "seeds": result.seeds, "effects": effects})
    models = {
        f"{name}, seed {model.seed}": model_figures(*(store.read(model) for store in stores))
        for name, variant in claim.variants.items()
        for model in variant_models(ledger, claim, variant)
    }
    return {"claim": claim.id, "verdicts": verdicts, "models": models}


def page(claim: Claim, figures: dict[str, Any]) -> str:
    """Return the tables of a comparison."""
    rows = []
    for name, found in zip(("ledger", "trained again"), figures["verdicts"], strict=True):
        for each in found["effects"]:
            low, high = each["interval"]
            effect = f"{each['effect']:.2f} ({low:.2f} to {high:.2f})"
            rows.append([name, each["name"], effect, str(found["seeds"]), str(found["verdict"])])
    models = [
        [
            name,
            *(f"{value:.2f}" for value in each["bleu"]),
            "yes" if each["same_losses"] else "no",
            f"{each['same_translations']:,} of {each['translations']:,}",
        ]
        for name, each in figures["models"].items()
    ]
    machines = [sorted({each["machines"][place] for each in figures["models"].values()}) for place in (0, 1)]
    return "\n".join(
        [
            f"{claim.id}: {claim.title}.\n",
            table(["records", "comparison", "effect and 95 % interval", "seeds", "verdict"], rows),
            table(["model", "BLEU, ledger", "BLEU, again", "same losses", "same translations"], models),
            f"Machines of the ledger: {'; '.join(machines[0])}.\n",
            f"Machines of the second training: {'; '.join(machines[1])}.",
        ]
    )


def main() -> None:
    """Compare and write the page."""
    arguments = parser(__doc__)
    arguments.add_argument("claim")
    arguments.add_argument("--fresh", type=Path, required=True, help="folder of the second training: WORK/fresh")
    arguments.add_argument("--ledger", type=Path, default=Path("claims"))
    options = arguments.parse_args()
    ledger = Ledger.read(options.ledger)
    claim = ledger.claim(options.claim)
    stores = RecordStore(options.ledger / "records"), RecordStore(options.fresh / "records")
    figures = rerun_figures(ledger, claim, stores)
    command = f"python -m benchmarks.claim_rerun {claim.id} --fresh WORK/fresh"
    text = heading("A claim trained a second time", command, options.threads)
    write("claim-rerun", f"{text}\n{page(claim, figures)}\n", figures)


if __name__ == "__main__":
    main()
