"""The stream of batches is one and the same, however many ranks and workers make it and wherever it was interrupted.

What is compared is a SHA-256 over order and contents: every tensor of every batch, in the order of their numbers.
"""

import hashlib
import multiprocessing
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.batch import Batch
from dragoman.data.batch_plan import BatchPlan, CorpusRows
from dragoman.data.loader import BatchLoader, SubwordSampling
from dragoman.data.shards import Shards, ShardWriter
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.errors import DataError
from dragoman.text import SentencePieceTokenizer, train_sentencepiece

PAIRS = (700, 60)  # of two corpora, the second one drawn three times as often
WHOLE = 240  # batches that are compared: over three epochs
FURTHER = 10  # batches that are compared after a stop
TENSORS = ("source", "source_lengths", "inputs", "labels", "target_lengths", "rows")


@pytest.fixture(scope="module")
def tokenizer() -> SentencePieceTokenizer:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdeio", k=draw.randint(2, 9))) for _ in range(150)]
    return train_sentencepiece([" ".join(draw.choices(words, k=8)) for _ in range(400)], size=400)


@pytest.fixture(scope="module")
def shards(tmp_path_factory, tokenizer: SentencePieceTokenizer) -> Shards:
    draw = np.random.default_rng(2)
    folder: Path = tmp_path_factory.mktemp("prepared")
    tokens = [n for n in range(4, tokenizer.size) if not tokenizer.id_to_token(n).startswith("<")]
    paths = []
    for number, rows in enumerate(PAIRS):
        lengths = draw.integers(1, 25, (2, rows))
        sides = [Sentences(draw.choice(tokens, one.sum()), one) for one in lengths]
        paths.append(folder / f"{number}.arrow")
        with ShardWriter(paths[-1], (tokenizer.size, tokenizer.size)) as writer:
            writer.append(Pairs(*sides))
    return Shards(paths)


@pytest.fixture(scope="module")
def plan(shards: Shards) -> BatchPlan:
    corpora = [CorpusRows("large", 0, PAIRS[0]), CorpusRows("small", *PAIRS, weight=3.0)]
    return BatchPlan(corpora, shards.lengths, seed=5, batch_tokens=200, window=256, temperature=2.0)


class Road:
    """Loaders of all ranks, in step."""

    def __init__(
        self, shards: Shards, plan: BatchPlan, world: int, workers: int, subword: SubwordSampling | None = None
    ):
        settings = {"world": world, "workers": workers, "subword": subword}
        self.ranks = [BatchLoader(shards, plan, rank=rank, **settings) for rank in range(world)]  # type: ignore[arg-type]

    def take(self, steps: int) -> list[tuple[int, str]]:
        """The numbers and hashes of the batches of the next steps."""
        found = []
        for _ in range(steps):
            first = self.ranks[0].state()["number"]
            for rank, loader in enumerate(self.ranks):
                found.append((first + (rank - first) % len(self.ranks), digest(next(loader))))
        return sorted(found)

    def state(self) -> dict[str, int]:
        states = [loader.state() for loader in self.ranks]
        assert all(state == states[0] for state in states)
        return states[0]

    def resume(self, state: dict[str, int]) -> None:
        for loader in self.ranks:
            loader.resume(state)

    def close(self) -> None:
        for loader in self.ranks:
            loader.close()


def digest(batch: Batch) -> str:
    found = hashlib.sha256()
    for name in TENSORS:
        tensor = getattr(batch, name)
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype} ".encode() + tensor.numpy().tobytes())
    return found.hexdigest()


def hashed(batches: Iterable[tuple[int, str]]) -> str:
    return hashlib.sha256(repr(list(batches)).encode()).hexdigest()


@pytest.fixture(scope="module", params=[False, True], ids=["as prepared", "subwords drawn"])
def subword(request, tokenizer: SentencePieceTokenizer) -> SubwordSampling | None:
    return SubwordSampling(tokenizer, tokenizer, seed=1, temperature=3.0, max_tokens=40) if request.param else None


@pytest.fixture(scope="module")
def expected(shards: Shards, plan: BatchPlan, subword: SubwordSampling | None) -> list[tuple[int, str]]:
    batches = Road(shards, plan, 1, 0, subword).take(WHOLE)
    assert [number for number, _ in batches] == list(range(WHOLE))
    assert len({one for _, one in batches}) == WHOLE
    return batches


