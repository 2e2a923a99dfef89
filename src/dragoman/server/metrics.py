"""What Prometheus reads. No label carries an address, a key, a text, or a path as it was asked for."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import generate_latest

from dragoman import __version__
from dragoman.server.meter import BatchFacts

__all__ = ["Metrics", "UNKNOWN_ROUTE"]

UNKNOWN_ROUTE = "(unknown)"
"""The label of every path that is no route."""

_FORMAT = "text/plain; version=0.0.4; charset=utf-8"  # the one that every Prometheus reads
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_WAITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_STATES = ("ready", "loading", "unloaded", "failed")


disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double what is read each time


class Metrics:
    """Counters of one server, in a registry of their own; it is the `Meter` of the service too."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        Info("dragoman_build", "The version that runs.", registry=registry).info({"version": __version__})
        self._requests = Counter(
            "dragoman_requests_total", "Answered.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "dragoman_request_seconds", "From head to answer.", ("route",), buckets=_SECONDS, registry=registry
        )
        self._in_flight = Gauge("dragoman_requests_in_flight", "Under way.", registry=registry)
        self._received = Counter("dragoman_received_bytes_total", "Bodies of requests.", registry=registry)
        self._sent = Counter("dragoman_sent_bytes_total", "Bodies of answers.", registry=registry)
        self._house = Gauge("dragoman_house_requests", "Requests that hold a place.", registry=registry)
        self._house_pieces = Gauge("dragoman_house_pieces", "Source pieces that hold a place.", registry=registry)
        self._depth = Gauge("dragoman_queue_depth", "Sentences that wait for a batch.", registry=registry)
        self._waits = Histogram(
            "dragoman_queue_wait_seconds",
            "How long sentences waited for their batch.",
            buckets=_WAITS,
            registry=registry,
        )
        self._sizes = Histogram("dragoman_batch_size", "Sentences of a batch.", buckets=_SIZES, registry=registry)
        self._batch_seconds = Histogram(
            "dragoman_batch_seconds", "How long a batch took.", ("model",), buckets=_SECONDS, registry=registry
        )
        self._tokens = Counter("dragoman_tokens_total", "Pieces translated.", ("model", "side"), registry=registry)
        self._shed = Counter("dragoman_shed_total", "Refused requests.", ("reason",), registry=registry)
        self._flags = Counter("dragoman_quality_flags_total", "Flags of translations.", ("flag",), registry=registry)
        self._cancelled = Counter("dragoman_cancelled_sentences_total", "Nobody waited.", registry=registry)
        self._models = Gauge("dragoman_models", "Models by how they stand.", ("state",), registry=registry)
        self._model_bytes = Gauge("dragoman_model_bytes", "Memory of a loaded model.", ("model",), registry=registry)
        self._reloads = Counter("dragoman_reloads_total", "New bundles.", ("model", "outcome"), registry=registry)
        self._states: dict[str, str] = {}

    def exposition(self) -> tuple[bytes, str]:
        """All of it as Prometheus reads it, and the type of that."""
        return generate_latest(self.registry), _FORMAT

    def begun(self) -> None:
        """A request is under way."""
        self._in_flight.inc()

    def ended(self, route: str, method: str, status: int, seconds: float, received: int, sent: int) -> None:
        """A request has its answer. `route` is a template; what the method is called is a stranger's word."""
        self._in_flight.dec()
        self._requests.labels(route, method if method in _METHODS else "OTHER", str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self._received.inc(received)
        self._sent.inc(sent)

    def house(self, requests: int, pieces: int) -> None:
        """See `Meter`."""
        self._house.set(requests)
        self._house_pieces.set(pieces)

    def queue(self, sentences: int) -> None:
        """See `Meter`."""
        self._depth.set(sentences)

    def batch(self, facts: BatchFacts) -> None:
        """See `Meter`."""
        self._sizes.observe(facts.sentences)
        self._batch_seconds.labels(facts.model).observe(facts.seconds)
        self._tokens.labels(facts.model, "source").inc(facts.pieces_in)
        self._tokens.labels(facts.model, "target").inc(facts.pieces_out)
        for wait in facts.waits:
            self._waits.observe(wait)

    def flagged(self, flag: str) -> None:
        """See `Meter`."""
        self._flags.labels(flag).inc()

    def shed(self, reason: str) -> None:
        """See `Meter`."""
        self._shed.labels(reason).inc()

    def cancelled(self, sentences: int) -> None:
        """See `Meter`."""
        self._cancelled.inc(sentences)

    def model(self, name: str, state: str, size: int) -> None:
        """See `Meter`."""
        self._states[name] = state
        for one in _STATES:
            self._models.labels(one).set(sum(state == one for state in self._states.values()))
        self._model_bytes.labels(name).set(size if state == "ready" else 0)

    def reloaded(self, name: str, is_good: bool) -> None:
        """See `Meter`."""
        self._reloads.labels(name, "taken" if is_good else "refused").inc()
