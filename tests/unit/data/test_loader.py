"""The loader: batches of one rank, its state, and subword sampling. That any road gives the same batches is tested in
tests/equivalence.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.config.corpus import AugmentConfig
from dragoman.data.augmentation import Augmentation
from dragoman.data.batch_plan import BatchPlan, CorpusRows, PlannedBatch, StreamPosition
from dragoman.data.loader import BatchLoader, PairLinks, SubwordSampling, _WorkerContext
from dragoman.data.shards import DirectedShards, DirectionView, Shards, ShardWriter
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.errors import ConfigError, DataError
from dragoman.text import EOS_ID, SentencePieceTokenizer, train_characters, train_sentencepiece

TEXTS = [f"the {colour} {animal} sees {count} houses" for colour in ("red", "green", "yellow")
         for animal in ("dog", "elephant", "cat") for count in ("two", "seven", "hundreds of")]  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> SentencePieceTokenizer:
    return train_sentencepiece(TEXTS * 4, size=300, byte_fallback=False)


@pytest.fixture(scope="module")
def shards(tmp_path_factory, tokenizer: SentencePieceTokenizer) -> Shards:
    path = tmp_path_factory.mktemp("prepared") / "train-0.arrow"
    sides = []
    for texts in (TEXTS, TEXTS[::-1]):
        ids = [tokenizer.encode(text) for text in texts]
        sides.append(Sentences(np.array(list(chain.from_iterable(ids))), np.array(list(map(len, ids)))))
    with ShardWriter(path, (300, 300)) as writer:
        writer.append(Pairs(*sides))
    return Shards([path])


@pytest.fixture
def plan(shards: Shards) -> BatchPlan:
    return BatchPlan([CorpusRows("all", 0, len(shards))], shards.lengths, seed=1, batch_tokens=90)


def test_batches_are_what_the_plan_says(shards: Shards, plan: BatchPlan, tokenizer: SentencePieceTokenizer):
    for planned, batch in zip(islice(plan.batches(), 30), BatchLoader(shards, plan), strict=False):
        assert batch.rows.tolist() == (planned.epoch * len(TEXTS) + planned.slots).tolist()
        sources = [tokenizer.decode(row) for row in batch.source.tolist()]
        assert sources == [TEXTS[row] for row in planned.rows]
        assert [tokenizer.decode(row) for row in batch.labels.tolist()] == [TEXTS[-1 - row] for row in planned.rows]
        assert (batch.source == EOS_ID).sum() == len(planned.rows)
        assert batch.source.numel() <= 90
        assert batch.labels.numel() <= 90


def test_the_state_is_the_same_on_all_ranks(shards: Shards, plan: BatchPlan):
    ranks = [BatchLoader(shards, plan, rank=rank, world=3, start=StreamPosition()) for rank in range(3)]
    for step in range(1, 20):
        for rank in ranks:
            next(rank)
        states = [rank.state() for rank in ranks]
        assert states[0] == states[1] == states[2]
        assert states[0]["number"] == 3 * step
        assert all(type(value) is int for value in states[0].values())


def test_a_rank_takes_its_numbers_wherever_it_starts(shards: Shards, plan: BatchPlan):
    whole = [batch.rows.tolist() for batch in islice(BatchLoader(shards, plan), 30)]
    loader = BatchLoader(shards, plan)
    for _ in range(5):
        next(loader)
    for rank in range(4):
        resumed = BatchLoader(shards, plan, rank=rank, world=4)
        resumed.resume(loader.state())
        first = min(number for number in range(5, 9) if number % 4 == rank)
        assert [batch.rows.tolist() for batch in islice(resumed, 3)] == whole[first : first + 12 : 4]


def test_a_state_of_another_plan_is_refused(shards: Shards, plan: BatchPlan):
    other = BatchPlan([CorpusRows("all", 0, len(shards))], shards.lengths, seed=2, batch_tokens=90)
    state = BatchLoader(shards, other).state()
    with pytest.raises(DataError, match=r"the prepared data must be those of the run, plan \d+, got \d+; resume"):
        BatchLoader(shards, plan).resume(state)
    del state["plan"]
    with pytest.raises(DataError, match=r"a loader's state must have \['batch', 'epoch', 'number', 'plan', 'window'\]"):
        BatchLoader(shards, plan).resume(state)


def test_the_ambient_generator_is_left_alone(shards: Shards, plan: BatchPlan):
    before = torch.get_rng_state()
    next(BatchLoader(shards, plan))
    assert torch.equal(torch.get_rng_state(), before)


def sampling(tokenizer: SentencePieceTokenizer, temperature: float = 5.0, most: int = 256) -> SubwordSampling:
    return SubwordSampling(tokenizer, tokenizer, seed=3, temperature=temperature, max_tokens=most)


def test_subwords_are_drawn_anew_in_every_epoch(shards: Shards, plan: BatchPlan, tokenizer: SentencePieceTokenizer):
    seen: dict[str, set[str]] = {}
    loader = BatchLoader(shards, plan, subword=sampling(tokenizer))
    for planned, batch in zip(islice(plan.batches(), 100), loader, strict=False):
        for row, ids in zip(planned.rows.tolist(), batch.source.tolist(), strict=True):
            assert tokenizer.decode(ids) == TEXTS[row]
            seen.setdefault(TEXTS[row], set()).add(" ".join(map(str, ids)).rstrip(" 0"))
    assert np.mean([len(ways) for ways in seen.values()]) > 3


def test_subwords_depend_on_the_draw_and_not_on_its_company(shards: Shards, tokenizer: SentencePieceTokenizer):
    def drawn(batch_tokens: int) -> dict[int, list[int]]:
        plan = BatchPlan([CorpusRows("all", 0, len(shards))], shards.lengths, seed=1, batch_tokens=batch_tokens)
        found: dict[int, list[int]] = {}
        for batch in BatchLoader(shards, plan, subword=sampling(tokenizer)):
            for name, ids, length in zip(batch.rows, batch.labels, batch.target_lengths, strict=True):
                if name < 2 * len(TEXTS):
                    found[int(name)] = ids[:length].tolist()
            if len(found) == 2 * len(TEXTS):
                return found
        raise AssertionError

    assert drawn(90) == drawn(200)


def test_a_drawn_segmentation_is_never_cut(shards: Shards, plan: BatchPlan, tokenizer: SentencePieceTokenizer):
    longest = int(shards.lengths(np.arange(len(shards))).max())
    for batch in islice(BatchLoader(shards, plan, subword=sampling(tokenizer, 50.0, most=longest)), 20):
        assert max(batch.source.size(1), batch.labels.size(1)) <= longest + 1
        assert {tokenizer.decode(ids) for ids in batch.source.tolist()} <= set(TEXTS)


def test_a_batch_of_drawn_tokens_is_within_the_budget_times_the_growth(shards, plan, tokenizer):
    drawn = list(islice(BatchLoader(shards, plan, subword=sampling(tokenizer, 50.0)), 40))
    cells = [max(batch.source.numel(), batch.labels.numel()) for batch in drawn]
    assert 90 < max(cells) <= 1.5 * 90


def test_what_does_not_give_its_text_back_is_left_as_it_is(tokenizer: SentencePieceTokenizer):
    ids = [5, tokenizer.unk_id, 6]
    sentences = Sentences(np.array(ids), np.array([3]))
    planned = PlannedBatch(0, 0, np.array([0]), np.array([0]), StreamPosition())
    pairs = sampling(tokenizer).draw(Pairs(sentences, sentences), planned)
    assert pairs.source.ids.tolist() == pairs.target.ids.tolist() == ids


def test_settings_that_cannot_be(shards: Shards, plan: BatchPlan):
    with pytest.raises(ConfigError, match="rank must be from 0 to 1, got 2"):
        BatchLoader(shards, plan, rank=2, world=2)
    with pytest.raises(ConfigError, match="workers must be 0 or more, got -1"):
        BatchLoader(shards, plan, workers=-1)
    characters = train_characters(TEXTS)
    with pytest.raises(ConfigError, match="subword_temperature must be 0 for a tokenizer with one segmentation only"):
        SubwordSampling(characters, characters, seed=1, temperature=1.0, max_tokens=10)


FORGETFUL = """ # without `if __name__ == "__main__":`, which no script needs
import multiprocessing, os, signal, sys
from pathlib import Path
from dragoman.data.batch_plan import BatchPlan, CorpusRows
from dragoman.data.loader import BatchLoader
from dragoman.data.shards import Shards

