"""Every bad spec gives exactly its expected findings: code, position, message, help and fix."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ftc.spec.findings.explanations import EXPLANATIONS
from ftc.spec.findings.finding import Finding
from ftc.spec.load import load_document
from ftc.spec.validate import validate

FOLDER = Path(__file__).resolve().parents[1] / "bad_specs"
SPECS = sorted(path for path in FOLDER.iterdir() if not path.name.endswith(".expected.json"))


def findings_of(path: Path) -> tuple[Finding, ...]:
    """Return what is wrong with the file."""
    document = load_document(path.name)
    judged = document if isinstance(document, tuple) else validate(document)
    assert isinstance(judged, tuple), f"{path.name} is a good spec"
    return judged


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_findings(path: Path, update_golden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings are those of the expected file, in the order of the text."""
    monkeypatch.chdir(FOLDER)
    found = findings_of(path)
    told = json.dumps([_tell(finding) for finding in found], indent=2, ensure_ascii=True) + "\n"
    expected = path.with_name(f"{path.stem}.expected.json")
    if update_golden:
        expected.write_text(told, encoding="utf-8")
    assert expected.read_text(encoding="utf-8") == told


def _tell(finding: Finding) -> Mapping[str, Any]:
    position = finding.position
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "help": finding.help,
        "pointer": finding.pointer,
        "position": None if position is None else asdict(position),
        "fix": finding.fix,
        **({"fix_safety": "unsafe"} if finding.fix_safety == "unsafe" else {}),
    }


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_style(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages start small and end without a period; codes have a page and their page's name."""
    monkeypatch.chdir(FOLDER)
    names = {page.code: page.name for page in EXPLANATIONS}
    for finding in findings_of(path):
        assert finding.name == names[finding.code]
        assert finding.help
        for text in (finding.message, finding.help):
            assert text.isprintable()
            assert not text.endswith(".")
        assert (
            finding.message[0].islower()
            or finding.message[0] in '`"'
            or finding.message[:4] in {"JSON", "YAML"}
        )


def test_every_page_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each code is raised by a bad spec here, except for those that no file can raise."""
    monkeypatch.chdir(FOLDER)
    raised = {finding.code for path in SPECS for finding in findings_of(path)}
    elsewhere = {
        "FTC001",
        "FTC002",
        "FTC003",
        "FTC005",
        "FTC008",
        "FTC015",
        "FTC019",
        "FTC027",
    }  # test_load, readers
    assert {page.code for page in EXPLANATIONS} - raised == elsewhere
