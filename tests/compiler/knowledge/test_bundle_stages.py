"""The stages of a bundle, and their records."""

from pathlib import Path

import pytest

from ftc.compiler.knowledge.bundle_stages import STAGES, find_record


@pytest.mark.parametrize(
    ("stage", "name"),
    [*((stage, stage) for stage in STAGES), ("prepare", "data"), ("merge", "merged")],
)
def test_records_are_found(tmp_path: Path, stage: str, name: str) -> None:
    """Also under the name that an earlier ftc gave them."""
    record = tmp_path / f"run/done/{name}.json"
    assert find_record(tmp_path, stage) is None
    record.parent.mkdir(parents=True)
    record.touch()

    assert find_record(tmp_path, stage) == record
    assert [other for other in STAGES if other != stage and find_record(tmp_path, other)] == []


def test_a_stage_that_does_not_exist(tmp_path: Path) -> None:
    """It is an error, not a stage that never ends."""
    with pytest.raises(ValueError, match="there is no stage merged"):
        find_record(tmp_path, "merged")
