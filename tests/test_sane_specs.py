"""No false alarms: sane fine-tunes give no error, and only the warnings written beside them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from ftc.compiler.pipeline import check
from ftc.spec.findings.finding import Finding

FOLDER: Final = Path(__file__).resolve().parent / "sane_specs"
MANIFEST: Final = FOLDER / "manifest.json"


def expected() -> Mapping[str, Sequence[str]]:
    """Return the warnings that each spec may give, by its file."""
    read: Mapping[str, Sequence[str]] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return read


@pytest.fixture(autouse=True)
def _out_of_reach(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave the built-in table of models alone to answer."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))


@pytest.mark.parametrize("name", expected())
def test_a_sane_spec_gives_no_alarm(name: str) -> None:
    """Nothing is an error, every warning is one of those written beside it, and all are given."""
    outcome = check(str(FOLDER / name))
    assert outcome.plan is not None
    assert [_said(f) for f in outcome.findings if f.severity == "error"] == []
    warned = [f for f in outcome.findings if f.severity == "warning"]
    assert sorted({f.code for f in warned}) == sorted(expected()[name]), list(map(_said, warned))


def test_the_manifest_lists_every_spec() -> None:
    """At least forty of them, each a file and each file listed."""
    files = {path.name for path in FOLDER.glob("*.json")} - {MANIFEST.name}
    assert files == set(expected())
    assert len(files) >= 40


def test_the_specs_are_of_many_kinds() -> None:
    """Methods, machines, forms of data and models vary."""
    specs = [json.loads((FOLDER / name).read_text(encoding="utf-8")) for name in expected()]
    assert len({spec["model"] if isinstance(spec["model"], str) else "" for spec in specs}) >= 25
    sources = {
        spec["data"] if isinstance(spec["data"], str) else spec["data"]["source"] for spec in specs
    }
    assert {Path(source).suffix for source in sources} == {
        *(".csv", ".tsv", ".json", ".jsonl", ".parquet")
    }
    assert len({json.dumps(spec["hardware"]) for spec in specs}) >= 15


def _said(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"
