"""Validation: any JSON value gives a spec or findings; the schema and the validator agree."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.message import Message
from ftc.spec.normal import normalise, said
from ftc.spec.patch import apply_patch
from ftc.spec.pointer import split
from ftc.spec.schema import advise_against, fields, read_schema, read_unsupported
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.text.json_reader import read_json
from ftc.spec.validate import judge as judge_data
from ftc.spec.validate import locate, validate
from ftc.spec.violations import _TRANSLATIONS, find_violations
from tests.messages import say

FULL: dict[str, Any] = {
    "name": "support",
    "model": {"id": "m", "revision": None},
    "data": {
        "source": "a.csv",
        "columns": {"prompt": "q"},
        "cleaning": {},
        "splits": {"test": 0.2},
    },
    "objective": {"type": "sft"},
    "method": {"type": "lora", "rank": 8, "targets": ["q_proj"]},
    "training": {"epochs": 2, "evaluation": {"every_steps": 5}},
    "hardware": "2x A100-80GB",
    "distribution": "zero2",
    "export": ["Q4_K_M"],
    "allow": ["FTC101"],
}
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
CONFLICTS = {"FTC050", "FTC051", "FTC052", "FTC053", "FTC054", "FTC213", "FTC214", "FTC215"}


def document_of(data: Any) -> Document:
    """Return a document with the data, using the reader."""
    text = json.dumps(data, ensure_ascii=False)
    reading = read_json(text)
    assert not reading.findings
    return Document(
        name="-", folder=Path(), text=text, data=reading.data, positions=reading.positions
    )


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


def judge(data: Any) -> Spec | tuple[Finding, ...]:
    """Validate data, and compare the result with the schema."""
    document = document_of(data)
    judged = validate(document)
    found = () if isinstance(judged, Spec) else judged
    null = {("FTC033", "/data/source")} if says_null(data) else set()  # treated as missing
    clean = all(f.code in CONFLICTS or (f.code, f.pointer) in null for f in found)
    assert clean is valid_by_schema(data)
    for finding in judged if isinstance(judged, tuple) else ():
        assert finding.position is not None
        assert finding.message.isprintable(), finding
        assert finding.help.isprintable(), finding
    return judged


def refuse(data: Any) -> tuple[Finding, ...]:
    """Return the findings on a spec that is not valid."""
    judged = judge(data)
    assert not isinstance(judged, Spec)
    return judged


def says_null(data: Any) -> bool:
    """Whether the data's source, or its list of sources, is written and may be null."""
    inner = data.get("data") if isinstance(data, dict) else None
    return isinstance(inner, dict) and not inner.keys().isdisjoint({"source", "sources"})


def valid_by_schema(data: Any) -> bool:
    """Whether the plain library accepts the data; it lets `$` match before a line feed."""
    return "\\n" not in json.dumps(data) and bool(
        Draft202012Validator(read_schema()).is_valid(data)
    )


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
            follow(data, step["path"])[step["path"].rpartition("/")[2]] = moved
            continue
        holder, key = follow(data, step["path"]), step["path"].rpartition("/")[2]
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


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        ({"method": "DoRA"}, {"method": {"dora": True}}),
        ({"method": {"type": "pissa", "rank": 8}}, {"method": {"init": "pissa", "rank": 8}}),
        ({"method": "nf4"}, {"method": {"type": "qlora", "quantization": "nf4"}}),
        ({"objective": "ipo"}, {"objective": {"type": "dpo", "loss": "ipo"}}),
        ({"objective": "dapo"}, {"objective": {"type": "grpo", "policy_loss": "dapo"}}),
        ({"export": ["fp8", "Q8_0"]}, {"export": {"types": ["Q8_0"], "vllm": ["FP8"]}}),
        ({"export": "fp8"}, {"export": {"vllm": ["FP8"]}}),
        (
            {"export": {"types": ["w4a16"], "vllm": ["FP8"]}},
            {"export": {"types": [], "vllm": ["FP8", "W4A16"]}},
        ),
    ],
)
def test_a_word_of_another_field_moves_there(part: dict[str, Any], fixed: dict[str, Any]) -> None:
    """It is the name of a switch, a word of a list, or one that a value of its field reads."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    assert finding.code == "FTC035"
    assert finding.fix_safety == "safe"
    assert apply_patch(spec, finding.fix) == {**spec, **fixed}
    assert judge_data(apply_patch(spec, finding.fix)) == []


@pytest.mark.parametrize(
    ("part", "help_"),
    [
        ({"tracking": ["wandb", "tensorboard"]}, "`wandb` or `tensorboard`"),
        ({"training": {"evaluation": {"metric": ["rouge_l", "chrf"]}}}, "`rouge_l` or `chrf`"),
        ({"training": {"learning_rate": [1e-3, 2e-3]}}, "`0.001` or `0.002`"),
    ],
)
def test_several_values_for_a_field_that_takes_one(part: dict[str, Any], help_: str) -> None:
    """The help names them; nothing says which one is wanted."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    help_ = f"write one of {help_}; `ftc sweep` makes a bundle for each of several values"
    assert (finding.code, finding.help, finding.fix) == ("FTC034", help_, ())


