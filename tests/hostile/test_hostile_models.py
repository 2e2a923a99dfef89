"""A sample of the hostile models of ``python -m benchmarks.hostile_models``, and planted faults that it finds."""

from pathlib import Path

import pytest

from tests.hostile.hostile_models.fork_server import FAULTS
from tests.hostile.hostile_models.trials import results

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux"),
]
pytest.importorskip("ctranslate2")

EVERY = 40
KINDS = {
    "unpickle": "in a state",
    "trust-sizes": "bytes 2147483648 of array 0",
    "extract-all": "path outside: ../../escaped",
    "raise-everything": "hostile JSON: nested lists",
}


def test_a_sample_is_refused_or_harmless():
    found = list(results(seed=2, mutations=12, part=(7, EVERY)))
    assert len(found) > 20
    assert {each["format"] for each in found} >= {
        "firefox",
        "hugging-face",
        "ctranslate2",
        "argos",
        "marian",
        "m2m100",
        "nllb",
    }
    assert [each for each in found if each["faults"]] == []
    assert sum(each["accepted"] for each in found) < len(found) / 2


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str):
    found = list(results(seed=2, mutations=0, fault=fault, match=KINDS[fault], limit=2))
    assert any(each["faults"] for each in found)
