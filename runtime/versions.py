"""The versions of the packages that determine the result of a training. Standard library only."""

import importlib.metadata
from contextlib import suppress

PACKAGES = (
    "torch",
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "deepspeed",
    "bitsandbytes",
    "llama-cpp-python",
)


def list_versions() -> dict[str, str]:
    """Return the version of each of these packages that is installed."""
    found = {}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
