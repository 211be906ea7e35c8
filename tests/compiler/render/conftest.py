"""A folder with the files that all stages of a bundle share."""

from pathlib import Path

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.stage_folders import NAMES, write_scripts
from tests.compiler.render.test_bundle import CPU, FULL, render


@pytest.fixture
def bundle(build_known: BuildKnown, tmp_path: Path) -> Path:
    """Return a folder with the shared modules of a bundle that trains on one process."""
    files = render(build_known, {**FULL, **CPU})
    write_scripts(tmp_path, files, *NAMES)
    return tmp_path