shards = Shards([Path(sys.argv[1])])
plan = BatchPlan([CorpusRows("all", 0, len(shards))], shards.lengths, seed=1, batch_tokens=90)
loader = BatchLoader(shards, plan, workers=2)
next(loader)
print("begun", flush=True)
sys.stdin.readline()
if sys.argv[2] == "exception":
    raise RuntimeError("the loader is still open")
if sys.argv[2] == "busy":
    for process in multiprocessing.active_children():
        os.kill(process.pid, signal.SIGSTOP)
"""


@pytest.mark.slow  # each process imports torch
@pytest.mark.parametrize(
    "ending", ["normal", pytest.param("exception", marks=pytest.mark.long), "busy", "SIGTERM", "SIGKILL"]
)
def test_a_loader_that_is_not_closed_leaves_no_process(shards: Shards, tmp_path: Path, root: Path, ending: str):
    (tmp_path / "forgetful.py").write_text(FORGETFUL, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "forgetful.py"), str(shards.paths[0]), ending]
    mark = f"DRAGOMAN_TEST_MARK={tmp_path}"
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(root))))
    environment = os.environ | {"PYTHONPATH": path, "DRAGOMAN_TEST_MARK": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"begun\n"
            assert len(processes_with(mark)) >= 4  # itself, the fork server, two workers
            began = time.monotonic()
            if ending.startswith("SIG"):
                process.send_signal(signal.Signals[ending])
            else:
                process.stdin.write(b"end\n")
                process.stdin.flush()
            process.wait(timeout=2 + 4 * load())
            while (left := processes_with(mark)) and time.monotonic() < began + 10 + 4 * load():
                time.sleep(0.05)
        finally:
            for number in processes_with(mark):
                os.kill(number, signal.SIGKILL)
    assert left == []


def load() -> float:
    """How many processes compete for each core."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def processes_with(mark: str) -> list[int]:
    """Processes, other than zombies, whose environment has this setting: those of a test."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # ended, or of another user
            continue
    return found


@pytest.fixture
def links(tmp_path, shards: Shards) -> Shards:
    """A link of the first tokens of both sides, and one of the last tokens."""
    lengths = shards.lengths(np.arange(len(TEXTS)))
    sides = [Sentences(np.stack([0 * side, side - 1], 1).ravel(), np.full(len(TEXTS), 2)) for side in lengths.T]
    with ShardWriter(tmp_path / "links.arrow", (300, 300)) as writer:
        writer.append(Pairs(*sides))
    return Shards([tmp_path / "links.arrow"])


def test_a_killed_worker_does_not_block_the_end():
    ended = _WorkerContext().Event()
    with suppress(AttributeError):  # a worker killed while it read an event leaves its lock taken
        ended._cond.acquire()  # type: ignore[attr-defined]
    setting = threading.Thread(target=ended.set, daemon=True)
    setting.start()
    setting.join(timeout=5)
    assert not setting.is_alive()
    assert ended.is_set()


@pytest.mark.parametrize("aligns_input", [False, True])
def test_links_belong_to_steps(shards: Shards, links: Shards, plan: BatchPlan, *, aligns_input: bool):
    batch = next(BatchLoader(shards, plan, links=PairLinks(links, aligns_input)))
    assert batch.links is not None
    lengths = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    wanted = [
        link
        for row, (src, tgt) in enumerate(lengths)
        for link in ([row, aligns_input, 0], [row, tgt - 2 + aligns_input, src - 2])
    ]
    assert batch.links.tolist() == wanted


def test_a_changed_pair_has_no_links(shards: Shards, links: Shards, tokenizer: SentencePieceTokenizer):
    ends, most = [len(shards)], 80
    shares = AugmentConfig(upper=0, title=0, lower=0, typos=0, punctuation=0, joined=0.5, words=0, copies=0)
    changes = Augmentation(tokenizer, tokenizer, shares, ("en", "en"), shards.lengths, shards.gather, ends, 1, most)
    corpora = [CorpusRows("all", 0, len(shards))]
    plan = BatchPlan(corpora, shards.lengths, seed=1, batch_tokens=200, augmentation=changes)
    for planned, batch in zip(
        islice(plan.batches(), 6), BatchLoader(shards, plan, links=PairLinks(links)), strict=False
    ):
        kept = np.flatnonzero(changes.kinds(planned.epoch, planned.slots) < 0)
        assert batch.links is not None
        assert batch.links[:, 0].tolist() == np.repeat(kept, 2).tolist()


def test_language_tokens_move_links(shards: Shards, links: Shards, plan: BatchPlan):
    views = [DirectionView(0, len(shards), is_swapped=True, source_prefix=(5,), target_prefix=(6, 7))]
    directed, of_views = (DirectedShards(each, views) for each in (shards, links))
    wide = BatchPlan(plan.corpora, directed.lengths, seed=1, batch_tokens=90)
    batch = next(BatchLoader(directed, wide, links=PairLinks(of_views)))
    assert batch.links is not None
    assert batch.links[::2].tolist() == [[row, 2, 1] for row in range(len(batch.rows))]
    lasts = [
        [row, int(batch.target_lengths[row]) - 2, int(batch.source_lengths[row]) - 2] for row in batch.links[1::2, 0]
    ]
    assert batch.links[1::2, 1:].tolist() == [each[1:] for each in lasts]
