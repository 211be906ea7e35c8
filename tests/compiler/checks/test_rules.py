"""Every rule against its case file: it raises where it must and is silent where it must."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.checks.registry import PAGES, RULES, run_checks
from ftc.compiler.checks.rule import HEADINGS, Rule
from ftc.compiler.plan.known import known
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import Facts
from ftc.spec.finding import Finding
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.validate import validate

Build = Callable[[Mapping[str, Any]], tuple[Spec, Facts]]
FOLDER = Path(__file__).parents[2] / "checks"
FACTS = ("model", "tokenizer", "data", "hardware")


def _cases(kind: str) -> list[Any]:
    """List every case of a kind, named by its code and its place in the file."""
    return [
        pytest.param(path.stem, case, id=f"{path.stem}-{index}")
        for path in sorted(FOLDER.glob("FTC*.json"))
        for index, case in enumerate(json.loads(path.read_text(encoding="utf-8"))[kind])
    ]


def _findings(build: Build, edits: Mapping[str, Any]) -> tuple[Finding, ...]:
    spec, facts = build(edits)
    every = known(facts)
    return run_checks(spec, facts, None if every is None else make_plan(spec, every))


def _of(code: str, findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.code == code]


@pytest.mark.parametrize(("code", "case"), _cases("raises"))
def test_a_rule_raises(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """The finding is there, says what is expected, and points into the spec."""
    found = _of(code, _findings(build, case["edits"]))
    assert found
    page = next(page for page in PAGES if page.code == code)
    assert any(case["says"] in finding.message for finding in found), found[0].message
    for finding in found:
        assert (finding.name, finding.severity) == (page.name, page.severity)
        assert finding.pointer.startswith("/")
        assert finding.help
        assert not finding.message.endswith(".")
        first = finding.message.split()[0]
        assert not (first.isalpha() and first.istitle()), finding.message


@pytest.mark.parametrize(("code", "case"), _cases("silent"))
def test_a_rule_is_silent(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """The finding is not there."""
    assert not _of(code, _findings(build, case["edits"]))


@pytest.mark.parametrize(("code", "case"), _cases("raises"))
def test_a_warning_can_be_allowed(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """`allow` takes a warning away, leaves an error standing and refuses it by name."""
    if code in {"FTC070", "FTC071", "FTC072"}:
        return
    found = _findings(build, {**case["edits"], "/spec/allow": [code]})
    error = next(page for page in PAGES if page.code == code).severity == "error"
    assert bool(_of(code, found)) == error
    assert bool(_of("FTC071", found)) == error


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.page.code)
def test_a_rule_reads_what_it_declares(build: Build, rule: Rule) -> None:
    """Without a fact that it does not declare it raises all the same; without one it does, not."""
    path = FOLDER / f"{rule.page.code}.json"
    edits = json.loads(path.read_text(encoding="utf-8"))["raises"][0]["edits"]
    spec, facts = build(edits)
    every = known(facts)
    assert every is not None
    plan = make_plan(spec, every)
    for name in FACTS:
        kept = {k: v for k, v in edits.items() if not k.startswith(f"/facts/{name}/")}
        _, without = build({**kept, f"/facts/{name}": None})
        raised = _of(rule.page.code, run_checks(spec, without, plan))
        assert bool(raised) == (name not in rule.reads), name
    raised = _of(rule.page.code, run_checks(spec, facts, None))
    assert bool(raised) == ("plan" not in rule.reads)


@pytest.mark.parametrize(("code", "case"), _cases("raises"))
def test_a_rule_can_be_reached(code: str, case: Mapping[str, Any], tmp_path: Path) -> None:
    """The schema accepts the spec: a rule that only a refused spec raises could never fail."""
    path = tmp_path / f"{code}.json"
    path.write_text(json.dumps(_written(case["edits"])), encoding="utf-8")
    document = load_document(str(path))
    assert not isinstance(document, tuple)
    spec = validate(document)
    assert not isinstance(spec, tuple), [finding.message for finding in spec]


def _written(edits: Mapping[str, Any]) -> dict[str, Any]:
    """Write only what the user of a case says: the base's own fields, and the edits."""
    base = json.loads((FOLDER / "base.json").read_text(encoding="utf-8"))["spec"]
    said = {pointer: _at(base, pointer) for pointer in base.pop("said")}
    said |= {k.removeprefix("/spec"): v for k, v in edits.items() if k.startswith("/spec/")}
    written: dict[str, Any] = {}
    for pointer, value in said.items():
        place = written
        *sections, field = pointer.split("/")[1:]
        for section in sections:
            place = place.setdefault(section, {})
        place[field] = value
    return written


def _at(tree: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        tree = tree[part]
    return tree


def test_nothing_is_wrong_with_the_base(build: Build) -> None:
    """Correct is silence."""
    assert _findings(build, {}) == ()


def test_every_rule_has_cases_and_a_page() -> None:
    """A rule without a case is not tested, one without a page not explained."""
    codes = [page.code for page in PAGES]
    assert len(codes) == len(set(codes))
    assert len({page.name for page in PAGES}) == len(codes)
    assert {path.stem for path in FOLDER.glob("FTC*.json")} == set(codes)
    for path in FOLDER.glob("FTC*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        assert case["raises"], path.name
        assert case["silent"], path.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_has_every_heading(page: Any) -> None:
    """What, why, an example and what to use instead, in that order; the examples are JSON."""
    places = [page.text.find(f"**{heading}") for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    blocks = page.text.split("```json\n")[1:]
    assert len(blocks) == 2
    for block in blocks:
        json.loads(block.split("\n```")[0])


def test_fixes_lead_to_silence(build: Build) -> None:
    """Applying a fix that sets fields takes its finding away."""
    applied = 0
    for param in _cases("raises"):
        code, case = param.values
        found = _of(code, _findings(build, case["edits"]))
        fix = found[0].fix
        if not fix or any(operation["op"] != "add" for operation in fix):
            continue
        edits = {**case["edits"], **{"/spec" + step["path"]: step["value"] for step in fix}}
        assert not _of(code, _findings(build, edits)), code
        applied += 1
    assert applied >= 10
