"""Load training batches in the planned order, which does not depend on the number of processes or loader workers."""

import atexit
import signal
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from ctypes import c_bool
from dataclasses import asdict, dataclass, replace
from itertools import islice
from multiprocessing.context import ForkServerContext
from multiprocessing.sharedctypes import RawValue
from typing import Any, Self
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from dragoman.config import Config
from dragoman.config.schema import aligns_input
from dragoman.data.augmentation import Augmentation
from dragoman.data.batch import Batch
from dragoman.data.batch_plan import BatchPlan, PlannedBatch, Rows, StreamPosition
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.shards import DirectedShards, Shards
from dragoman.data.token_pairs import SIDES, Pairs, Sentences
from dragoman.data.worker_processes import StartedProcesses, end_with_parent, without_main_module
from dragoman.errors import ConfigError, DataError
from dragoman.text import Tokenizer

_PREFETCHED = 4  # batches per worker


@dataclass(frozen=True)
class SubwordSampling:
    """Sample a new segmentation each time a pair is drawn: subword regularization.

    A draw depends only on the seed, the epoch, the slot and the side. If it has more than `max_tokens`, more than
    `growth` times the stored tokens, or the stored tokens contain ``<unk>``, the stored tokens are used. Batches are
    planned by the stored tokens, so a batch can have up to `growth` times its token budget.
    """

    source: Tokenizer
    target: Tokenizer
    seed: int
    temperature: float
    max_tokens: int
    growth: float = 1.5

    def __post_init__(self) -> None:
        for tokenizer in (self.source, self.target):
            if not tokenizer.can_sample:
                raise ConfigError(
                    f"subword_temperature must be 0 for a tokenizer with one segmentation only, got {self.temperature} "
                    f"and {tokenizer.kind!r}; set it to 0 or train a sentencepiece unigram model"
                )

    def draw(self, pairs: Pairs, planned: PlannedBatch) -> Pairs:
        """Return the pairs with sampled segmentations."""
        sides = enumerate(((self.source, pairs.source), (self.target, pairs.target)))
        source, target = (self._draw_side(*side, (planned.epoch, planned.slots.tolist(), n)) for n, side in sides)
        return Pairs(source, target)

    def _draw_side(self, tokenizer: Tokenizer, best: Sentences, key: tuple[int, list[int], int]) -> Sentences:
        epoch, slots, side = key
        ids: list[int] = []
        lengths: list[int] = []
        for slot, known in zip(slots, best.split(), strict=True):
            drawn = self._draw_one(tokenizer, known.tolist(), (self.seed, epoch, slot, side))
            ids += drawn
            lengths.append(len(drawn))
        return Sentences(np.array(ids, dtype=best.ids.dtype), np.array(lengths))

    def _draw_one(self, tokenizer: Tokenizer, best: list[int], seed: tuple[int, ...]) -> list[int]:
        if tokenizer.unk_id in best:
            return best
        drawn = tokenizer.sample(tokenizer.decode(best), seed=seed, temperature=self.temperature)
        return drawn if len(drawn) <= min(self.max_tokens, self.growth * len(best)) else best


@dataclass(frozen=True)
class PairLinks:
    """Links between the tokens of all pairs; with `aligns_input` by the step that has the target token as input."""

    shards: Shards | DirectedShards
    aligns_input: bool = False

    def read(self, rows: Rows, is_kept: NDArray[np.bool_], pairs: Pairs, drawn: Pairs) -> Pairs:
        """Return the links of the kept pairs; `drawn` are the pairs with tokens in front that shift positions."""
        known = self.shards.gather(rows)
        sides = []
        for name in SIDES:
            side: Sentences = getattr(known, name)
            more = getattr(drawn, name).lengths - getattr(pairs, name).lengths
            moved = side.ids + np.repeat(more + (name == "target" and self.aligns_input), side.lengths)
            sides.append(Sentences(moved[np.repeat(is_kept, side.lengths)], side.lengths * is_kept))
        return Pairs(*sides)


