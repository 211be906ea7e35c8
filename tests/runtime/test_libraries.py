"""The versions of the libraries that train, and the messages that are not printed."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from ftc.runtime import libraries

WARNS = """
import logging, warnings
from ftc.runtime.libraries import silence_libraries
silence_libraries()
warnings.warn("`is_gradient_checkpointing` is deprecated, use another", FutureWarning)
warnings.warn("`another_name` is deprecated", FutureWarning)
logging.getLogger("bitsandbytes.backends.cpu.ops").warning("no kernel")
logging.getLogger("bitsandbytes.backends.cpu.ops").error("a real error")
logging.getLogger("bitsandbytes.backends").warning("another warning")
"""


def test_versions_are_those_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing is left out: few runs need all of them."""
    names = ("numpy", "no-such-package-of-anybody", "llama_cpp-python")
    monkeypatch.setattr(libraries, "PACKAGES", names)
    found = libraries.list_versions()

    assert found["numpy"] == importlib.metadata.version("numpy")
    assert found["llama_cpp-python"] == importlib.metadata.version("llama-cpp-python")
    assert list(found) == ["numpy", "llama_cpp-python"]


def test_only_what_is_irrelevant_is_silenced(tmp_path: Path) -> None:
    """Errors and all other warnings are printed, in a process that has imported nothing yet."""
    done = subprocess.run(
        [sys.executable, "-c", WARNS], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    said = done.stderr
    assert "is_gradient_checkpointing" not in said
    assert "no kernel" not in said
    for kept in ("`another_name` is deprecated", "a real error", "another warning"):
        assert kept in said
