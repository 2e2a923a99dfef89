"""Weights that several graphs share."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.engines.onnx import session
from dragoman.engines.onnx.session import MappedWeights


def test_graphs_that_open_at_the_same_time_share_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A session does not own its tables: one that the other graph replaced would be freed, and read after it."""

    class SlowValue:
        @staticmethod
        def ortvalue_from_numpy(array: Any) -> object:
            time.sleep(0.05)  # so that both graphs look for the table before it is there
            return SimpleNamespace(array=array)

    monkeypatch.setattr(session, "import_onnxruntime", lambda: SimpleNamespace(OrtValue=SlowValue))
    file = tmp_path / "weights"
    file.write_bytes(np.arange(6, dtype=np.float32).tobytes())
    weights, given = MappedWeights(file), []
    options = SimpleNamespace(
        add_initializer=lambda name, value: given.append(value),
        add_external_initializers_from_files_in_memory=lambda *_: None,
    )
    graph = b"table.float32.0.2.3."
    opening = [
        threading.Thread(target=weights.provide, args=(options, graph), kwargs={"has_tables": True}) for _ in range(4)
    ]
    for each in opening:
        each.start()
    for each in opening:
        each.join()
    assert len(given) == 4
    assert {id(each) for each in given} == {id(each) for each in weights._tables.values()}