@pytest.mark.parametrize(
    ("section", "name", "written", "meant", "safety"),
    [
        ("training", "warmup", "3%", 0.03, "safe"),
        ("launch", "hours", "48h", 48, "safe"),
        ("launch", "hours", "90 min", 1.5, "safe"),
        ("launch", "hours", "24:00", 24, "unsafe"),
        ("training", "epochs", "1 epoch", 1, "safe"),
        ("training", "epochs", "two passes", 2, "safe"),
        ("training", "epochs", "2 days", 2, "unsafe"),
        ("training", "learning_rate", "0,0002", 0.0002, "safe"),
        ("training", "max_steps", "1,000 steps", 1000, "unsafe"),
        ("training", "max_steps", "10k", 10_000, "safe"),
        ("objective", "answer_tokens", "256 tokens", 256, "safe"),
        ("objective", "answer_tokens", "4k", 4096, "unsafe"),
        ("hardware", "ram_gib", "64 GB", 64, "safe"),
        ("hardware", "disk_gib", "500 GB", 500, "unsafe"),
        ("hardware", "count", "2 GPUs", 2, "safe"),
    ],
)
def test_a_number_with_its_unit_is_certain(
    section: str, name: str, written: str, meant: float, safety: str
) -> None:
    """The unit leaves no other reading; two numbers of a clock do."""
    types = {"launch": "slurm", "objective": "grpo"}
    others = {"type": types[section]} if section in types else {}
    spec = {"name": "x", "model": "m", "data": "d.csv", section: {**others, name: written}}
    (finding,) = judge_data(spec)
    assert finding.fix_safety == safety
    assert apply_patch(spec, finding.fix)[section] == {**others, name: meant}