class _Fetch(Dataset[Pairs]):
    """Read the pairs of a planned batch in a worker, change some (they lose their links), sample segmentations."""

    def __init__(
        self,
        shards: Shards | DirectedShards,
        augmentation: Augmentation | None,
        subword: SubwordSampling | None,
        links: PairLinks | None = None,
    ) -> None:
        self.shards = shards
        self.augmentation = augmentation
        self.subword = subword
        self.links = links

    def __getitem__(self, planned: PlannedBatch) -> Pairs:
        pairs = self.shards.gather(planned.rows)
        if self.augmentation is not None:
            pairs = self.augmentation.draw(pairs, planned.epoch, planned.slots, planned.rows)
        if self.subword is not None:
            pairs = self.subword.draw(pairs, planned)
        drawn = self.shards.with_language_tokens(pairs, planned.rows)
        if self.links is None:
            return drawn
        is_kept = np.ones(len(pairs), dtype=bool)
        if self.augmentation is not None:
            is_kept = self.augmentation.kinds(planned.epoch, planned.slots) < 0
        return replace(drawn, links=self.links.read(planned.rows, is_kept, pairs, drawn))


class BatchLoader:
    """Infinite iterator over the batches of one rank, from a position on.

    Of every `world` consecutive batches, rank r takes the one whose number is r modulo `world`. After each batch,
    `state` is the same on all ranks, and any number of ranks and workers can resume it. Close the loader, or use it in
    a ``with`` block, to end its workers; a loader that is not closed ends them when the process ends.
    """

    def __init__(
        self,
        shards: Shards | DirectedShards,
        plan: BatchPlan,
        *,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        start: StreamPosition | None = None,
        subword: SubwordSampling | None = None,
        links: PairLinks | None = None,
    ) -> None:
        if not 0 <= rank < world:
            raise ConfigError(f"rank must be from 0 to {world - 1}, got {rank}; count ranks from 0")
        if workers < 0:
            raise ConfigError(f"workers must be 0 or more, got {workers}; 0 loads in the process that trains")
        self.plan = plan
        self.position = start or StreamPosition()
        self._rank, self._world, self._workers = rank, world, workers
        self._fetch = _Fetch(shards, plan.augmentation, subword, links)
        self._stream: Generator[Batch, None, None] | None = None

    @classmethod
    def from_prepared(
        cls,
        prepared: PreparedData,
        config: Config,
        *,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        start: StreamPosition | None = None,
    ) -> Self:
        """Make the loader of the training batches of prepared data for a configuration."""
        plan, subword = prepared.plan(config), None
        if config.data is not None and config.data.sampling.subword_temperature > 0:
            tokenizers = prepared.tokenizers()
            subword = SubwordSampling(
                tokenizers["source"],
                tokenizers["target"],
                seed=config.training.seed,
                temperature=config.data.sampling.subword_temperature,
                max_tokens=config.data.max_tokens,
            )
        shards, links = prepared.directed(config), None
        if config.training.guided_alignment is not None:
            links = PairLinks(prepared.links(config), aligns_input(config.model))
        return cls(shards, plan, rank=rank, world=world, workers=workers, start=start, subword=subword, links=links)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch:
        if self._stream is None:
            self._stream = self._batches()
        return next(self._stream)

    def state(self) -> dict[str, int]:
        """Return the position after the last batch as a few integers."""
        return {**asdict(self.position), "plan": self.plan.fingerprint}

    def resume(self, state: Mapping[str, int]) -> None:
        """Continue from the state of a loader with the same plan."""
        if (known := set(self.state())) != set(state):
            raise DataError(f"a loader's state must have {sorted(known)}, got {sorted(state)}; restore the whole state")
        if state["plan"] != self.plan.fingerprint:
            raise DataError(
                f"the prepared data must be those of the run, plan {state['plan']}, got {self.plan.fingerprint}; "
                "resume with the data, seed, batch_tokens and sampling of the run, or begin a new one in another folder"
            )
        self.close()
        self.position = StreamPosition(**{name: value for name, value in state.items() if name != "plan"})

    def close(self) -> None:
        """End the workers and discard prefetched batches; the next batch starts new workers."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _batches(self) -> Generator[Batch, None, None]:
        due: deque[tuple[PlannedBatch, StreamPosition]] = deque()

        def planned() -> Iterator[PlannedBatch]:
            for turn in self._turns():
                due.append(turn)
                yield turn[0]

        for pairs in self._fetched(planned()):
            batch, after = due.popleft()
            self.position = after
            yield Batch.from_flat(pairs, self.plan.draw_ids(batch.epoch, batch.slots))

    def _turns(self) -> Iterator[tuple[PlannedBatch, StreamPosition]]:
        """Yield this rank's batch of every `world` consecutive ones, and the position after all of them."""
        plan = self.plan.batches(self.position)
        while True:
            turn = list(islice(plan, self._world))
            yield turn[(self._rank - turn[0].number) % self._world], turn[-1].position_after

    def _fetched(self, planned: Iterator[PlannedBatch]) -> Iterator[Pairs]:
        if not self._workers:
            return map(self._fetch.__getitem__, planned)
        return self._fetched_by_workers(planned)

    def _fetched_by_workers(self, planned: Iterator[PlannedBatch]) -> Iterator[Pairs]:
        context = _WorkerContext()
        context.set_forkserver_preload([__name__])  # workers are forked from a process that has imported torch
        loader = DataLoader(
            self._fetch,
            batch_size=None,
            sampler=planned,
            num_workers=self._workers,
            collate_fn=_identity,
            multiprocessing_context=context,
            prefetch_factor=_PREFETCHED,
            generator=torch.Generator(),  # a separate one, so that the global generator does not advance
            worker_init_fn=_begin_worker,
        )
        _contexts.add(context)
        try:
            with without_main_module():
                batches = iter(loader)
            yield from batches
        finally:
            context.kill_processes()  # before torch waits for them, which it does for 5 s each


