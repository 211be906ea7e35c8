"""A miniature of every derived class and wrapper: trained, merged, converted, held to transformers.

The stages are the benchmark's (benchmarks/families.py); a result that differs from the table of
rehearsals fails.
"""

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.families import read_cases, run_case
from benchmarks.rehearsals import Family
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed
from ftc.compiler.rehearse.rehearsal import MOST_DIVERGENCE

pytestmark = pytest.mark.prove_all


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Import the libraries once, for all processes that are forked."""
    for library in ("torch", "transformers", "peft", "llama_cpp", "safetensors.torch"):
        import_module(library)


@pytest.mark.parametrize("family", read_cases(), ids=lambda family: family.name)
def test_a_family_ends_as_the_table_says(family: Family, sdist: Path) -> None:
    """It goes the whole way, and its F16 file says what transformers says; or it stops as told."""
    known = find_rehearsed(family.config["architectures"][0])
    assert known is not None

    found = run_case(family, sdist)

    stage = None if known.is_lifted(family.config) else known.stage
    assert found.stage == stage, found.cause
    if stage is None:
        assert found.divergence is not None
        assert found.divergence < MOST_DIVERGENCE
