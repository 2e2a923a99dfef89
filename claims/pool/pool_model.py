"""A model of the pool: its configuration, corpus and seed, and the key under which its record is stored."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from claims.ledger.claim import Claim, CorpusFiles, Ledger, Variant
from claims.pool.probe_run import ProbeRun
from dragoman.config import Config

CODE_VERSION = 1
"""Increase it when a change of the code alters the weights that a given configuration, corpus and seed produce.

Records of an older version are then ignored, and their models are trained again.
"""


@dataclass(frozen=True)
class PoolModel:
    """One training: `base` and `changes` describe it to users, everything else determines its weights."""

    base: str
    changes: tuple[str, ...]
    config: Config
    corpus_name: str
    corpus: CorpusFiles
    seed: int

    @cached_property
    def key(self) -> str:
        """Hash of the configuration without its defaults, the corpus, the seed and the code version.

        A setting that is added later, and is left at its default, does not change the key.
        """
        described: dict[str, Any] = {"config": self.settings, "corpus": self.corpus.model_dump(exclude_defaults=True)}
        described |= {"seed": self.seed, "code": CODE_VERSION}
        text = json.dumps(described, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings that determine the weights."""
        settings = self.config.model_dump(exclude_defaults=True, exclude={"description", "data"})
        settings.get("training", {}).pop("seed", None)
        return settings

    @property
    def name(self) -> str:
        """Name of its record and of its folder."""
        return f"{self.base}-{self.key}"

    @property
    def label(self) -> str:
        """Description for users."""
        changed = f" {' '.join(self.changes)}" if self.changes else ""
        corpus = "" if self.corpus_name == "multi30k-en-de" else f" on {self.corpus_name}"
        return f"{self.base}{changed}{corpus}, seed {self.seed}"


PoolRun = PoolModel | ProbeRun
"""A run that writes a record: the training of a model, or a probe."""


def variant_models(ledger: Ledger, claim: Claim, variant: Variant) -> list[PoolRun]:
    """Return the models of a variant, or the runs of its probe, one per seed."""
    seeds = range(1, claim.seeds + 1)
    if variant.probe:
        return [ProbeRun(variant.probe, seed) for seed in seeds]
    corpus, changes = ledger.corpus(variant), tuple(variant.changes)
    return [
        PoolModel(variant.base, changes, ledger.config(variant, seed), variant.corpus, corpus, seed) for seed in seeds
    ]


def pool_models(ledger: Ledger, claims: Iterable[Claim]) -> list[PoolRun]:
    """Return all models of some claims, each once: claim by claim, and seed by seed within a claim."""
    models: dict[str, PoolRun] = {}
    for claim in claims:
        variants = [variant_models(ledger, claim, variant) for variant in claim.variants.values()]
        for of_seed in zip(*variants, strict=True):
            for model in of_seed:
                models.setdefault(model.key, model)
    return list(models.values())


def required_searches(ledger: Ledger, model: PoolModel) -> list[str]:
    """Return the searches that all claims of the ledger measure a model with, except the main one."""
    found: dict[str, None] = {}
    for claim in ledger.claims:
        for name, variant in claim.variants.items():
            described = (variant.base, set(variant.changes), variant.corpus)
            if described != (model.base, set(model.changes), model.corpus_name):
                continue
            terms = [term for each in claim.comparisons if each.measure == "bleu" for term in each.terms]
            found |= dict.fromkeys(term.search for term in terms if term.variant == name and term.search)
            found |= dict.fromkeys(claim.searches)
    return list(found)


def code_commit() -> str:
    """Return the commit of the code that runs, if it runs from a clone."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- fixed arguments
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
