"""Interface for recording server metrics, and its Prometheus implementation.

No label contains an address, a key, a text, or a requested path.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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

from dragoman.version import __version__

UNKNOWN_ROUTE = "(unknown)"
"""Route label of every path without a route."""

_FORMAT = "text/plain; version=0.0.4; charset=utf-8"  # supported by every Prometheus
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_WAITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_STATES = ("ready", "loading", "unloaded", "failed")


disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the size of every scrape


@dataclass(frozen=True)
class BatchRecord:
    """A finished batch; `waits` are the seconds that its sentences were queued."""

    model: str
    sentences: int
    tokens_in: int
    tokens_out: int
    seconds: float
    waits: Sequence[float]


class MetricsSink:
    """Receiver of the service's measurements; this base class discards them.

    All calls are made on the thread of the event loop, and must be fast.
    """

    def set_admitted(self, requests: int, tokens: int) -> None:
        """Set the number of admitted requests, and of their source tokens that are queued or in a batch."""

    def set_queued(self, sentences: int) -> None:
        """Set the number of queued sentences."""

    def record_batch(self, batch: BatchRecord) -> None:
        """Record a finished batch."""

    def count_flag(self, flag: str) -> None:
        """Count a translation with this quality flag."""

    def count_rejected(self, reason: str) -> None:
        """Count a rejected request by `RequestError.reason`."""

    def count_cancelled(self, sentences: int) -> None:
        """Count sentences that were cancelled."""

    def set_model(self, name: str, state: str, size: int) -> None:
        """Set the state of a model and its memory in bytes."""

    def count_reload(self, name: str, is_good: bool) -> None:
        """Count a new bundle that was loaded, or rejected."""


class PrometheusMetrics(MetricsSink):
    """Metrics of one server, in a separate Prometheus registry."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        Info("dragoman_build", "Version of the server.", registry=registry).info({"version": __version__})
        self._requests = Counter(
            "dragoman_requests_total", "Completed requests.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "dragoman_request_seconds", "Duration of requests.", ("route",), buckets=_SECONDS, registry=registry
        )
        self._in_flight = Gauge("dragoman_requests_in_flight", "Running requests.", registry=registry)
        self._received = Counter("dragoman_received_bytes_total", "Bytes of request bodies.", registry=registry)
        self._sent = Counter("dragoman_sent_bytes_total", "Bytes of response bodies.", registry=registry)
        self._admitted = Gauge("dragoman_admitted_requests", "Admitted requests.", registry=registry)
        self._admitted_tokens = Gauge(
            "dragoman_admitted_tokens", "Source tokens of admitted requests.", registry=registry
        )
        self._queued = Gauge("dragoman_queue_depth", "Queued sentences.", registry=registry)
        self._waits = Histogram(
            "dragoman_queue_wait_seconds", "Time of sentences in the queue.", buckets=_WAITS, registry=registry
        )
        self._sizes = Histogram("dragoman_batch_size", "Sentences per batch.", buckets=_SIZES, registry=registry)
        self._batch_seconds = Histogram(
            "dragoman_batch_seconds", "Duration of batches.", ("model",), buckets=_SECONDS, registry=registry
        )
        self._tokens = Counter("dragoman_tokens_total", "Translated tokens.", ("model", "side"), registry=registry)
        self._rejected = Counter("dragoman_rejected_total", "Rejected requests.", ("reason",), registry=registry)
        self._flags = Counter(
            "dragoman_quality_flags_total", "Quality flags of translations.", ("flag",), registry=registry
        )
        self._cancelled = Counter("dragoman_cancelled_sentences_total", "Cancelled sentences.", registry=registry)
        self._models = Gauge("dragoman_models", "Models by state.", ("state",), registry=registry)
        self._model_bytes = Gauge("dragoman_model_bytes", "Memory of loaded models.", ("model",), registry=registry)
        self._reloads = Counter(
            "dragoman_reloads_total", "New bundles found on disk.", ("model", "outcome"), registry=registry
        )
        self._states: dict[str, str] = {}

    def exposition(self) -> tuple[bytes, str]:
        """Return all metrics in the Prometheus text format, and its content type."""
        return generate_latest(self.registry), _FORMAT

    def request_started(self) -> None:
        self._in_flight.inc()

    def request_ended(self, route: str, method: str, status: int, seconds: float, received: int, sent: int) -> None:
        """Record a completed request. `route` is a template; `method` is untrusted."""
        self._in_flight.dec()
        self._requests.labels(route, method if method in _METHODS else "OTHER", str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self._received.inc(received)
        self._sent.inc(sent)

    def set_admitted(self, requests: int, tokens: int) -> None:
        """See `MetricsSink`."""
        self._admitted.set(requests)
        self._admitted_tokens.set(tokens)

    def set_queued(self, sentences: int) -> None:
        """See `MetricsSink`."""
        self._queued.set(sentences)

    def record_batch(self, batch: BatchRecord) -> None:
        """See `MetricsSink`."""
        self._sizes.observe(batch.sentences)
        self._batch_seconds.labels(batch.model).observe(batch.seconds)
        self._tokens.labels(batch.model, "source").inc(batch.tokens_in)
        self._tokens.labels(batch.model, "target").inc(batch.tokens_out)
        for wait in batch.waits:
            self._waits.observe(wait)

    def count_flag(self, flag: str) -> None:
        """See `MetricsSink`."""
        self._flags.labels(flag).inc()

    def count_rejected(self, reason: str) -> None:
        """See `MetricsSink`."""
        self._rejected.labels(reason).inc()

    def count_cancelled(self, sentences: int) -> None:
        """See `MetricsSink`."""
        self._cancelled.inc(sentences)

    def set_model(self, name: str, state: str, size: int) -> None:
        """See `MetricsSink`."""
        self._states[name] = state
        for one in _STATES:
            self._models.labels(one).set(sum(state == one for state in self._states.values()))
        self._model_bytes.labels(name).set(size if state == "ready" else 0)

    def count_reload(self, name: str, is_good: bool) -> None:
        """See `MetricsSink`."""
        self._reloads.labels(name, "taken" if is_good else "refused").inc()