@pytest.mark.parametrize(
    ("part", "meant", "safety"),
    [
        ({"training": {"warmup": 100, "max_steps": 1000}}, 0.1, "unsafe"),
        ({"training": {"warmup": "100 steps", "max_steps": 1000}}, 0.1, "safe"),
        ({"data": {"source": "d.csv", "splits": {"test": 20}}}, 0.2, "unsafe"),
    ],
)
def test_a_number_in_the_place_of_a_share(part: dict[str, Any], meant: float, safety: str) -> None:
    """Steps are a share where their number is known; a small number of rows may be hundredths."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    assert f"did you mean `{meant}`?" in finding.help
    assert (finding.fix[0]["value"], finding.fix_safety) == (meant, safety)
    assert judge_data(apply_patch(spec, finding.fix)) == []


@pytest.mark.parametrize(
    ("section", "value", "said"),
    [
        ("training", {"warmup": 100}, "divide 100 by the number of all steps"),
        ("training", {"warmup": "100 steps"}, "divide 100 by the number of all steps"),
        ("training", {"warmup": 2000, "max_steps": 1000}, "divide 2,000 by the number"),
        ("splits", {"test": 500}, "divide 500 by the number of all rows"),
        ("splits", {"test": "20 rows"}, "divide 20 by the number of all rows"),
        ("splits", {"test": "held_out.csv"}, "not from a file or split of their own"),
        ("splits", {"test": "validation"}, "not from a file or split of their own"),
        ("splits", {"test": "60%"}, "write a number from 0 to 0.5, a share of the rows"),
    ],
)
def test_what_is_no_share_has_no_fix(section: str, value: dict[str, Any], said: str) -> None:
    """The help says how the number becomes a share, or what takes a file."""
    part = (
        {"data": {"source": "d.csv", "splits": value}} if section == "splits" else {section: value}
    )
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert finding.fix == ()
    assert said in finding.help


@pytest.mark.parametrize(
    ("part", "meant", "safety"),
    [
        ({"method": "lroa"}, {"method": "lora"}, "safe"),
        ({"method": "4bit lora"}, {"method": "qlora"}, "unsafe"),
        ({"training": {"precision": "mixed"}}, {"training": {"precision": "auto"}}, "safe"),
        ({"objective": "text-generation"}, {"objective": "sft"}, "safe"),
        ({"objective": "feedback"}, {"objective": "kto"}, "safe"),
        ({"objective": {"loss_on": "answers"}}, {"objective": {"loss_on": "completion"}}, "safe"),
        ({"training": {"epochs": "1_000"}}, {"training": {"epochs": 1000}}, "safe"),
        ({"export": {"merge": True}}, {"export": {}}, "safe"),
        ({"_comment": "mine"}, {}, "safe"),
        (
            {"data": {"source": "d.csv", "splits": "80/10/10"}},
            {"data": {"source": "d.csv", "splits": {"test": 0.1, "validation": 0.1}}},
            "safe",
        ),
        (
            {"data": {"source": "d.csv", "splits": [0.8, 0.15, 0.05]}},
            {"data": {"source": "d.csv", "splits": {"test": 0.05, "validation": 0.15}}},
            "unsafe",
        ),
        (
            {"training": {"args": {"epochs": 2, "seed": 3}}},
            {"training": {"epochs": 2, "seed": 3}},
            "safe",
        ),
        (
            {"training": {"optimizer": {"name": "adamw", "weight_decay": 0.1}}},
            {"training": {"optimizer": "adamw", "weight_decay": 0.1}},
            "safe",
        ),
        (
            {"training": {"early_stopping": {"patience": 3}}},
            {"training": {"early_stopping": 3}},
            "safe",
        ),
        (
            {"data": {"source": "d.csv", "packing": "yes"}},
            {"data": {"source": "d.csv", "packing": "best-fit"}},
            "safe",
        ),
        (
            {"launch": {"type": "slurm", "hours": "12:30:00"}},
            {"launch": {"type": "slurm", "hours": 12.5}},
            "safe",
        ),
        (
            {"export": {"format": "gguf", "types": ["Q8_0"]}},
            {"export": {"types": ["Q8_0"]}},
            "safe",
        ),
        (
            {"data": {"sources": [{"source": "d.csv", "type": "alpaca"}]}},
            {"data": {"sources": [{"source": "d.csv", "form": "instruction"}]}},
            "safe",
        ),
        ({"method": {"rslora": 1}}, {"method": {"rslora": True}}, "safe"),
        ({"method": {"rslora": "0"}}, {"method": {"rslora": False}}, "safe"),
        ({"export": ["Q8_0", "fp16"]}, {"export": ["Q8_0", "F16"]}, "safe"),
        ({"export": ["Q8_0", "ollama"]}, {"export": ["Q8_0"]}, "safe"),
        ({"export": ["safetensors"]}, {"export": []}, "safe"),
        (
            {"training": {"evaluation": {"metric": "loss"}}},
            {"training": {"evaluation": {}}},
            "safe",
        ),
        (
            {"data": {"source": "d.csv", "columns": {"q": "prompt", "completion": "a"}}},
            {"data": {"source": "d.csv", "columns": {"completion": "a", "prompt": "q"}}},
            "unsafe",
        ),
        (
            {"method": "lora", "training": {"lora": {"rank": 8}}},
            {"method": {"type": "lora", "rank": 8}, "training": {}},
            "safe",
        ),
    ],
)
def test_what_is_written_otherwise_is_repaired(
    part: dict[str, Any], meant: dict[str, Any], safety: str
) -> None:
    """Transposed letters, other programs' words, and what ftc does without being told."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    fixed = apply_patch(spec, finding.fix)
    assert fixed == {**{key: spec[key] for key in spec if key != "_comment"}, **meant}
    assert finding.fix_safety == safety
    assert judge_data(fixed) == []


