"""The installed libraries: their versions, and messages that are irrelevant to this run."""

import importlib.metadata
import logging
import warnings
from contextlib import suppress
from typing import Any

#: Packages that determine a training's result.
PACKAGES = (
    *("torch", "transformers", "trl", "peft", "accelerate", "deepspeed", "bitsandbytes"),
    "llama-cpp-python",
)


def list_versions() -> dict[str, str]:
    """Return the versions of the installed packages of PACKAGES, by name."""
    found = {}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


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
