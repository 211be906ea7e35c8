"""Slow calls set aside: in threads that nobody waits for, so that even leaving is immediate."""

import asyncio
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def aside(call: Callable[[], T]) -> T:
    """Return what a call returns, or raise what it raises; the loop goes on meanwhile.

    Who is cancelled while awaiting this is free at once: the call is left to end by itself, and
    what it returns is dropped. Unlike an executor's threads, this one does not hold up the exit.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only where T has it

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # noqa: BLE001 - handed to the one who awaits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, result, error)

    Thread(target=work, daemon=True).start()
    return await future
