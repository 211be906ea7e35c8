"""Processes that work on chunks: results in order, errors as they are, and none left behind."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ftc.runtime.prepare.workers import Workers
from ftc.runtime.read.rows import DataError


def double(number: int) -> tuple[int, int]:
    """Return twice a number, and the process that did it; early jobs take longer."""
    time.sleep(0.02 if number < 3 else 0)
    return 2 * number, os.getpid()


def fail(number: int) -> int:
    """Raise an error of the data for one job, and an unexpected one for another."""
    if number == 3:
        raise DataError("row 3 is broken")
    return 1 // (number - 4)


def die(number: int) -> int:
    """Kill the process that does one of the jobs."""
    if number == 3:
        os.kill(os.getpid(), 9)
    return number


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Return processes for these tasks."""
    started = Workers((double, fail, die), begin=os.getpid)
    yield started
    started.end()


def test_results_come_in_the_order_of_the_jobs(workers: Workers) -> None:
    """Whichever process is first; none of them is this one."""
    results = list(workers.map(double, range(50)))
    assert [number for number, _ in results] == list(range(0, 100, 2))
    assert os.getpid() not in {process for _, process in results}


def test_few_jobs_are_held_at_a_time(workers: Workers) -> None:
    """The jobs may be a file of any size."""
    taken: list[int] = []
    results = workers.map(double, (taken.append(n) or n for n in range(1000)))  # type: ignore[func-returns-value]
    next(results)
    assert len(taken) <= 2 * workers.count + 1


def test_an_error_is_raised_where_the_result_is_wanted(workers: Workers) -> None:
    """An error of the data is one sentence; another one has the traceback of its process."""
    with pytest.raises(DataError, match="row 3 is broken"):
        list(workers.map(fail, [3]))
    with pytest.raises(ZeroDivisionError) as raised:
        list(workers.map(fail, [4]))
    assert "in fail" in raised.value.__notes__[0]


def test_a_killed_process_ends_the_work(workers: Workers) -> None:
    """The kernel kills processes when memory runs out."""
    with pytest.raises(DataError, match="a process was killed"):
        list(workers.map(die, range(10)))


def start_and_die(told: Connection) -> None:
    """Start workers, tell their processes, and end as if killed."""
    started = Workers((double,), begin=os.getpid)
    told.send([child.pid for child in multiprocessing.active_children()])
    assert started.count
    os.kill(os.getpid(), signal.SIGKILL)


def test_no_process_is_left_when_the_one_that_asks_is_killed() -> None:
    """A worker that held a copy of its own pipe would wait forever."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    parent = context.Process(target=start_and_die, args=(theirs,))
    parent.start()
    processes = ours.recv()
    parent.join()

    assert parent.exitcode == -signal.SIGKILL
    assert processes
    until = time.monotonic() + 20
    while any(map(is_running, processes)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [process for process in processes if is_running(process)]


def is_running(process: int) -> bool:
    """Return whether a process is there and has not ended; nobody may wait for an orphan."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(") ")[2][0] != "Z"
