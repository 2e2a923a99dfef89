"""Prometheus metrics of the service."""

from __future__ import annotations

from dragoman.server.metrics import BatchRecord, ServerMetrics


def text_of(metrics: ServerMetrics) -> list[str]:
    return metrics.exposition()[0].decode().splitlines()


def test_measurements_of_the_service():
    metrics = ServerMetrics()
    metrics.set_admitted(3, 40)
    metrics.set_queued(7)
    metrics.record_batch(BatchRecord("en-de", 2, 10, 12, 0.02, (0.003, 0.004)))
    metrics.count_flag("repetition")
    metrics.count_rejected("overload")
    metrics.count_cancelled(2)
    metrics.count_reload("en-de", is_good=False)
    lines = text_of(metrics)
    for line in (
        "dragoman_admitted_requests 3.0",
        "dragoman_admitted_tokens 40.0",
        "dragoman_queue_depth 7.0",
        "dragoman_batch_size_sum 2.0",
        "dragoman_queue_wait_seconds_count 2.0",
        'dragoman_tokens_total{model="en-de",side="source"} 10.0',
        'dragoman_tokens_total{model="en-de",side="target"} 12.0',
        'dragoman_quality_flags_total{flag="repetition"} 1.0',
        'dragoman_rejected_total{reason="overload"} 1.0',
        "dragoman_cancelled_sentences_total 2.0",
        'dragoman_reloads_total{model="en-de",outcome="refused"} 1.0',
    ):
        assert line in lines


def test_models_are_counted_by_state():
    metrics = ServerMetrics()
    metrics.set_model("a", "loading", 0)
    metrics.set_model("a", "ready", 1000)
    metrics.set_model("b", "unloaded", 500)
    lines = text_of(metrics)
    assert 'dragoman_models{state="ready"} 1.0' in lines
    assert 'dragoman_models{state="loading"} 0.0' in lines
    assert 'dragoman_models{state="unloaded"} 1.0' in lines
    assert 'dragoman_model_bytes{model="a"} 1000.0' in lines
    assert 'dragoman_model_bytes{model="b"} 0.0' in lines


def test_unknown_methods_have_one_label():
    metrics = ServerMetrics()
    for method in ("GET", "BREW", "WHEN"):
        metrics.request_started()
        metrics.request_ended("/x", method, 200, 0.01, 1, 2)
    lines = text_of(metrics)
    assert 'dragoman_requests_total{method="OTHER",route="/x",status="200"} 2.0' in lines
    assert "dragoman_requests_in_flight 0.0" in lines


def test_two_servers_count_apart():
    one, other = ServerMetrics(), ServerMetrics()
    one.count_rejected("rate")
    assert 'dragoman_rejected_total{reason="rate"} 1.0' not in text_of(other)
