"""Validation: any JSON value gives a spec or findings; the schema and the validator agree."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.message import Message
from ftc.spec.normal import normalise, said
from ftc.spec.pointer import split
from ftc.spec.schema import advise_against, fields, read_schema, read_unsupported
from ftc.spec.sections import Spec
from ftc.spec.validate import locate, validate
from ftc.spec.violations import _TRANSLATIONS, find_violations
from tests.messages import say
from tests.spec.validating import FULL, document_of, judge

POINTERS = [field.name.split(".") for field in fields()]
KEYS = st.sampled_from(sorted({path[-1] for path in POINTERS})) | st.text(max_size=6)
EXAMPLES = st.sampled_from([example for field in fields() for example in field.schema["examples"]])
WORDS = st.sampled_from(
    ["auto", "lora", "qlora", "full", "zero3", "chat", "2x cpu", "0x A", "FTC101"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 0.5, 2.0, 10**400, -1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | WORDS
    | EXAMPLES
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
CHANGES = st.lists(st.tuples(st.sampled_from(POINTERS), VALUES | EXAMPLES), min_size=1, max_size=4)


def changed(changes: list[tuple[list[str], Any]]) -> dict[str, Any]:
    """Return a valid spec with some of its fields replaced."""
    data = copy.deepcopy(FULL)
    for path, value in changes:
        inner: Any = data
        for key in path[:-1]:
            if not isinstance(inner.get(key), dict):
                inner[key] = {}
            inner = inner[key]
        inner[path[-1]] = copy.deepcopy(value)
    return data


@given(VALUES.filter(lambda value: "\\n" not in json.dumps(value)))
def test_any_json(value: Any) -> None:
    """Any JSON value gives findings or a spec, never an exception."""
    judge(value)


@given(CHANGES.filter(lambda changes: "\\n" not in json.dumps(changes)))
def test_any_change_of_a_spec(changes: list[tuple[list[str], Any]]) -> None:
    """A spec with some of its fields changed gives findings or a spec, as the schema says."""
    judge(changed(changes))


@given(CHANGES)
def test_fixes_apply(changes: list[tuple[list[str], Any]]) -> None:
    """A fix is a patch that applies, and its finding is gone afterwards."""
    data = changed(changes)
    judged = validate(document_of(data))
    for finding in judged if isinstance(judged, tuple) else ():
        if not finding.fix:
            continue
        after = validate(document_of(patched(data, finding.fix)))
        left = after if isinstance(after, tuple) else ()
        assert (finding.code, finding.pointer) not in {(it.code, it.pointer) for it in left}


def patched(data: Any, patch: Any) -> Any:
    """Apply the operations that fixes use."""
    data = copy.deepcopy(data)
    for step in patch:
        if step["op"] == "move":
            moved = follow(data, step["from"]).pop(split(step["from"])[-1])
            follow(data, step["path"])[split(step["path"])[-1]] = moved
            continue
        holder, key = follow(data, step["path"]), split(step["path"])[-1]
        at = int(key) if isinstance(holder, list) else key
        if step["op"] == "remove":
            del holder[at]
        else:
            holder[at] = step["value"]
    return data


def follow(data: Any, pointer: str) -> Any:
    """Return what holds the value at a pointer."""
    for part in split(pointer)[:-1]:
        data = data[int(part) if isinstance(data, list) else part]
    return data


@pytest.mark.parametrize(
    ("written", "gpu", "count"),
    [
        ("2x A100-80GB", "A100-80GB", 2),
        ("A100-80GB x2", "A100-80GB", 2),
        ("RTX 4090 x 8", "RTX 4090", 8),
        ("RTX 4090 * 2", "RTX 4090", 2),
        ("two A100", "A100", 2),
        ("Dues RTX-4090", "RTX-4090", 2),
        ("dual 3090", "3090", 2),
        ("Quad L40S", "L40S", 4),
        ("Quadro GTX 2", "Quadro GTX 2", "auto"),
        ("2 x A100-80GB", "A100-80GB", 2),
        ("2\u00d7A100-80GB", "A100-80GB", 2),
        (" 16X  H100 ", "H100", 16),
        ("2x 4090", "4090", 2),
        ("16 xH100", "H100", 16),
        ("7900 XTX", "7900 XTX", "auto"),
        ("9070 XT", "9070 XT", "auto"),
        ("4090", "4090", "auto"),
        ("RTX 4090", "RTX 4090", "auto"),
        ("auto", "auto", "auto"),
        ("cpu", "cpu", "auto"),
        ("2x cpu", "cpu", 2),
    ],
)
def test_hardware(written: str, gpu: str, count: int | str) -> None:
    """A count at the start is parsed in any spelling."""
    spec = judge({**FULL, "hardware": written})
    assert isinstance(spec, Spec)
    assert (spec.hardware.gpu, spec.hardware.count) == (gpu, count)
    assert ("/hardware/count" in spec.said) is (count != "auto")


@pytest.mark.parametrize("written", ["0x A100", "00 x A100", "99999x A100", " ", "a\tb"])
def test_hardware_refused(written: str) -> None:
    """No hardware has such a name or such a count."""
    judged = judge({**FULL, "hardware": written})
    assert isinstance(judged, tuple)
    assert [(it.code, it.pointer) for it in judged] == [("FTC037", "/hardware")]


def test_short_and_long_forms_are_one_spec() -> None:
    """A short form says the same as the object it stands for."""
    short = {**FULL, "model": "m", "data": "d", "objective": "sft", "method": "full"}
    long = {
        **short,
        "model": {"id": "m"},
        "data": {"source": "d"},
        "objective": {"type": "sft"},
        "method": {"type": "full"},
        "hardware": {"gpu": "A100-80GB", "count": 2},
        "distribution": {"strategy": "zero2"},
        "export": {"types": ["Q4_K_M"]},
    }
    assert normalise(short) == normalise(long)
    assert said(short) == said(long)
    assert judge(short) == judge(long)


def test_whole_numbers_written_as_floats() -> None:
    """JSON Schema counts 8.0 as a whole number, and so does the spec."""
    spec = judge({**FULL, "method": {"rank": 8.0}, "training": {"epochs": 3}})
    assert isinstance(spec, Spec)
    assert (type(spec.method.rank), type(spec.training.epochs)) == (int, float)


@pytest.mark.parametrize("name", ["a", "a-b", "0", "a" * 63])
def test_good_names(name: str) -> None:
    """A name has lowercase letters, digits and inner hyphens."""
    assert isinstance(judge({**FULL, "name": name}), Spec)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "a" * 64, "a\n", "é"])
def test_bad_names(name: str) -> None:
    """Everything else is rejected."""
    judged = validate(document_of({**FULL, "name": name}))
    assert isinstance(judged, tuple)
    assert [(it.code, it.pointer) for it in judged] == [("FTC037", "/name")]


@pytest.mark.parametrize("version", [0, 2, 3, -1, 10**30])
def test_other_version(version: int) -> None:
    """A spec of another version gets exactly one finding."""
    judged = validate(document_of({"ftc": version, "x": {}}))
    assert isinstance(judged, tuple)
    assert [it.code for it in judged] == ["FTC031"]
    assert f"version {version} " in judged[0].message


def test_everything_unsupported_is_refused_by_name() -> None:
    """Each entry of the table gives its own finding with its own advice."""
    for pointer in read_unsupported()["keys"]:
        path = pointer[1:].split("/")
        advice = str(Message(f"unsupported.{pointer}"))
        judged = validate(document_of(changed([(path, {})])))
        assert isinstance(judged, tuple)
        assert ("FTC040", pointer, advice) in {(it.code, it.pointer, it.help) for it in judged}
    for pattern, words in read_unsupported()["values"].items():
        path = pattern.removesuffix("/*")[1:].split("/")
        for word in words:
            advice = str(Message(advise_against(pattern, word)))
            value = [word] if pattern.endswith("/*") else word
            judged = validate(document_of(changed([(path, value)])))
            assert isinstance(judged, tuple)
            assert [(it.code, it.help) for it in judged] == [("FTC041", advice)]


ADVISED = [
    ({"export": ["AWQ"]}, "FTC041", "/export/0", "/export/types/*.calibrated"),
    ({"export": "gptq"}, "FTC041", "/export", "/export/types/*.calibrated"),
    ({"export": {"vllm": "awq"}}, "FTC041", "/export/vllm", "/export/vllm/*.calibrated"),
    ({"export": {"onnx": True}}, "FTC040", "/export/onnx", "/export/types/*.converted"),
    ({"export": {"format": "exl2"}}, "FTC041", "/export/format", "/export/types/*.exllama"),
    ({"export": {"type": "mlx"}}, "FTC041", "/export/type", "/export/types/*.mlx"),
    ({"optim": "galore_adamw"}, "FTC041", "/optim", "/training/optimizer.low_rank"),
    ({"training": {"optim": "muon"}}, "FTC041", "/training/optim", "/training/optimizer.matrices"),
    ({"muon": True}, "FTC040", "/muon", "/training/optimizer.matrices"),
    ({"training": {"muon": True}}, "FTC040", "/training/muon", "/training/optimizer.matrices"),
    (
        {"training": {"metric": "BLEU"}},
        "FTC041",
        "/training/metric",
        "/training/evaluation/metric.bleu",
    ),
    ({"report_to": "comet_ml"}, "FTC041", "/report_to", "/tracking/type.others"),
    (
        {"training": {"lr_scheduler_type": "reduce_lr_on_plateau"}},
        "FTC041",
        "/training/lr_scheduler_type",
        "/training/schedule.plateau",
    ),
]


@pytest.mark.parametrize(("part", "code", "pointer", "advice"), ADVISED)
def test_a_word_that_ftc_lacks_gets_its_sentence_where_it_is_written(
    part: dict[str, Any], code: str, pointer: str, advice: str
) -> None:
    """In a list, in place of one, as a key that is turned on, and as the value of an alias."""
    judged = validate(document_of(changed([([key], value) for key, value in part.items()])))
    assert isinstance(judged, tuple)
    (finding,) = judged
    assert (finding.code, finding.pointer) == (code, pointer)
    assert finding.help == str(Message(f"unsupported.{advice}"))


def test_locate_maps_long_pointers() -> None:
    """A finding on the long form has the position of the short form."""
    document = document_of(FULL)
    finding = Finding(code="FTC999", name="n", severity="error", problem=say("m"), remedy=say("h"))
    for long, written in {
        "/hardware/count": "/hardware",
        "/hardware/gpu": "/hardware",
        "/export/types/0": "/export/0",
        "/export/types": "/export",
        "/distribution/strategy": "/distribution",
        "/method/rank": "/method/rank",
        "/training/seed": "/training/seed",
    }.items():
        located = locate(document, replace(finding, pointer=long))
        assert located.pointer == written
        assert located.position is not None
        at = document.text[located.position.column - 1 :]
        assert at.startswith(("{", '"', "[", "8"))


@pytest.mark.parametrize(
    "data",
    [
        {"allow": [0] * 9_000},
        {"export": [{}] * 9_000},
        {"method": {"targets": ["q"] * 9_000}},
        {f"k{number}": 0 for number in range(9_000)},
        {"training": {f"k{number}": 0 for number in range(9_000)}},
    ],
    ids=["allow", "export", "targets", "keys", "inner keys"],
)
@pytest.mark.timeout(20)
def test_work_is_bounded(data: dict[str, Any]) -> None:
    """A spec with 9,000 mistakes is checked in seconds, with at most 110 findings."""
    judged = validate(document_of({**FULL, **data}))
    assert isinstance(judged, tuple)
    assert 1 <= len(judged) <= 110


def test_every_keyword_of_the_schema_has_words() -> None:
    """Every violation of the schema gives a sentence."""
    silent = {"$schema", "$id", "$ref", "$defs", "properties", "items", "title", "description"}
    silent |= {"default", "examples"}
    silent |= {"propertyNames"}  # what it says of a key is a `pattern`
    silent |= {"if", "not", "then"}  # of one key beside another one, which `consistency` tells
    found: set[str] = set()

    def walk(schema: object, *, names: bool = False) -> None:
        if isinstance(schema, dict):
            for key, inner in schema.items():
                if not names:
                    found.add(key)
                if key not in ("default", "examples", "enum", "const") and key[:2] != "x-":
                    walk(inner, names=not names and key in ("properties", "$defs"))
        elif isinstance(schema, list):
            for inner in schema:
                walk(inner)

    walk(read_schema())

    assert {key for key in found if key[:2] != "x-"} - silent <= set(_TRANSLATIONS)


def test_an_empty_reward_is_told() -> None:
    """An object with a missing required choice."""
    objective = {"type": "grpo", "rewards": [{}]}

    found = list(find_violations({"objective": objective}))

    assert any("`objective.rewards[0]` is empty" in finding.message for finding in found)


def test_a_field_that_another_objective_reads_as_well() -> None:
    """`answered_rows` is read if the metric chooses, and always with `grpo`."""
    evaluation = {"evaluation": {"answered_rows": 32}}
    tried = {**FULL, "objective": "grpo", "method": "lora", "training": evaluation}
    assert isinstance(validate(document_of(tried)), Spec)

    found = validate(document_of({**FULL, "training": evaluation}))
    assert not isinstance(found, Spec)
    assert [each.code for each in found] == ["FTC050"]


@pytest.mark.parametrize(
    ("objective", "dropout", "is_read"),
    [("cpt", 0, True), ("cpt", 0.1, True), ("dpo", 0, False), ("orpo", 0, False), ("sft", 0, True)],
)
def test_a_planned_value_is_no_error(objective: str, dropout: float, is_read: bool) -> None:
    """`cpt` reads dropout, and trainers of pairs have none; the plan sees what it may read."""
    said = {**FULL, "objective": objective, "method": {"type": "lora", "dropout": dropout}}
    said["training"] = {}
    spec = validate(document_of(said))
    assert isinstance(spec, Spec), spec
    assert ("/method/dropout" in spec.said) is is_read


def test_a_value_that_nothing_reads_is_an_error() -> None:
    """Dropout would be accepted and then ignored."""
    said = {**FULL, "objective": "dpo", "method": {"type": "lora", "dropout": 0.1}, "training": {}}
    found = validate(document_of(said))
    assert not isinstance(found, Spec)
    assert [each.code for each in found] == ["FTC050"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.5, "`1.5`"),
        (2.0, "`2.0`"),
        (1e9, "`1e9`"),
        (-3e20, "`-3e20`"),
        (123456789.0, "`123456789.0`"),
        (10**9, "`1000000000`"),
    ],
)
def test_a_large_number_is_shown_as_it_is_written(value: float, shown: str) -> None:
    """With an exponent where no digit is lost; the text is JSON of the same number."""
    assert quote(value) == shown
    assert json.loads(shown.strip("`")) == value
