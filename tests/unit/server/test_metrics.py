"""What Prometheus reads of the service."""

from __future__ import annotations

from dragoman.server.meter import BatchFacts, Meter
from dragoman.server.metrics import Metrics


def text_of(metrics: Metrics) -> list[str]:
    return metrics.exposition()[0].decode().splitlines()


def test_it_is_the_meter_of_the_service():
    metrics = Metrics()
    meter: Meter = metrics
    meter.house(3, 40)
    meter.queue(7)
    meter.batch(BatchFacts("en-de", 2, 10, 12, 0.02, (0.003, 0.004)))
    meter.flagged("repetition")
    meter.shed("overload")
    meter.cancelled(2)
    meter.reloaded("en-de", is_good=False)
    lines = text_of(metrics)
    for line in (
        "dragoman_house_requests 3.0",
        "dragoman_house_pieces 40.0",
        "dragoman_queue_depth 7.0",
        "dragoman_batch_size_sum 2.0",
        "dragoman_queue_wait_seconds_count 2.0",
        'dragoman_tokens_total{model="en-de",side="source"} 10.0',
        'dragoman_tokens_total{model="en-de",side="target"} 12.0',
        'dragoman_quality_flags_total{flag="repetition"} 1.0',
        'dragoman_shed_total{reason="overload"} 1.0',
        "dragoman_cancelled_sentences_total 2.0",
        'dragoman_reloads_total{model="en-de",outcome="refused"} 1.0',
    ):
        assert line in lines


def test_models_are_counted_by_how_they_stand():
    metrics = Metrics()
    metrics.model("a", "loading", 0)
    metrics.model("a", "ready", 1000)
    metrics.model("b", "unloaded", 500)
    lines = text_of(metrics)
    assert 'dragoman_models{state="ready"} 1.0' in lines
    assert 'dragoman_models{state="loading"} 0.0' in lines
    assert 'dragoman_models{state="unloaded"} 1.0' in lines
    assert 'dragoman_model_bytes{model="a"} 1000.0' in lines
    assert 'dragoman_model_bytes{model="b"} 0.0' in lines


def test_methods_of_strangers_are_one():
    metrics = Metrics()
    for method in ("GET", "BREW", "WHEN"):
        metrics.begun()
        metrics.ended("/x", method, 200, 0.01, 1, 2)
    lines = text_of(metrics)
    assert 'dragoman_requests_total{method="OTHER",route="/x",status="200"} 2.0' in lines
    assert "dragoman_requests_in_flight 0.0" in lines


def test_two_servers_count_apart():
    one, other = Metrics(), Metrics()
    one.shed("rate")
    assert 'dragoman_shed_total{reason="rate"} 1.0' not in text_of(other)
