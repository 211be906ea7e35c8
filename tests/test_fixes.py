"""Every fix, alone and with the others, leaves a spec that is valid and without its finding."""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.checks.vetting import vet_fixes
from ftc.compiler.compilation import locate_all
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import Facts, known
from ftc.fix_patches import write_fixes
from ftc.repair import repair
from ftc.spec.findings.finding import Finding
from ftc.spec.load import load_document
from ftc.spec.text.document import Document
from ftc.spec.validate import validate
from ftc.yaml_text import edit_yaml
from tests.compiler.checks.test_rules import _written
from tests.compiler.conftest import build_case

TESTS = Path(__file__).parent
_ROUNDS = 20
_DRAWN_PAIRS = 100


def _cases() -> list[Any]:
    """List every case that raises a finding, named by its code and its place in the file."""
    return [
        pytest.param(case["edits"], id=f"{path.stem}-{index}")
        for path in sorted((TESTS / "checks").glob("FTC*.json"))
        for index, case in enumerate(json.loads(path.read_text(encoding="utf-8"))["raises"])
    ]


def _bad_specs() -> list[Any]:
    """List the bad specs that a reader can read."""
    names = sorted((TESTS / "bad_specs").iterdir())
    return [pytest.param(path, id=path.name) for path in names if ".expected." not in path.name]


#: What users of other programs write, and what becomes of it.
WRITTEN_ELSEWHERE: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
    (
        {"distribution": {"strategy": "deepspeed", "stage": 3}},
        {"distribution": {"strategy": "zero3"}},
    ),
    ({"zero_stage": 2}, {"distribution": {"strategy": "zero2"}}),
    ({"distribution": {"offload": "cpu"}}, {"distribution": {"offload": "optimizer"}}),
    ({"distribution": {"offload": False}}, {"distribution": {"offload": "none"}}),
    (
        {"distribution": {"offload_param": {"device": "cpu", "pin_memory": True}}},
        {"distribution": {"offload": "parameters"}},
    ),
    (
        {"launch": {"type": "slurm", "gres": "gpu:a100:4"}},
        {"launch": {"type": "slurm"}, "hardware": {"count": 4, "gpu": "a100"}},
    ),
    ({"method": "lora", "load_in_4bit": True}, {"method": {"type": "qlora"}}),
    (
        {"method": {"type": "lora", "load_in_8bit": True}},
        {"method": {"type": "qlora", "quantization": "int8"}},
    ),
    (
        {"method": {"type": "qlora", "bnb_4bit_compute_dtype": "bfloat16"}},
        {"method": {"type": "qlora"}, "training": {"precision": "bf16"}},
    ),
    (
        {
            "hardware": "2x H100",
            "training": {"micro_batch": 2, "gradient_accumulation_steps": 8},
        },
        {"hardware": "2x H100", "training": {"micro_batch": 2, "global_batch": 32}},
    ),
    (
        {"training": {"global_batch": 32, "gradient_accumulation_steps": 8}},
        {"training": {"global_batch": 32}},
    ),
    # the number of GPUs is not known
    (
        {"training": {"micro_batch": 2, "gradient_accumulation_steps": 8}},
        {"training": {"micro_batch": 2, "gradient_accumulation_steps": 8}},
    ),
    ({"training": {"max_grad_norm": "off"}}, {"training": {"max_grad_norm": 0}}),
    ({"training": {"max_grad_norm": None}}, {"training": {"max_grad_norm": 0}}),
    ({"training": {"weight_decay": False}}, {"training": {"weight_decay": 0}}),
    ({"training": {"early_stopping": False}}, {"training": {}}),
    (
        {"hardware": {"gpu": "H100", "network": "50 GB/s"}},
        {"hardware": {"gpu": "H100", "network_gbit": 400}},
    ),
    (
        {"hardware": {"gpu": "H100", "network": "InfiniBand NDR"}},
        {"hardware": {"gpu": "H100", "network_gbit": 400}},
    ),
    (
        {"data": {"source": "c.csv", "columns": ["prompt", "completion"]}},
        {"data": {"source": "c.csv", "columns": {"prompt": "prompt", "completion": "completion"}}},
    ),
    (
        {"data": {"source": "c.csv", "type": "alpaca"}},
        {"data": {"source": "c.csv", "form": "instruction"}},
    ),
    (
        {"data": {"source": "c.csv", "format": "sharegpt"}},
        {"data": {"source": "c.csv", "form": "chat"}},
    ),
    ({"training_args": {"epochs": 2}}, {"training": {"epochs": 2}}),
    ({"peft_config": {"rank": 8}}, {"method": {"rank": 8}}),
    ({"method": {"finetuning_type": "full"}}, {"method": {"type": "full"}}),
    ({"export": {"gguf": ["q4_k_m", "f16"]}}, {"export": {"types": ["Q4_K_M", "F16"]}}),
    # any of three
    ({"distribution": "deepspeed"}, {"distribution": "deepspeed"}),
    # neither the name nor the value is like that of a field, and no tool has the key
    ({"training": {"often": 10}}, {"training": {"often": 10}}),
    ({"training": {"log_every": 10}}, {"training": {}}),
]


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ({"method": {"r": 8}}, {"method": {"rank": 8}}),
        ({"method": {"target_modules": ["q_proj"]}}, {"method": {"targets": ["q_proj"]}}),
        ({"training": {"lr": 1e-4}}, {"training": {"learning_rate": 1e-4}}),
        # unsafe: other programs mean the rows of one process by it
        ({"training": {"batch_size": 8}}, {"training": {"global_batch": 8}}),
        ({"method": {"r": "a lot"}}, {"method": {"r": "a lot"}}),
        ({"method": {"r": 8, "rank": 16}}, {"method": {"r": 8, "rank": 16}}),
        *WRITTEN_ELSEWHERE,
    ],
)
def test_a_name_of_another_program_is_renamed(
    written: Mapping[str, Any], fixed: Mapping[str, Any], tmp_path: Path
) -> None:
    """A fix does what the help suggests, where the field takes the value."""
    base = {"name": "case", "model": "a/b", "data": "c.csv"}
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({**base, **written}), encoding="utf-8")
    document = _load(path)
    assert document is not None
    found = [finding for finding in _judge(document, None) if finding.fix]

    assert _apply(document, found, path).data == {**base, **fixed}


