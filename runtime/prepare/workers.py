"""Processes that work on chunks of rows, one for each core. Standard library only.

They are forks of the process that starts them, so they have its tokenizer and settings without a
copy. Start them before a library starts threads, because a fork has none of them.
"""

import atexit
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from ..read.rows import DataError

Job = TypeVar("Job")
Result = TypeVar("Result")
MOST_PROCESSES = 32  # more of them would wait for the one that reads and writes
TASKS = "ftc_tasks"  # the attribute of a process that holds its tasks, which are not sent


class Workers:
    """As many processes as cores; each gets one job at a time.

    `tasks` are the functions that `map` may call; `begin` is called first in each process.
    """

    def __init__(
        self, tasks: Sequence[Callable[[Any], Any]], *, begin: Callable[[], object]
    ) -> None:
        self._tasks = tasks
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
        self.count = min(MOST_PROCESSES, len(cores) or os.cpu_count() or 1)
        context = multiprocessing.get_context("fork")
        self._pool = ProcessPoolExecutor(self.count, context, _start, (tasks, begin))
        self._pool.submit(int).result()  # the first job starts all processes
        atexit.register(self.end)  # Python does not end a pool quietly by itself

    def map(self, task: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Yield task(job) for each job, in order; only a few jobs are held at a time.

        Raises the error of the task, and DataError if a process was killed.
        """
        number = self._tasks.index(task)
        waiting: deque[Future[Any]] = deque()
        try:
            for job in jobs:
                waiting.append(self._pool.submit(_do, number, job))
                if len(waiting) > 2 * self.count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            text = "a process was killed, as happens when memory runs out: see `dmesg`"
            raise DataError(text) from None

    def end(self) -> None:
        """End the processes; those that still work end when they have finished."""
        self._pool.shutdown(cancel_futures=True)


def _start(tasks: Sequence[Callable[[Any], Any]], begin: Callable[[], object]) -> None:
    """Prepare a process, which ends with the one that started it, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the process that asks
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # no handler of that process is inherited
    threading.Thread(target=_end_with_parent, daemon=True).start()
    setattr(multiprocessing.current_process(), TASKS, tasks)
    begin()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process uses one core


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(number: int, job: Any) -> Any:
    """Do a job; an error has its traceback as a note."""
    try:
        return getattr(multiprocessing.current_process(), TASKS)[number](job)
    except DataError:
        raise
    except Exception as error:
        error.add_note(traceback.format_exc())
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except Exception:  # noqa: BLE001 - some errors of libraries cannot be built again
            raise RuntimeError(traceback.format_exc()) from None
        raise
