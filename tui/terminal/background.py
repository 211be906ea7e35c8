"""Runs slow calls in daemon threads, so that quitting is immediate."""

import asyncio
import sys
from collections.abc import Callable
from threading import Thread
from typing import Final, TypeVar

#: How long the UI thread waits for the interpreter lock that a background thread holds. Python's
#: default is 5 ms, and one key press needs the lock several times.
_SWITCH_SECONDS: Final = 0.0005

T = TypeVar("T")


async def run_in_background(call: Callable[[], T]) -> T:
    """Run a call in a thread, and return its result or raise its exception.

    Cancelling the await returns immediately: the thread runs to its end, and its result is
    dropped. Unlike an executor's threads, this thread does not delay the exit of the process.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only if T allows it

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # noqa: BLE001 - raised again in the task that awaits it
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, result, error)

    sys.setswitchinterval(_SWITCH_SECONDS)
    Thread(target=work, daemon=True).start()
    return await future
