"""Reads the pieces that a thread produces, with a time limit and a stop signal."""

import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from ftc.tui.state.served_model import Limits, ModelError

_POLL_SECONDS: Final = 0.05

Piece = TypeVar("Piece")
#: Says whether the user stopped the turn.
Stopped = Callable[[], bool]


def follow(
    pieces: "SimpleQueue[Piece | ModelError | None]", limits: Limits, stopped: Stopped
) -> Iterator[Piece]:
    """Yield the pieces up to None; raises ModelError on a failure, a stop or a timeout."""
    until = time.monotonic() + limits.seconds
    while True:
        if stopped():
            raise ModelError("agent.stopped")
        if time.monotonic() > until:
            raise ModelError("agent.late", seconds=round(limits.seconds))
        try:
            got = pieces.get(timeout=_POLL_SECONDS)
        except Empty:
            continue
        if isinstance(got, ModelError):
            raise got
        if got is None:
            return
        yield got
