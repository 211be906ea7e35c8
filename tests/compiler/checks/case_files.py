"""The case files of the rules, and what the rules find in an edited spec."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import Facts, known
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec

Build = Callable[[Mapping[str, Any]], tuple[Spec, Facts]]
FOLDER = Path(__file__).parents[2] / "checks"


def list_cases(kind: str) -> list[Any]:
    """List every case of a kind, named by its code and its place in the file."""
    return [
        pytest.param(path.stem, case, id=f"{path.stem}-{index}")
        for path in sorted(FOLDER.glob("FTC*.json"))
        for index, case in enumerate(json.loads(path.read_text(encoding="utf-8"))[kind])
    ]


def list_findings(build: Build, edits: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings of the known spec with edits."""
    return _find(build, json.dumps(edits))


@cache
def _find(build: Build, written: str) -> tuple[Finding, ...]:
    """Find them once: several tests ask for those of the same case."""
    spec, facts = build(json.loads(written))
    every = known(facts)
    return run_checks(spec, facts, None if every is None else make_plan(spec, every))


def list_of(code: str, findings: tuple[Finding, ...]) -> list[Finding]:
    """Return the findings of one code."""
    return [finding for finding in findings if finding.code == code]


def read_case(code: str) -> Mapping[str, Any]:
    """Return the edits of the first case that raises a rule."""
    cases = json.loads((FOLDER / f"{code}.json").read_text(encoding="utf-8"))
    edits: Mapping[str, Any] = cases["raises"][0]["edits"]
    return edits
