"""Results in the order of the tasks, from any number of processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.data.worker_processes import Workers, run_in_child, step_progress
from dragoman.errors import DataError, DragomanError


def squared(number: int) -> tuple[int, int]:
    time.sleep(0.02 * (number % 3))  # so that later tasks would be done earlier
    return number * number, os.getpid()


def refuse(number: int) -> int:
    if number == 3:
        raise DataError("three must be left out")
    return number


def die(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def tasks(most: int, taken: list[int]) -> Iterator[int]:
    for number in range(most):
        taken.append(number)
        yield number


@pytest.mark.parametrize("processes", [1, 2])
def test_results_are_in_order(processes: int):
    with Workers(processes) as workers:
        for _ in range(2):
            found = [result for result, _ in workers.run(squared, range(12))]
            assert found == [number * number for number in range(12)]


def test_tasks_are_taken_as_they_are_worked_off():
    taken: list[int] = []
    with Workers(2) as workers:
        results = workers.run(squared, tasks(1000, taken))
        next(results)
        assert len(taken) < 10


def test_one_task_or_one_process_is_done_here():
    with Workers(2) as several:
        assert {process for _, process in several.run(squared, [4])} == {os.getpid()}
    assert {process for _, process in Workers(1).run(squared, range(5))} == {os.getpid()}
    assert list(Workers(2).run(squared, [])) == []


def test_the_processes_stay():
    with Workers(2) as workers:
        first = {process for _, process in workers.run(squared, range(8))}
        second = {process for _, process in workers.run(squared, range(8))}
    assert os.getpid() not in first
    assert first == second


def test_shares_are_told():
    shares: list[float] = []
    assert len(list(Workers().run_all(squared, range(4), step_progress(shares.append, 1, 2)))) == 4
    assert shares == [0.625, 0.75, 0.875, 1.0]
    assert step_progress(None, 1, 2) is None


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_arrives_as_it_is(processes: int):
    with Workers(processes) as workers, pytest.raises(DataError, match="three must be left out"):
        list(workers.run(refuse, range(6)))


def failing(most: int) -> Iterator[int]:
    yield from range(most)
    raise DataError("the rest cannot be read")


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("most", [0, 1, 5])
def test_a_supply_that_fails_is_told_after_what_came_before(processes: int, most: int):
    found: list[int] = []
    with Workers(processes) as workers, pytest.raises(DataError, match="the rest cannot be read"):
        found.extend(result for result, _ in workers.run(squared, failing(most)))
    assert len(found) == most


def test_a_killed_process_is_explained():
    with (
        Workers(2) as workers,
        pytest.raises(DragomanError, match=r"one of 2 worker processes was killed.*--processes 1"),
    ):
        list(workers.run(die, range(6)))
    with pytest.raises(DragomanError, match="killed"):
        run_in_child(die, 3)


ORPHANS = """
import sys, time
from dragoman.data.worker_processes import Workers
from tests.unit.data.test_worker_processes import squared
if __name__ == "__main__":
    workers = Workers(2)
    print(*{process for _, process in workers.run(squared, range(8))}, flush=True)
    time.sleep(60)
"""


def test_workers_end_when_their_parent_is_killed(root: Path, tmp_path: Path):
    (tmp_path / "orphans.py").write_text(ORPHANS, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, tmp_path / "orphans.py"], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        parent.kill()
    assert workers
    deadline = time.monotonic() + 60
    while any(is_alive(worker) for worker in workers):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)


def is_alive(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


UNGUARDED = """
print("the script runs", flush=True)
from dragoman.data.worker_processes import Workers, run_in_child
from tests.unit.data.test_worker_processes import squared
print(run_in_child(squared, 7)[0])
with Workers(2) as workers:
    print(*(result for result, _ in workers.run(squared, range(4))))
print(__name__)
"""


def test_a_script_without_a_guard_runs_once(root: Path, tmp_path: Path):
    (tmp_path / "script.py").write_text(UNGUARDED, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(root / "src"), str(root)))}
    command = [sys.executable, str(tmp_path / "script.py")]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.stdout.splitlines() == ["the script runs", "49", "0 1 4 9", "__main__"], run.stderr


def test_a_child_gives_its_result():
    result, process = run_in_child(squared, 7)
    assert result == 49
    assert process != os.getpid()


COUNTING = """
import os
from pathlib import Path

def count(started: str) -> int:
    with Path(started).open("a") as file:
        print(os.getpid(), file=file)
    return sum(range(10**12))  # one call of C, as training a tokenizer is
"""
INTERRUPTED = """
import signal, sys
from counting import count  # workers do not import the script
from dragoman.data.worker_processes import Workers, run_in_child

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have disabled it for its background jobs
    if sys.argv[1] == "child":
        run_in_child(count, sys.argv[2])
    else:
        with Workers(2) as workers:
            list(workers.run(count, [sys.argv[2]] * 4))
"""


@pytest.mark.parametrize(("kind", "processes"), [("child", 1), ("pool", 2)])
def test_ctrl_c_ends_work_that_cannot_be_interrupted(root: Path, tmp_path: Path, kind: str, processes: int):
    (tmp_path / "counting.py").write_text(COUNTING, encoding="utf-8")
    (tmp_path / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    started = tmp_path / "started"
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(root), str(tmp_path))))
    command = [sys.executable, str(tmp_path / "interrupted.py"), kind, str(started)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}, start_new_session=True
    ) as parent:
        try:
            while not started.exists() or started.read_text(encoding="utf-8").count("\n") < processes:
                assert parent.poll() is None
                time.sleep(0.02)
            os.killpg(parent.pid, signal.SIGINT)  # as a terminal does
            load = os.getloadavg()[0] / (os.cpu_count() or 1)
            _, errors = parent.communicate(timeout=2 + 4 * load)
        finally:
            if parent.poll() is None:
                os.killpg(parent.pid, signal.SIGKILL)
    assert errors.splitlines()[-1] == b"KeyboardInterrupt"
    assert not any(is_alive(int(line)) for line in started.read_text(encoding="utf-8").splitlines())
