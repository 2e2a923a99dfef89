"""Order and composition of batches."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.search import hypothesis as searched
from dragoman.server.scheduling.sentence_queue import BatchJob, QueuedSentence, SentenceQueue, batch_key
from tests.unit.api.table_engine import table_translator


@dataclass(eq=False)
class Job(BatchJob):
    """A job without a reservation."""

    reservation: Any = None
    done: Any = None
    deadline: float = 0.0
    is_cancelled: bool = False


@pytest.fixture(scope="module")
def translator() -> Translator:
    return table_translator()[0]


def sentence(
    translator: Translator,
    length: int,
    priority: float = 0.0,
    *,
    job: Job | None = None,
    beam: int = 4,
    phrases: tuple[tuple[int, ...], ...] = (),
) -> QueuedSentence:
    ids = [5] * (length - 1)
    chunk = Chunk("x", ids=ids, search_input=searched.SearchInput(ids, phrases=phrases))
    options = TranslateOptions(search=SearchSettings(beam=beam))
    key, rows = batch_key(chunk, translator, options)
    return QueuedSentence(chunk, 0, translator, options, job or Job(), "m", key, rows, priority, priority)


def waiting(*sentences: QueuedSentence, tokens: int = 1000, most: int = 64) -> SentenceQueue:
    queue = SentenceQueue(tokens=tokens, sentences=most)
    for each in sentences:
        queue.add(each)
    return queue


def one_free(_: Translator) -> int:
    return 1


def test_what_waits_goes_together(translator: Translator):
    queue = waiting(*(sentence(translator, 10) for _ in range(9)))
    assert len(queue.take(one_free)) == 9
    assert queue.take(one_free) == []
    assert len(queue) == 0


def test_the_first_turn_comes_first_and_brings_its_like(translator: Translator):
    lengths = [10, 30, 11, 12, 31, 9]
    queue = waiting(*(sentence(translator, length, priority) for priority, length in enumerate(lengths)), tokens=48)
    assert [each.length for each in queue.take(one_free)] == [10, 11, 9, 12]
    assert [each.length for each in queue.take(one_free)] == [30]


def test_padding_counts(translator: Translator):
    queue = waiting(*(sentence(translator, 20) for _ in range(10)), tokens=70)
    assert len(queue.take(one_free)) == 3


def test_a_wide_beam_takes_fewer(translator: Translator):
    queue = waiting(*(sentence(translator, 20, beam=10) for _ in range(10)), tokens=200)
    assert len(queue.take(one_free)) == 5


def test_a_short_one_is_not_tied_to_a_long_one(translator: Translator):
    queue = waiting(sentence(translator, 5), sentence(translator, 100), sentence(translator, 6, 1))
    assert [each.length for each in queue.take(one_free)] == [5, 6]
    assert [each.length for each in queue.take(one_free)] == [100]


def test_unlike_searches_are_apart(translator: Translator):
    others = [sentence(translator, 9, 1, beam=2), sentence(translator, 9, 1, phrases=((7,),))]
    queue = waiting(sentence(translator, 9), *others)
    assert [len(queue.take(one_free)) for _ in range(3)] == [1, 1, 1]


def test_idle_workers_share(translator: Translator):
    queue = waiting(*(sentence(translator, 10) for _ in range(10)))
    assert len(queue.take(lambda _: 2)) == 5


def test_batches_of_an_engine_with_lanes_are_no_larger_than_they_gain_by():
    other, engine = table_translator()
    engine.concurrency = 2
    queue = waiting(*(sentence(other, 10) for _ in range(50)))
    assert [len(queue.take(one_free)) for _ in range(4)] == [16, 16, 16, 2]


def test_like_lengths_are_chosen_among_those_whose_turns_are_next(translator: Translator):
    lengths = [10, 14, 10, 14, 10, 14, 10, 14, 10, 10]
    queue = waiting(*(sentence(translator, length, priority) for priority, length in enumerate(lengths)), most=4)
    assert [int(each.priority) for each in queue.take(one_free)] == [0, 2, 4, 6]
    assert [int(each.priority) for each in queue.take(one_free)] == [1, 3, 5, 7]


def test_those_far_behind_do_not_come_first_for_their_length(translator: Translator):
    lengths = [10, *[14] * 7, *[10] * 9]
    queue = waiting(*(sentence(translator, length, priority) for priority, length in enumerate(lengths)), most=4)
    assert [int(each.priority) for each in queue.take(one_free)] == [0, 1, 2, 3]


def test_a_busy_translator_is_left_alone(translator: Translator):
    other, _ = table_translator()
    queue = waiting(sentence(translator, 10), sentence(other, 10, 1))
    (taken,) = queue.take(lambda each: int(each is other))
    assert taken.translator is other
    assert queue.take(lambda each: int(each is other)) == []
    assert len(queue) == 1


def test_what_is_cancelled_leaves(translator: Translator):
    jobs = [Job(), Job(), Job()]
    queue = waiting(*(sentence(translator, 10, job=job) for job in jobs))
    jobs[1].is_cancelled = True
    assert [each.job for each in queue.remove_cancelled()] == [jobs[1]]
    assert len(queue.take(one_free)) == 2


@given(st.lists(st.tuples(st.integers(2, 60), st.integers(0, 100)), min_size=1, max_size=60), st.integers(1, 300))
def test_all_are_taken_once_within_the_limits(found: list[tuple[int, int]], tokens: int):
    translator = TRANSLATOR
    queue = waiting(*(sentence(translator, length, priority) for length, priority in found), tokens=tokens, most=7)
    taken: list[QueuedSentence] = []
    while len(queue):
        first = min(each.priority for alike in queue._groups.values() for each in alike)
        batch = queue.take(one_free)
        assert batch[0].priority == first, "nobody is passed over for ever"
        assert len(batch) <= 7
        assert len(batch) == 1 or max(each.length for each in batch) * len(batch) <= tokens
        taken += batch
    assert sorted((each.length, int(each.priority)) for each in taken) == sorted(found)


TRANSLATOR = table_translator()[0]
