"""Ends a conversation when the server that started it ends."""

import os
import threading
import time
from typing import Final

_LOOK_SECONDS: Final = 1.0


def end_with_parent() -> None:
    """Watch the parent process, and exit immediately when it has ended.

    Otherwise Textual's browser driver would read the closed pipe of a dead server forever. The
    draft is not lost, since it is saved after each reply.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