@pytest.mark.parametrize(
    "training",
    [
        {"optimizer": {"lr": 1e-4, "weight_decay": 0.1}},
        {"optimizer": {"name": "adamw", "type": "lion"}},
        {"optimizer": {"name": "adamw", "weight_decay": 0.1}, "weight_decay": 0.2},
    ],
)
def test_an_object_without_one_value_for_its_field_has_no_fix(training: dict[str, Any]) -> None:
    """Nothing says what the field itself is, or two things say it."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", "training": training})
    assert (finding.code, finding.fix) == ("FTC034", ())


@pytest.mark.parametrize("part", [{"export": ["ollama"]}, {"export": ["gguf"]}])
def test_an_output_that_ftc_does_not_write_alone_has_no_fix(part: dict[str, Any]) -> None:
    """The user chooses a type."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert (finding.code, finding.fix) == ("FTC041", ())


def test_a_misspelt_key_is_renamed_whatever_its_value() -> None:
    """What the field takes is said with it, and the value is judged in its place."""
    spec = {"name": "x", "model": "m", "data": "d.csv", "training": {"lerning_rate": "high"}}
    (finding,) = judge_data(spec)
    assert "it takes `auto` or a number" in finding.help
    fixed = apply_patch(spec, finding.fix)
    assert fixed["training"] == {"learning_rate": "high"}
    assert [each.code for each in judge_data(fixed)] == ["FTC035"]


def test_the_sources_of_a_mixture_have_other_names_for_their_keys() -> None:
    """As in the section around them: the fixes move them within their item."""
    items = [{"path": "a.jsonl", "ratio": 0.7}, {"file": "b.csv", "probability": "0.3"}]
    spec: dict[str, Any] = {"name": "x", "model": "m", "data": items}
    for _ in range(6):
        found = judge_data(spec)
        if not found:
            break
        assert all(each.fix_safety == "safe" and each.fix for each in found), found
        spec = apply_patch(spec, found[0].fix)
    assert spec["data"] == {
        "sources": [{"source": "a.jsonl", "weight": 0.7}, {"source": "b.csv", "weight": 0.3}]
    }


@pytest.mark.parametrize("pointer", ["/training/max_steps", "/data/max_rows"])
def test_minus_one_is_no_limit(pointer: str) -> None:
    """As trainers write it: the fix leaves the field out. Another number has none."""
    section, name = split(pointer)
    spec: dict[str, Any] = {"name": "x", "model": "m", "data": {"source": "d.csv"}}
    for number, fixed in ((-1, {}), (-2, None)):
        wrong = {**spec, section: {**spec.get(section, {}), name: number}}
        (finding,) = judge_data(wrong)
        assert finding.code == "FTC036"
        assert bool(finding.fix) == (fixed is not None)
        if finding.fix:
            assert name not in apply_patch(wrong, finding.fix)[section]
            assert finding.fix_safety == "safe"


