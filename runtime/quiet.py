"""Silences library messages that are irrelevant to this run."""

import logging
import warnings
from typing import Any


def silence_libraries() -> None:
    """Silence progress bars of loading, and messages of libraries about their own internals.

    Call it before PEFT is imported. Errors and all other warnings are still printed.
    """
    # bitsandbytes reports that an optional CPU kernel is not installed.
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
    # transformers warns of its own use of a name that it has deprecated.
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
    import transformers.utils.logging

    settings: Any = transformers.utils.logging
    settings.disable_progress_bar()
