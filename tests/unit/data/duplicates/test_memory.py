"""Memory does not grow with the corpus."""

import tracemalloc

import numpy as np
import pytest

from dragoman.data.duplicates import decisions as exact
from dragoman.data.duplicates import near_duplicates as near
from dragoman.data.duplicates.decisions import Decision, DecisionFile, choose_held_out, mark_duplicates
from dragoman.data.duplicates.leakage import LEAK_KEYS, HeldOutPairs, mark_leaks
from dragoman.data.duplicates.near_duplicates import mark_near_duplicates
from dragoman.data.duplicates.pair_keys import NARROW, WIDE, write_key_file
from dragoman.data.duplicates.stored_pairs import bands_for
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


def exact_pass(paths, starts, decisions):
    mark_duplicates(paths, starts, ["pair"], decisions)


def leakage_pass(paths, starts, decisions):
    mark_leaks(
        paths, starts, [HeldOutPairs("test", [("t", frame_of([(str(at), str(at)) for at in range(100)]))])], decisions
    )


def held_out_pass(paths, starts, decisions):
    choose_held_out(paths, starts, 100, 1, decisions)


@pytest.mark.parametrize("work", [exact_pass, leakage_pass, held_out_pass])
def test_four_times_the_pairs_take_no_more_memory(tmp_path, monkeypatch, work):
    monkeypatch.setattr(exact, "_ROWS_A_TASK", 4 * HEIGHT)
    paths = key_files(tmp_path, 48, [*LEAK_KEYS])
    peaks = []
    for chunks in (12, 48):
        starts = [number * HEIGHT for number in range(chunks)]
        decisions = DecisionFile.create(tmp_path / "decisions", chunks * HEIGHT)
        peaks.append(peak(lambda s=starts, f=decisions, n=chunks: work(paths[:n], s, f)))
    assert peaks[1] < 1.2 * peaks[0]


def test_a_pair_that_fills_the_corpus_takes_no_more_memory(tmp_path):
    records = np.zeros(HEIGHT, dtype=WIDE)
    records["row"] = np.arange(HEIGHT)
    write_key_file(tmp_path / "same", {"pair": records})
    peaks = []
    for chunks in (12, 48):
        starts = [number * HEIGHT for number in range(chunks)]

        def run(starts=starts):
            decisions = DecisionFile.create(tmp_path / "decisions", len(starts) * HEIGHT)
            exact_pass([tmp_path / "same"] * len(starts), starts, decisions)

        peaks.append(peak(run))
        assert DecisionFile(tmp_path / "decisions").counts()[Decision.KEPT] == 1
    assert peaks[1] < 1.2 * peaks[0]


def test_near_duplicates_take_no_more_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(exact, "_ROWS_A_TASK", 4 * HEIGHT)
    monkeypatch.setattr(near, "_BLOCK", HEIGHT)
    bands = key_files(tmp_path, 48, [f"band{number}" for number in range(bands_for(0.9).count)], NARROW)
    keys = key_files(tmp_path, 48, near.NEAR_KEYS)
    peaks = []
    for chunks in (12, 48):
        starts = [number * HEIGHT for number in range(chunks)]
        decisions = DecisionFile.create(tmp_path / "decisions", chunks * HEIGHT)

        def run(starts=starts, decisions=decisions, n=chunks):
            mark_near_duplicates([tmp_path] * n, keys[:n], bands[:n], starts, decisions, similarity=0.9)

        peaks.append(peak(run))
    assert peaks[1] < 1.2 * peaks[0]