class _WorkerContext(StartedProcesses, ForkServerContext):  # type: ignore[misc] # a method instead of a class
    """Processes and queues of the workers of one loader."""

    def Queue(self, maxsize: int = 0) -> Any:  # noqa: N802 -- named by multiprocessing
        """Create a queue that does not delay the end of this process until a worker has read the rest."""
        queue = super().Queue(maxsize)
        queue.cancel_join_thread()
        return queue

    def Event(self) -> "_Flag":  # type: ignore[override] # noqa: N802 -- named by multiprocessing
        """Create a flag without a lock: a worker killed while it held an event's lock would block torch forever."""
        return _Flag()


class _Flag:
    """A shared value that is set once; a worker receives it when it is started."""

    def __init__(self) -> None:
        self._value = RawValue(c_bool, False)

    def set(self) -> None:
        """Set the flag in all processes."""
        self._value.value = True

    def is_set(self) -> bool:
        """Return whether it was set."""
        return bool(self._value.value)


_contexts: WeakSet[_WorkerContext] = WeakSet()


def _kill_all_workers() -> None:
    """End the workers of loaders that were not closed: multiprocessing would wait for them forever."""
    for context in list(_contexts):
        context.kill_processes()


# Exit functions run in reverse order: this one before that of multiprocessing, which torch has imported.
atexit.register(_kill_all_workers)


def _begin_worker(_: int) -> None:
    """Ignore stop signals in a worker, which the training process ends; watch it, as the fork server keeps workers."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    end_with_parent()


def _identity(pairs: Any) -> Any:
    """Send flat 16-bit arrays through the pipe: a tenth of the bytes of padded tensors."""
    return pairs
