"""One run of a probe: an experiment that trains no model of the pool, repeated with several seeds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

PROBE_VERSION = 1
"""Increase it when a probe measures something else; its records are then ignored."""


@dataclass(frozen=True)
class ProbeRun:
    """A probe and its seed. Like a model of the pool it has a key, and leaves a record."""

    base: str
    seed: int

    @property
    def key(self) -> str:
        """Hash of the probe, its version and its seed."""
        return hashlib.sha256(f"{self.base} {PROBE_VERSION} {self.seed}".encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """Name of its record and of its folder."""
        return f"{self.base}-{self.key}"

    @property
    def label(self) -> str:
        """Description for users."""
        return f"{self.base}, seed {self.seed}"

    @property
    def changes(self) -> tuple[str, ...]:
        """Probes have no variants."""
        return ()

    @property
    def corpus_name(self) -> str:
        """Probes have no corpus."""
        return ""