@pytest.mark.parametrize(
    ("hardware", "gres", "fixed", "help_"),
    [
        ("1x RTX-4090", "gpu:a100:1", None, "name different things"),
        ("1x A100", "gpu:a100:1", "1x A100", "says the same"),
        ("1x RTX-4090", "gpu:1", "1x RTX-4090", "says the same"),
        ({"count": 1}, "gpu:a100:1", {"count": 1, "gpu": "a100"}, "did you mean"),
        ("2x A100", "gpu:1", None, "another value is set there"),
    ],
)
def test_a_resource_beside_the_hardware_is_not_lost(
    hardware: Any, gres: str, fixed: Any, help_: str
) -> None:
    """Slurm's count and GPU are left out where they are known, and never where they differ."""
    launch = {"type": "slurm", "gres": gres}
    spec = {"name": "x", "model": "m", "data": "d.csv", "hardware": hardware, "launch": launch}
    (finding,) = judge_data(spec)
    assert help_ in finding.help
    assert bool(finding.fix) == (fixed is not None)
    if finding.fix:
        assert apply_patch(spec, finding.fix)["hardware"] == fixed


def test_a_word_that_only_resembles_an_unsupported_one_is_not_taken_for_it() -> None:
    """`sft` shares letters with `oft`, which ftc does not have."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", "method": "sft"})
    assert finding.code == "FTC035"


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


def test_a_list_of_files_is_several_sources() -> None:
    """The fix is the section that was meant; a list that it cannot hold has no fix."""
    document = {**FULL, "data": ["a.csv", "b.csv"]}
    (finding,) = [each for each in find_violations(document) if each.pointer == "/data"]
    value = {"sources": ["a.csv", "b.csv"]}
    assert finding.fix == ({"op": "replace", "path": "/data", "value": value},)
    assert "sources" in finding.help
    (finding,) = [
        each for each in find_violations({**FULL, "data": [1]}) if each.pointer == "/data"
    ]
    assert finding.fix == ()


def test_a_number_in_place_of_a_text_gets_quotes() -> None:
    """A whole number is a sound name; nothing else is one."""
    (finding,) = find_violations({**FULL, "name": 123})
    assert finding.fix == ({"op": "replace", "path": "/name", "value": "123"},)
    assert finding.help == 'write it in quotes: `"123"`'
    for other in (True, 1.5, -3):
        (finding,) = find_violations({**FULL, "name": other})
        assert finding.fix == ()


@pytest.mark.parametrize(
    ("pointer", "written", "meant"),
    [
        ("/data/max_length", "4k", 4096),
        ("/objective/answer_tokens", "32K tokens", 32768),
        ("/objective/answer_tokens", "2k", 2048),
        ("/data/max_rows", "4k", 4000),
    ],
)
def test_a_kilo_is_that_of_the_field(pointer: str, written: str, meant: int | None) -> None:
    """Lengths in tokens are counted in powers of two, rows are not."""
    section, name = pointer[1:].split("/")
    base = {"data": {"source": "a.jsonl"}, "objective": {"type": "grpo"}}[section]
    findings = refuse({**FULL, section: {**base, name: written}})
    fixes = [step["value"] for each in findings if each.pointer == pointer for step in each.fix]
    assert fixes == ([] if meant is None else [meant])


@pytest.mark.parametrize("section", ["", "training"])
def test_a_batch_beside_steps_is_that_of_one_pass(section: str) -> None:
    """By itself `batch_size` may be the whole batch; steps of accumulation multiply it."""
    keys = {"batch_size": 4, "gradient_accumulation_steps": 2}
    spec = {**FULL, "hardware": "2x L4", **({section: keys} if section else keys)}
    rows, steps = refuse(spec)
    assert "micro_batch`" in rows.help
    assert rows.fix_safety == "unsafe"
    assert "4 rows \u00d7 2 steps \u00d7 2 GPUs" in steps.help
    (alone,) = refuse({**FULL, "hardware": "L4", "training": {"batch_size": 4}})
    assert "global_batch`" in alone.help


def test_a_key_that_contradicts_a_field_says_what_it_asks_for() -> None:
    """Without the value it would be unclear what the two disagree about."""
    (finding,) = refuse({**FULL, "method": "full", "load_in_4bit": True})
    assert finding.fix == ()
    assert "`method.type` with the value `qlora`" in finding.help


def test_an_empty_section_is_left_out() -> None:
    """YAML reads `training:` above keys that are not indented as null; a needed section stays."""
    for section in ("training", "objective", "export"):
        (finding,) = refuse({**FULL, section: None})
        assert finding.fix == ({"op": "remove", "path": f"/{section}"},)
    findings = refuse({**FULL, "data": None})
    assert all(not finding.fix for finding in findings)


def test_a_small_number_is_no_gpu() -> None:
    """It counts GPUs: in quotes it would be another mistake. A model number is quoted."""
    (finding,) = refuse({**FULL, "hardware": 8})
    assert (finding.code, finding.fix) == ("FTC034", ())
    (finding,) = refuse({**FULL, "hardware": 4090})
    assert finding.fix[0]["value"] == "4090"


def test_the_advice_on_a_malformed_item_has_an_example() -> None:
    """The example is an item of the list's own."""
    launch = {"type": "slurm", "modules": ["cuda/12.4", "$(whoami)"]}
    (finding,) = find_violations({**FULL, "launch": launch})
    assert (finding.pointer, finding.help) == (
        "/launch/modules/1",
        'write text such as `"cuda/12.4"`',
    )


