"""Record server metrics for Prometheus.

No label contains an address, a key, a text, or a requested path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

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


class ServerMetrics:
    """Metrics of one server, in a registry of its own; calls are made on the event loop, and must be fast."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        Info("dragoman_build", "Version of the server.", registry=registry).info({"version": __version__})
        self._requests = counter("dragoman_requests_total", "Completed requests.", ("route", "method", "status"))
        self._seconds = histogram("dragoman_request_seconds", "Duration of requests.", ("route",), buckets=_SECONDS)
        self._in_flight = gauge("dragoman_requests_in_flight", "Running requests.")
        self._received = counter("dragoman_received_bytes_total", "Bytes of request bodies.")
        self._sent = counter("dragoman_sent_bytes_total", "Bytes of response bodies.")
        self._admitted = gauge("dragoman_admitted_requests", "Admitted requests.")
        self._admitted_tokens = gauge("dragoman_admitted_tokens", "Source tokens of admitted requests.")
        self._queued = gauge("dragoman_queue_depth", "Queued sentences.")
        self._waits = histogram("dragoman_queue_wait_seconds", "Time of sentences in the queue.", buckets=_WAITS)
        self._sizes = histogram("dragoman_batch_size", "Sentences per batch.", buckets=_SIZES)
        self._batch_seconds = histogram("dragoman_batch_seconds", "Duration of batches.", ("model",), buckets=_SECONDS)
        self._tokens = counter("dragoman_tokens_total", "Translated tokens.", ("model", "side"))
        self._cached = counter("dragoman_cache_texts_total", "Texts by result of the cache.", ("result",))
        self._rejected = counter("dragoman_rejected_total", "Rejected requests.", ("reason",))
        self._flags = counter("dragoman_quality_flags_total", "Quality flags of translations.", ("flag",))
        self._cancelled = counter("dragoman_cancelled_sentences_total", "Cancelled sentences.")
        self._models = gauge("dragoman_models", "Models by state.", ("state",))
        self._model_bytes = gauge("dragoman_model_bytes", "Memory of loaded models.", ("model",))
        self._reloads = counter("dragoman_reloads_total", "New bundles found on disk.", ("model", "outcome"))
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
        """Set the number of admitted requests, and of their source tokens that are queued or in a batch."""
        self._admitted.set(requests)
        self._admitted_tokens.set(tokens)

    def set_queued(self, sentences: int) -> None:
        """Set the number of queued sentences."""
        self._queued.set(sentences)

    def record_batch(self, batch: BatchRecord) -> None:
        """Record a finished batch."""
        self._sizes.observe(batch.sentences)
        self._batch_seconds.labels(batch.model).observe(batch.seconds)
        self._tokens.labels(batch.model, "source").inc(batch.tokens_in)
        self._tokens.labels(batch.model, "target").inc(batch.tokens_out)
        for wait in batch.waits:
            self._waits.observe(wait)

    def count_flag(self, flag: str) -> None:
        """Count a translation with this quality flag."""
        self._flags.labels(flag).inc()

    def count_cached(self, *, is_hit: bool) -> None:
        """Count a text that is looked up in the cache."""
        self._cached.labels("hit" if is_hit else "miss").inc()

    def count_rejected(self, reason: str) -> None:
        """Count a rejected request by `RequestError.reason`."""
        self._rejected.labels(reason).inc()

    def count_cancelled(self, sentences: int) -> None:
        """Count sentences that were cancelled."""
        self._cancelled.inc(sentences)

    def set_model(self, name: str, state: str, size: int) -> None:
        """Set the state of a model and its memory in bytes."""
        self._states[name] = state
        for one in _STATES:
            self._models.labels(one).set(sum(state == one for state in self._states.values()))
        self._model_bytes.labels(name).set(size if state == "ready" else 0)

    def count_reload(self, name: str, is_good: bool) -> None:
        """Count a new bundle that was loaded, or rejected."""
        self._reloads.labels(name, "taken" if is_good else "refused").inc()
