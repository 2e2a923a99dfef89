"""Single pairs of a corpus."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.duplicates.stored_pairs import fetch_rows
from tests.unit.data.duplicates.stored import cuts, store

PAIRS = [(f"s{at}", f"ü{at}" * 9) for at in range(20)]


@given(cuts, st.lists(st.integers(0, 19), max_size=30))
def test_in_the_order_asked_for(tmp_path_factory, cuts, positions):
    stored = store(tmp_path_factory.mktemp("rows"), PAIRS, cuts)
    found = fetch_rows(stored.chunk_files, stored.starts, np.array(positions, dtype=np.int64))
    assert found.rows() == [(*PAIRS[at], at + 1) for at in positions]
    assert found.schema == {"source": pl.String, "target": pl.String, "line": pl.UInt32}


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
@pytest.mark.parametrize("compatible", [True, False])
def test_any_arrow_file(tmp_path, compression, compatible):
    frame = pl.DataFrame({"source": ["a", "b"], "target": ["c", "d"], "line": pl.Series([5, 6], dtype=pl.UInt32)})
    level = pl.CompatLevel.oldest() if compatible else pl.CompatLevel.newest()
    frame.write_ipc(tmp_path / "0.arrow", compression=compression, compat_level=level)
    found = fetch_rows([tmp_path / "0.arrow"], [0], np.array([1]), ["target", "line"])
    assert found.rows() == [("d", 6)]
