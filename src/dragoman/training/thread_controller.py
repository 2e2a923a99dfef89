"""Choose the number of CPU threads by measured speed.

The threads of one operation wait for each other. With busy processes on the machine, the system interrupts one of them
at a time, and all others wait for it, so that two threads can be much slower than one. The controller therefore
compares numbers of threads at the start, when the speed changes, and regularly. A comparison computes gradients that
are discarded: it does not change the weights. Only a changed number of threads does, through the order of sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from dragoman.config.training import TrainingConfig
from dragoman.training.distributed.process_group import ProcessGroup

_FIRST = 2.0  # seconds of training before the first comparison: short runs need none
_WINDOW = 3.0  # seconds over which the speed is averaged
_DROP = 0.75  # compare again below this part of the earlier speed, or above its inverse
_SHARE = 0.02  # of the time may be spent on regular comparisons
_SHARE_CHANGED = 0.05  # of the time may be spent on comparisons because the speed has changed
_LONGEST = 100.0  # seconds between comparisons
_GAIN = 1.1  # change the number of threads only for this gain
_COMPARISON = 0.6  # seconds of one comparison, at least three measurements per number
_CLEAR = 4.0  # one measurement is enough where numbers differ by this factor


def thread_choices(most: int) -> list[int]:
    """Return the numbers of threads to compare: `most`, and its halves down to 1."""
    return [most, *(thread_choices(most // 2) if most > 1 else [])]


def build_thread_controller(config: TrainingConfig, group: ProcessGroup) -> ThreadController:
    """Return a controller up to torch's threads; it compares only on a CPU, in one process, if none is fixed."""
    threads = torch.get_num_threads()
    is_fixed = config.threads > 0 or config.reproducible or config.compile
    is_single = group.size == 1 and group.device.type == "cpu"
    return ThreadController(threads, thread_choices(threads) if is_single and not is_fixed else [threads])


class ThreadController:
    """Decide when to compare the numbers of threads in `choices`, and which to use (`threads`)."""

    def __init__(
        self,
        threads: int,
        choices: Sequence[int],
        *,
        clock: Callable[[], float] = time.perf_counter,
        set_threads: Callable[[int], None] = torch.set_num_threads,
    ) -> None:
        self.threads = threads
        self._choices = list(dict.fromkeys([threads, *choices]))
        self._clock, self._set = clock, set_threads
        self._last: float | None = None  # time of the last comparison; before it, start of the first update
        self._cost = 0.0  # seconds of the last comparison
        self._usual = 0.0  # tokens per second since then; 0 before the first full window
        self._window: tuple[int, float] = (0, 0.0)  # tokens and seconds
        self._has_changed = False

    @property
    def is_due(self) -> bool:
        """Whether numbers of threads should be compared now."""
        if len(self._choices) == 1 or self._last is None:
            return False
        share = _SHARE_CHANGED if self._has_changed else _SHARE
        return self._clock() - self._last >= min(max(_FIRST, self._cost / share), _LONGEST)

    def record(self, tokens: int, seconds: float) -> None:
        """Record an update, to notice a change of the speed."""
        if self._last is None:
            self._last = self._clock() - seconds
        self._window = (self._window[0] + tokens, self._window[1] + seconds)
        if self._window[1] < _WINDOW:
            return
        speed = self._window[0] / self._window[1]
        self._window = (0, 0.0)
        if not self._usual:
            self._usual = speed
        elif not _DROP <= speed / self._usual <= 1 / _DROP:
            self._has_changed = True

    def resume(self, threads: int | None) -> None:
        """Continue with the number of threads of a checkpoint, if it is a choice."""
        if threads in self._choices:
            self.threads = threads
            self._set(threads)

    def compare(self, compute: Callable[[], None]) -> float:
        """Call `compute` with each number of threads in rotation, continue with the fastest, and return its speedup."""
        start = self._clock()
        self._round(compute)  # not counted: each shape and number of threads has kernels to be compiled
        rounds = [self._round(compute)]
        first = rounds[0].values()
        is_clear = max(first) > _CLEAR * min(first) and sum(first) > _COMPARISON
        while not is_clear and (len(rounds) < 3 or self._clock() - start < _COMPARISON):
            rounds.append(self._round(compute))
        seconds = {number: sum(each[number] for each in rounds) for number in self._choices}
        fastest = min(self._choices, key=seconds.__getitem__)
        gain = seconds[self.threads] / max(seconds[fastest], 1e-9)
        if gain >= _GAIN:
            self.threads = fastest
        self._set(self.threads)
        self._last = self._clock()
        self._cost = self._last - start
        self._usual, self._window, self._has_changed = 0.0, (0, 0.0), False
        return gain if gain >= _GAIN else 1.0

    def _round(self, compute: Callable[[], None]) -> dict[int, float]:
        """Return the seconds of `compute` with each number of threads."""
        seconds = {}
        for number in self._choices:
            self._set(number)
            before = self._clock()
            compute()
            seconds[number] = self._clock() - before
        return seconds


@contextmanager
def single_thread(*, deterministic: bool = False) -> Iterator[None]:
    """Use one thread, so that the order of sums is fixed; with `deterministic`, that of a GPU's kernels too."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    if deterministic:
        torch.use_deterministic_algorithms(torch.cuda.is_available())
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if deterministic:
            torch.use_deterministic_algorithms(False)