def test_a_reward_names_its_kinds(tmp_path: Path) -> None:
    """A key that no reward has says what a reward is made of, not the key that looks like it."""
    path = tmp_path / "spec.json"
    reward = {"type": "grpo", "rewards": [{"name": "my_judge"}]}
    text = json.dumps({"name": "case", "model": "a/b", "data": "c.csv", "objective": reward})
    path.write_text(text, encoding="utf-8")
    document = _load(path)
    assert document is not None
    (finding,) = _judge(document, None)

    assert finding.code == "FTC032"
    assert "a reward has no key `name`" in finding.message
    assert finding.help == "give it one of `match`, `regex`, `json_schema` or `functions`"


def _load(path: Path) -> Document | None:
    document = load_document(str(path))
    return document if isinstance(document, Document) else None


def _judge(document: Document, facts: Facts | None) -> tuple[Finding, ...]:
    """Return the findings with the fixes that apply to the document."""
    spec = validate(document)
    if isinstance(spec, tuple):
        return write_fixes(spec, document)
    if facts is None:
        return ()
    every = known(facts)
    plan = None if every is None else make_plan(spec, every)
    found = vet_fixes(spec, facts, run_checks(spec, facts, plan))
    return write_fixes(locate_all(document, found), document)


def _apply(document: Document, findings: Sequence[Finding], path: Path) -> Document:
    """Return the document that fixes lead to."""
    edit = edit_yaml if path.suffix == ".yaml" else None
    path.write_text(repair(document.text, findings, edit).text, encoding="utf-8")
    after = _load(path)
    assert after is not None, path.read_text(encoding="utf-8")
    return after


def _errors(findings: Sequence[Finding]) -> set[str]:
    return {finding.code for finding in findings if finding.severity == "error"}


def _told(findings: Sequence[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.code, finding.message) for finding in findings)


def _hold(document: Document, facts: Facts | None, path: Path) -> None:
    """Hold a document to what fixes promise, one by one and then together."""
    before = _judge(document, facts)
    valid = not isinstance(validate(document), tuple)
    for finding in (each for each in before if each.fix):
        after = _judge(fixed := _apply(document, [finding], path), facts)
        assert not valid or not isinstance(validate(fixed), tuple), fixed.text
        assert not valid or _errors(after) <= _errors(before), (finding.code, fixed.text)
        same = [each for each in before if each.code == finding.code and each is not finding]
        left = [each for each in after if each.code == finding.code]
        assert _told(left) <= _told(same), (fixed.text, left)
    for _ in range(_ROUNDS):
        found = [each for each in _judge(document, facts) if each.fix]
        if not found:
            break
        document = _apply(document, found, path)
    assert not [each for each in _judge(document, facts) if each.fix], document.text
    assert not valid or not isinstance(validate(document), tuple), document.text