def taken(shards: Shards, plan: BatchPlan, world: int, workers: int, subword: SubwordSampling | None) -> str:
    road = Road(shards, plan, world, workers, subword)
    found = road.take(WHOLE // world)
    road.close()
    return hashed(found)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_ranks_divide_the_same_batches(shards: Shards, plan: BatchPlan, subword, expected, world: int):
    assert taken(shards, plan, world, 0, subword) == hashed(expected)


def test_a_worker_loads_the_same_batches(shards: Shards, plan: BatchPlan, subword, expected):
    assert taken(shards, plan, 1, 2, subword) == hashed(expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than cores, on purpose
@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_ranks_and_workers_divide_the_same_batches(shards: Shards, plan: BatchPlan, subword, expected, world, workers):
    assert taken(shards, plan, world, workers, subword) == hashed(expected)


def test_resuming_at_fifty_points_gives_the_same_batches(shards: Shards, plan: BatchPlan, subword, expected):
    resume_at_random(shards, plan, subword, expected, workers=0)


@pytest.mark.slow
def test_resuming_does_not_lose_what_workers_had_ready(shards: Shards, plan: BatchPlan, subword, expected):
    resume_at_random(shards, plan, subword, expected, workers=2)


def resume_at_random(shards: Shards, plan: BatchPlan, subword, expected: list[tuple[int, str]], workers: int) -> None:
    """Stop at 50 points: what was taken before and what a new loader takes after are one stream."""
    road = Road(shards, plan, 1, workers, subword)
    before: list[tuple[int, str]] = []
    for stop in sorted(random.Random(3).sample(range(1, WHOLE - FURTHER), 50)):
        before += road.take(stop - len(before))
        resumed = Road(shards, plan, 1, 0, subword)
        resumed.resume(road.state())
        assert hashed(before + resumed.take(FURTHER)) == hashed(expected[: stop + FURTHER]), stop
    road.close()


def relay(
    shards: Shards, plan: BatchPlan, subword: SubwordSampling | None, stops: int, workers: tuple[int, ...]
) -> str:
    """The whole stream by a chain of loaders with other numbers of ranks and workers, each from the state before."""
    draw = random.Random(4)
    found: list[tuple[int, str]] = []
    state: dict[str, int] | None = None
    for left in range(stops, -1, -1):
        room = WHOLE - len(found)
        world = draw.choice([w for w in (1, 2, 4) if room % w == 0]) if left else 1
        road = Road(shards, plan, world, draw.choice(workers), subword)
        if state is not None:
            road.resume(state)
        found += road.take(draw.randint(1, max(1, 2 * room // (left + 1) // world - 1)) if left else room)
        state = road.state()
        road.close()
    return hashed(sorted(found))


def test_ranks_may_change_at_every_stop(shards: Shards, plan: BatchPlan, subword, expected):
    assert relay(shards, plan, subword, stops=30, workers=(0,)) == hashed(expected)


@pytest.mark.slow
def test_ranks_and_workers_may_change_at_every_stop(shards: Shards, plan: BatchPlan, subword, expected):
    assert relay(shards, plan, subword, stops=8, workers=(0, 1, 2)) == hashed(expected)


def test_no_worker_outlives_its_loader(shards: Shards, plan: BatchPlan):
    before = set(multiprocessing.active_children())
    with BatchLoader(shards, plan, workers=1) as loader:
        next(loader)
        assert len(set(multiprocessing.active_children()) - before) == 1
    assert set(multiprocessing.active_children()) <= before


def test_an_error_in_a_worker_is_told(tmp_path: Path):
    path = tmp_path / "0.arrow"
    with ShardWriter(path, (9, 9)) as writer:
        writer.append(Pairs(*[Sentences(np.array([5, 6]), np.array([1, 1]))] * 2))
    shards = Shards([path])
    plan = BatchPlan([CorpusRows("all", 0, 2)], shards.lengths, seed=1, batch_tokens=10)
    path.unlink()
    with (
        BatchLoader(shards, plan, workers=1) as loader,
        pytest.raises(DataError, match=r"0\.arrow is (missing|no shard)"),
    ):
        next(loader)


def test_the_comparison_can_fail(shards: Shards, plan: BatchPlan, expected):
    other = BatchPlan(plan.corpora, shards.lengths, seed=6, batch_tokens=200, window=256, temperature=2.0)
    assert taken(shards, other, 1, 0, None) != hashed(expected)
    swapped = [*expected[:7], (7, expected[8][1]), (8, expected[7][1]), *expected[9:]]
    assert hashed(swapped) != hashed(expected)
