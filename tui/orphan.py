"""A conversation that a server started ends with that server, however the server ended."""

import os
import threading
import time
from typing import Final

_LOOK_SECONDS: Final = 1.0


def end_with_parent() -> None:
    """Watch the process that started this one, and leave at once when it is gone.

    Textual's driver for browsers reads the closed pipe of a dead server for ever. The draft needs
    no farewell: it was kept after each reply.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