def test_the_keys_of_a_moved_section_are_reported_with_it() -> None:
    """A section under another tool's name is moved whole, with the names of that tool inside."""
    train = {"num_train_epochs": "3", "learningRate": 2e-4}
    data = {name: value for name, value in FULL.items() if name != "training"} | {"train": train}
    found = refuse(data)
    assert isinstance(found, tuple)
    assert [each.pointer for each in found] == [
        "/train",
        "/train/num_train_epochs",
        "/train/learningRate",
    ]
    repaired = apply_patch(data, found[0].fix)
    assert repaired["training"] == {"epochs": 3, "learning_rate": 2e-4}


@pytest.mark.parametrize(
    "export",
    [["Q4_K_M", "Q4_K_M"], ["q4_k_m", "Q4_K_M"], ["Q4_K_M", "Q8_0", "q4_k_m", "Q8_0"]],
)
def test_a_repaired_list_holds_no_item_twice(export: list[str]) -> None:
    """A second item is removed, and so is one whose repair is in the list already."""
    data: Any = {**FULL, "export": export}
    for _ in range(3):
        found = [finding for finding in find_violations(data) if finding.fix]
        if not found:
            break
        data = apply_patch(data, found[0].fix)
    assert sorted(data["export"]) == sorted(set(data["export"]))
    assert not list(find_violations(data))


def test_a_list_of_one_word_is_the_word() -> None:
    """A field that takes no list gets its item; a list of two has no such repair."""
    (finding,) = find_violations({**FULL, "method": ["lora"]})
    assert finding.fix == ({"op": "replace", "path": "/method", "value": "lora"},)
    (finding,) = find_violations({**FULL, "method": ["lora", "qlora"]})
    assert finding.fix == ()


@pytest.mark.parametrize(
    "part",
    [
        {"export": [{"type": "Q4_K_M"}]},
        {"allow": [{"name": "FTC225"}]},
        {"data": {"source": "d.csv", "columns": {"prompt": {"name": "q"}}}},
        {"data": {"source": "d.csv", "splits": [0.8, None, {}]}},
        {"data": {"source": "d.csv", "splits": "1/2/3"}},
        {"data": {"source": "d.csv", "splits": [10, 10, 80]}},
        {"training": {"evaluation": {"metric": {"name": "rouge_l"}}}},
        {"hardware": {"gpu": ["A100-80GB", "A100-80GB"]}},
    ],
)
def test_an_object_or_a_list_where_none_is_taken_has_no_fix(part: dict[str, Any]) -> None:
    """Nothing is moved out of a list, a choice of names or a section in a section."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert (finding.code, finding.fix) == ("FTC034", ())
    assert "ftc sweep" not in finding.help
