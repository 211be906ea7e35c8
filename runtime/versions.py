"""Lists the versions of the packages that determine a training's result. Standard library only."""

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
    """Return the versions of the installed packages of PACKAGES, by name."""
    found = {}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
