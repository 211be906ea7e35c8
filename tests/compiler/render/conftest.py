"""A folder with what all stages of a bundle share."""

from pathlib import Path

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.stage_folders import NAMES
from tests.compiler.render.test_bundle import CPU, FULL, render


@pytest.fixture
def bundle(build_known: BuildKnown, tmp_path: Path) -> Path:
    """Return a folder with the shared modules of a bundle that trains on one process."""
    files = render(build_known, {**FULL, **CPU})
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(files[f"{name}.py"].text, encoding="utf-8")
    return tmp_path
