"""Processes that work on chunks of rows, one for each core. Standard library only.

They are forks of the process that starts them, so they have its tokenizer and settings without a
copy. Start them before a library starts threads, because a fork has none of them.
"""

import multiprocessing
import os
import pickle
import queue
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from ..read.rows import DataError

Job = TypeVar("Job")
Result = TypeVar("Result")
MOST_PROCESSES = 32  # more of them would wait for the one that reads and writes


class Workers:
    """As many processes as cores; each gets one job at a time.

    `tasks` are the functions that jobs are for; `begin` is called first in each process.
    """

    def __init__(
        self, tasks: Sequence[Callable[[Any], Any]], *, begin: Callable[[], object]
    ) -> None:
        self._tasks = tasks
        cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
        self.count = min(MOST_PROCESSES, len(cores) or os.cpu_count() or 1)
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        context = multiprocessing.get_context("fork")
        inherited: list[Connection] = []  # a fork has a copy of every pipe that is open
        for _ in range(self.count):
            ours, theirs = context.Pipe()
            inherited.append(ours)
            arguments = (theirs, tuple(inherited), tasks, begin)
            context.Process(target=_serve, args=arguments, daemon=True).start()
            theirs.close()
            self._idle.put(ours)
        self._threads = ThreadPoolExecutor(self.count)

    def map(self, task: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Yield task(job) for each job, in order; only a few jobs are held at a time.

        Raises the error of the task, and DataError if a process was killed.
        """
        number = self._tasks.index(task)
        waiting: deque[Future[Any]] = deque()
        for job in jobs:
            waiting.append(self._threads.submit(self._ask, number, job))
            if len(waiting) > 2 * self.count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def end(self) -> None:
        """End the processes; those that still work end when they have finished."""
        self._threads.shutdown(cancel_futures=True)
        with suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def _ask(self, number: int, job: Any) -> Any:
        """Have a process do a job, and wait for the result."""
        line = self._idle.get()
        try:
            line.send((number, job))
            result, error = line.recv()
        except (EOFError, ConnectionError):
            raise DataError(
                "a process was killed, as happens when memory runs out: see `dmesg`"
            ) from None
        finally:
            self._idle.put(line)
        if error is not None:
            raise error
        return result


def _serve(
    line: Connection,
    inherited: Sequence[Connection],
    tasks: Sequence[Callable[[Any], Any]],
    begin: Callable[[], object],
) -> None:
    """Do jobs until the process that asks for them ends, however that happens.

    `inherited` are copies of that process's ends of the pipes. While one is open, the end of that
    process is not seen.
    """
    for copy in inherited:
        copy.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the process that asks
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # no handler of that process is inherited
    begin()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process uses one core
    while True:
        try:
            number, job = line.recv()
        except EOFError:
            return
        answer: tuple[Any, Exception | None]
        try:
            answer = tasks[number](job), None
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            answer = None, _carry(error)
        try:
            line.send(answer)
        except (BrokenPipeError, ConnectionError):
            return


def _carry(error: Exception) -> Exception:
    """Return an error that can be sent to another process, with its traceback as a note."""
    if not isinstance(error, DataError):
        error.add_note(traceback.format_exc())
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - some errors of libraries cannot be built again
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
