"""Every rule against its case file: it raises exactly in the expected cases."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.checks.registry import EXPLANATIONS, RULES, run_checks
from ftc.compiler.checks.rule import HEADINGS, Rule
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import Facts, known
from ftc.spec.findings.finding import Finding
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.validate import validate
from tests.compiler.checks.case_files import (
    FOLDER,
    Build,
    list_cases,
    list_findings,
    list_of,
)

FACTS = ("model", "tokenizer", "data", "hardware")


@pytest.mark.parametrize(("code", "case"), list_cases("raises"))
def test_a_rule_raises(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """The finding is there, says what is expected, and points into the spec."""
    found = list_of(code, list_findings(build, case["edits"]))
    assert found
    page = next(page for page in EXPLANATIONS if page.code == code)
    assert any(case["says"] in finding.message for finding in found), found[0].message
    assert any(case.get("advises", "") in finding.help for finding in found), found[0].help
    for finding in found:
        assert (finding.name, finding.severity) == (page.name, page.severity)
        assert finding.pointer.startswith("/")
        assert finding.help
        assert not finding.message.endswith(".")
        first = finding.message.split()[0]
        assert not (first.isalpha() and first.istitle()), finding.message


@pytest.mark.parametrize(("code", "case"), list_cases("silent"))
def test_a_rule_is_silent(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """The finding is not there."""
    assert not list_of(code, list_findings(build, case["edits"]))


@pytest.mark.parametrize(("code", "case"), list_cases("raises"))
def test_a_warning_can_be_allowed(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """`allow` takes a warning away, leaves an error standing and refuses it by name."""
    if code in {"FTC070", "FTC071", "FTC072"}:
        return
    found = list_findings(build, {**case["edits"], "/spec/allow": [code]})
    error = next(page for page in EXPLANATIONS if page.code == code).severity == "error"
    assert bool(list_of(code, found)) == error
    assert bool(list_of("FTC071", found)) == error


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.explanation.code)
def test_a_rule_reads_what_it_declares(build: Build, rule: Rule) -> None:
    """Without a fact that it does not declare it raises all the same; without one it does, not."""
    path = FOLDER / f"{rule.explanation.code}.json"
    edits = json.loads(path.read_text(encoding="utf-8"))["raises"][0]["edits"]
    spec, facts = build(edits)
    every = known(facts)
    assert every is not None
    plan = make_plan(spec, every)
    for name in FACTS:
        kept = {k: v for k, v in edits.items() if not k.startswith(f"/facts/{name}/")}
        _, without = build({**kept, f"/facts/{name}": None})
        raised = list_of(rule.explanation.code, run_checks(spec, without, plan))
        assert bool(raised) == (name not in rule.reads), name
    raised = list_of(rule.explanation.code, run_checks(spec, facts, None))
    assert bool(raised) == ("plan" not in rule.reads)


@pytest.mark.parametrize(("code", "case"), list_cases("raises"))
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
    assert list_findings(build, {}) == ()


def test_every_rule_has_cases_and_a_page() -> None:
    """A rule without a case is not tested, one without a page not explained."""
    codes = [page.code for page in EXPLANATIONS]
    assert len(codes) == len(set(codes))
    assert len({page.name for page in EXPLANATIONS}) == len(codes)
    assert {path.stem for path in FOLDER.glob("FTC*.json")} == set(codes)
    for path in FOLDER.glob("FTC*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        assert case["raises"], path.name
        assert case["silent"], path.name


@pytest.mark.parametrize("page", EXPLANATIONS, ids=lambda page: page.code)
def test_a_page_has_every_heading(page: Any) -> None:
    """What, why, an example and what to use instead, in that order; the examples are JSON."""
    places = [page.text.find(f"**{heading}") for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    blocks = page.text.split("```json\n")[1:]
    assert len(blocks) == 2
    for block in blocks:
        json.loads(block.split("\n```")[0])


@pytest.mark.parametrize(("code", "case"), list_cases("raises"))
def test_a_fix_leads_to_silence(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """Applied, a fix takes its finding away and brings no error that was not there before."""
    before = list_findings(build, case["edits"])
    found = next(finding for finding in before if finding.code == code)
    if not found.fix:
        return
    after = list_findings(build, _fixed(case["edits"], found))
    assert found not in after
    assert len(list_of(code, after)) < len(list_of(code, before))
    errors = {finding.code for finding in before if finding.severity == "error"}
    worse = [f for f in after if f.severity == "error" and f.code not in errors]
    assert not worse, worse[0].message


# What decides which model comes out; the rest is how fast, in how much memory, and for how long
# what is kept. How often a run is evaluated follows from the time that it takes.
OF_TRAINING = (
    "precision", "global_batch", "train_rows", "validation_rows",
    "test_rows", "epochs", "total_steps", "patience", "learning_rate", "schedule",
    "warmup_steps", "weight_decay", "max_grad_norm", "metric", "seed", "lora_rank", "lora_alpha",
    "lora_dropout", "lora_targets", "quantization", "double_quantization",
)  # fmt: skip


@pytest.mark.parametrize(("code", "case"), list_cases("raises"))
def test_a_safe_fix_trains_the_same_model(build: Build, code: str, case: Mapping[str, Any]) -> None:
    """What `--fix` does without `--unsafe` changes no decision of training, no loss, no output."""
    found = next(f for f in list_findings(build, case["edits"]) if f.code == code)
    if not found.fix or found.fix_safety == "unsafe":
        return
    before, after = build(case["edits"]), build(_fixed(case["edits"], found))

    assert before[0].export.types == after[0].export.types
    assert before[0].export.adapter == after[0].export.adapter
    assert _of_training(*before) == _of_training(*after)


def _of_training(spec: Spec, facts: Facts) -> Mapping[str, Any] | None:
    every = known(facts)
    if every is None:
        return None
    decided = make_plan(spec, every).decisions.items()
    longest = min(every.data.lengths.max, decided["max_length"].value)
    return {name: decided[name].value for name in OF_TRAINING if name in decided} | {
        "tokens of the longest row": longest
    }


def test_fixes_of_both_kinds(build: Build) -> None:
    """Of the fixes that the cases show some are safe and some are not."""
    raised = ((param.values[0], param.values[1]["edits"]) for param in list_cases("raises"))
    kinds = [
        f.fix_safety
        for code, edits in raised
        for f in list_of(code, list_findings(build, edits))
        if f.fix
    ]
    assert kinds.count("safe") >= 15
    assert kinds.count("unsafe") >= 15


def test_many_rules_have_fixes(build: Build) -> None:
    """What a change of the spec cures is cured by a command."""
    raised = ((param.values[0], param.values[1]["edits"]) for param in list_cases("raises"))
    fixed = {
        code for code, edits in raised for f in list_of(code, list_findings(build, edits)) if f.fix
    }
    assert len(fixed) >= 30


def _fixed(edits: Mapping[str, Any], found: Finding) -> dict[str, Any]:
    """Return the edits of the spec that a fix leads to; what it removes was never said."""
    base = json.loads((FOLDER / "base.json").read_text(encoding="utf-8"))["spec"]
    after = dict(edits)
    for step in found.fix:
        pointer = "/spec" + step["path"]
        *above, last = pointer.split("/")
        whole = "/".join(above)
        if last.isdecimal():
            items = list(after.get(whole, _at({"spec": base}, whole)))
            items[int(last) : int(last) + 1] = [step["value"]] if "value" in step else []
            after[whole] = items
        elif step["op"] == "remove":
            after = {k: v for k, v in after.items() if not f"{k}/".startswith(f"{pointer}/")}
        else:
            after[pointer] = step["value"]
    return after


def test_five_epochs_are_not_a_step_more(build: Build) -> None:
    """FTC530 says the steps of five epochs, to the nearest."""
    (finding,) = list_of("FTC530", list_findings(build, {"/spec/training/max_steps": 30000}))
    spec, facts = build({"/spec/training/max_steps": 30000})
    whole = known(facts)
    assert whole is not None
    decided = make_plan(spec, whole).decisions.training
    five = 5 * decided.total_steps.value / decided.epochs.value
    assert finding.problem.values["most"] == round(five)
