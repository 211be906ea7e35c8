"""Lets a tracker send what is left when training ends early. Standard library only."""

import threading
from collections.abc import Callable

FLUSH_SECONDS = 10  # of the time that is left after a signal


def wait_for(action: Callable[[], object]) -> None:
    """Do what a tracker does at its end, for at most FLUSH_SECONDS."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(FLUSH_SECONDS)
