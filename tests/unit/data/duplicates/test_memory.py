"""Memory does not grow with the corpus."""

import tracemalloc

import numpy as np
import pytest

from dragoman.data.duplicates import exact, links, near
from dragoman.data.duplicates.exact import mark_duplicates
from dragoman.data.duplicates.fates import Fate, Fates
from dragoman.data.duplicates.held_out import choose_held_out
from dragoman.data.duplicates.key_file import NARROW, WIDE, write_key_file
from dragoman.data.duplicates.leakage import LEAK_KEYS, HeldOut, mark_leaks
from dragoman.data.duplicates.near import mark_near_duplicates
from dragoman.data.duplicates.shingles import bands_for
from tests.unit.data.duplicates.stored import frame_of

HEIGHT = 4096


def random_keys(draw, dtype):
    records = np.zeros(HEIGHT, dtype=dtype)
    for name in set(dtype.names) - {"row"}:
        records[name] = draw.integers(0, 2**64, HEIGHT, dtype=np.uint64)
    records["row"] = np.arange(HEIGHT)
    return records


def key_files(folder, chunks, kinds, dtype=WIDE):
    draw = np.random.default_rng(1)
    paths = [folder / f"{number}.{dtype.itemsize}" for number in range(chunks)]
    for path in paths:
        write_key_file(path, {kind: random_keys(draw, dtype) for kind in kinds})
    return paths


def peak(run):
    run()  # what is made once and kept
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def exact_pass(paths, starts, fates):
    mark_duplicates(paths, starts, ["pair"], fates)


def leakage_pass(paths, starts, fates):
    mark_leaks(paths, starts, [HeldOut("test", [("t", frame_of([(str(at), str(at)) for at in range(100)]))])], fates)


def held_out_pass(paths, starts, fates):
    choose_held_out(paths, starts, 100, 1, fates)


@pytest.mark.parametrize("work", [exact_pass, leakage_pass, held_out_pass])
def test_four_times_the_pairs_take_no_more_memory(tmp_path, monkeypatch, work):
    monkeypatch.setattr(exact, "_ROWS_A_TASK", 4 * HEIGHT)
    paths = key_files(tmp_path, 48, [*LEAK_KEYS])
    peaks = []
    for chunks in (12, 48):
        starts = [number * HEIGHT for number in range(chunks)]
        fates = Fates.create(tmp_path / "fates", chunks * HEIGHT)
        peaks.append(peak(lambda s=starts, f=fates, n=chunks: work(paths[:n], s, f)))
    assert peaks[1] < 1.2 * peaks[0]


def test_a_pair_that_fills_the_corpus_takes_no_more_memory(tmp_path):
    records = np.zeros(HEIGHT, dtype=WIDE)
    records["row"] = np.arange(HEIGHT)
    write_key_file(tmp_path / "same", {"pair": records})
    peaks = []
    for chunks in (12, 48):
        starts = [number * HEIGHT for number in range(chunks)]

        def run(starts=starts):
            fates = Fates.create(tmp_path / "fates", len(starts) * HEIGHT)
            exact_pass([tmp_path / "same"] * len(starts), starts, fates)

        peaks.append(peak(run))
        assert Fates(tmp_path / "fates").counts()[Fate.KEPT] == 1
    assert peaks[1] < 1.2 * peaks[0]


def test_near_duplicates_take_no_more_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(exact, "_ROWS_A_TASK", 4 * HEIGHT)
    monkeypatch.setattr(links, "_BLOCK", HEIGHT)
    bands = key_files(tmp_path, 48, [f"band{number}" for number in range(bands_for(0.9).count)], NARROW)
    keys = key_files(tmp_path, 48, near.NEAR_KEYS)
    peaks = []
    for chunks in (12, 48):
        starts = [number * HEIGHT for number in range(chunks)]
        fates = Fates.create(tmp_path / "fates", chunks * HEIGHT)

        def run(starts=starts, fates=fates, n=chunks):
            mark_near_duplicates([tmp_path] * n, keys[:n], bands[:n], starts, fates, similarity=0.9)

        peaks.append(peak(run))
    assert peaks[1] < 1.2 * peaks[0]
