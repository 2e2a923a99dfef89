"""Models over which the spread of seeds is pooled: those of the same base and corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from claims.ledger.claim import Comparison, Term
from claims.ledger.measures import measure, term_counts
from claims.ledger.record import MissingStatisticsError, ModelRecord
from claims.ledger.seed_spread import Sample, Spread, pooled_spread


@dataclass
class Peers:
    """Records in groups that differ in the seed only."""

    groups: list[list[ModelRecord]]
    _scores: dict[tuple[str, str, str, tuple[int, ...]], float] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, records: Iterable[ModelRecord]) -> Peers:
        """Group the records of models; those of probes are left out."""
        groups: dict[tuple[str, str, str], list[ModelRecord]] = {}
        for record in records:
            facts = record.facts
            if "searches" in facts:
                groups.setdefault((facts["base"], facts["corpus"], " ".join(facts["changes"])), []).append(record)
        return cls([group for group in groups.values() if len(group) > 1])

    def spread(
        self, comparison: Comparison, variant: str, records: Sequence[ModelRecord], own: Sample
    ) -> Spread | None:
        """Return the spread of the sum of a variant's terms, pooled over similar ones; None without any."""
        facts, keys = records[0].facts, {record.facts["key"] for record in records}
        terms = [term for term in comparison.terms if term.variant == variant]
        samples = [own]
        for group in self.groups:
            other = group[0].facts
            is_peer = all(other[name] == facts.get(name) for name in ("base", "corpus"))
            if is_peer and keys.isdisjoint(record.facts["key"] for record in group):
                try:
                    samples.append(tuple(self._sum(comparison.measure, terms, record) for record in group))
                except MissingStatisticsError:
                    continue
        return pooled_spread(samples)

    def _sum(self, name: str, terms: Sequence[Term], record: ModelRecord) -> float:
        return sum(term.weight * self._score(name, term, record) for term in terms)

    def _score(self, name: str, term: Term, record: ModelRecord) -> float:
        key = (record.facts["key"], name, term.search, tuple(term.words))
        if key not in self._scores:
            found = measure(name)
            self._scores[key] = float(found.score(term_counts(found, term, record).sum(0)))
        return self._scores[key]