def _in_two_tiers() -> list[Any]:
    """List the cases of all rules; `make test` tries every third one, `make prove` the others."""
    return [
        pytest.param(*case.values, id=case.id, marks=[pytest.mark.prove] if number % 3 else [])
        for number, case in enumerate(_cases())
    ]


def _agrees(finding: Finding) -> bool:
    """Return whether the help text names a field or a value of the fix, or says to leave it out."""
    help_ = finding.help.lower()
    for step in finding.fix:
        field = step["path"].rpartition("/")[2].lower()
        if field in help_ or field.replace("_", " ") in help_:
            return True
        value = step.get("value")
        neutral = step["op"] == "remove" or value in ("auto", "none", [], 0, None, False)
        if neutral and re.search(r"remove|leave|keep one|nothing|without|did you mean", help_):
            return True
        if any(word in help_ for word in _words(value)):
            return True
    return False


def _words(value: Any) -> list[str]:
    """Return how a help text may write a value, and the values and keys inside it."""
    if isinstance(value, Mapping | list):
        inner = [*value, *value.values()] if isinstance(value, Mapping) else value
        return [word for each in inner for word in _words(each)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [f"{value:,}", f"{value:g}", f"{value:.0%}"]
    return [str(value).lower()] if value is not None else []


@pytest.mark.parametrize("edits", _in_two_tiers())
def test_fixes_of_rules(edits: Mapping[str, Any], tmp_path: Path) -> None:
    """What a rule repairs is repaired, in the form that a person writes, as its help says."""
    _, facts = build_case(edits)
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(_written(edits)), encoding="utf-8")
    document = _load(path)
    assert document is not None
    for finding in _judge(document, facts):
        # offers are in words of their own, see tests/compiler/plan/test_offers.py
        assert not finding.fix or finding.code == "FTC420" or _agrees(finding), finding.help
    _hold(document, facts, path)


def _pairs() -> list[Any]:
    """List two cases at a time: some whose fix once led to another error, and some by chance."""
    cases = {str(case.id): case.values[0] for case in _cases()}
    codes = ("FTC186", "FTC560"), ("FTC425", "FTC586"), ("FTC650", "FTC681"), ("FTC327", "FTC426")
    pairs = [(f"{one}-0", f"{other}-0") for one, other in codes]
    draw = random.Random(0)  # noqa: S311 - a sample
    pairs += [(draw.choice(list(cases)), draw.choice(list(cases))) for _ in range(_DRAWN_PAIRS)]
    return [
        pytest.param({**cases[one], **cases[other]}, id=f"{one}-{other}")
        for one, other in pairs
        if _are_apart(cases[one], cases[other])
    ]


def _are_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether no edit of either case replaces what an edit of the other one is inside."""
    pairs = [(a, b) for a in one for b in other]
    return not any(a.startswith(f"{b}/") or b.startswith(f"{a}/") for a, b in pairs)


@pytest.mark.prove
@pytest.mark.parametrize("edits", _pairs())
def test_no_fix_leads_to_another_error(edits: Mapping[str, Any], tmp_path: Path) -> None:
    """Of two rules, the fix of one breaks nothing that the other case has."""
    _, facts = build_case(edits)
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(_written(edits)), encoding="utf-8")
    document = _load(path)
    assert document is not None
    before = _judge(document, facts)
    if isinstance(validate(document), tuple):
        return  # rules have not seen it yet
    for finding in (each for each in before if each.fix):
        after = _judge(_apply(document, [finding], path), facts)
        assert _errors(after) <= _errors(before), (finding.code, finding.fix)


@pytest.mark.parametrize("source", _bad_specs())
def test_fixes_of_bad_specs(source: Path, tmp_path: Path) -> None:
    """What the language repairs is repaired, in JSON and in YAML."""
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    document = _load(path)
    if document is None:
        pytest.skip("nothing of it can be edited")
    _hold(document, None, path)
