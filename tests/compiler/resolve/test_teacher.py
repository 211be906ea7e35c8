"""The teacher of a distillation: resolved, planned, locked and checked like the model."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import Outcome, compile_bundle, write
from ftc.compiler.resolve.facts import TeacherFacts
from tests.tiny_models import add_to, write_model, write_rows


def compile_here(folder: Path, teacher: Any = "./teacher", **sections: Any) -> Outcome:
    """Compile a distillation in the folder, and write its bundle where it is sound."""
    spec: dict[str, Any] = {
        "name": "taught",
        "model": "./student",
        "data": "tickets.csv",
        "objective": {"type": "distill", "teacher": teacher},
        "hardware": "1x RTX 4090",
        **sections,
    }
    path = folder / "taught.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    outcome = compile_bundle(str(path))
    if not outcome.failed:
        write(outcome)
    return outcome


def found(outcome: Outcome, code: str) -> list[str]:
    """Return the pointers of the findings with this code."""
    return [finding.pointer for finding in outcome.findings if finding.code == code]


def teacher_of(outcome: Outcome) -> TeacherFacts:
    """Return the teacher's facts."""
    assert outcome.facts is not None
    assert isinstance(outcome.facts.teacher, TeacherFacts)
    return outcome.facts.teacher


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a student and a wider teacher of the same tokenizer, with more rows."""
    write_model(tmp_path / "student", rows=8)
    write_model(tmp_path / "teacher", rows=136)
    add_to(tmp_path / "teacher" / "config.json", hidden_size=512, intermediate_size=1024)
    write_rows(tmp_path)
    return tmp_path


def test_a_teacher_is_in_facts_plan_and_scripts(folder: Path) -> None:
    """Its bytes in 16 bits, the rows that it keeps, and its path as seen from the bundle."""
    outcome = compile_here(folder)
    assert not outcome.failed, outcome.findings
    taught, plan = teacher_of(outcome), outcome.plan
    assert plan is not None
    decided = plan.decisions.items()

    assert taught.vocabulary == "same"
    assert decided["teacher_bytes"].value == 2 * taught.model.parameters
    assert plan.memory.parts["teacher"]["static"] > 2 * taught.model.parameters
    assert outcome.facts is not None
    rows = outcome.facts.model.embedding_rows  # type: ignore[union-attr]
    assert decided["teacher_rows"].value == rows == taught.model.embedding_rows - 128
    texts = {file.name: file.text for file in outcome.files}
    assert 'TEACHER = "../teacher"' in texts["train.py"]
    assert f"TEACHER_ROWS = {rows}" in texts["evaluate.py"]
    assert "[--teacher TEACHER]" in texts["run.sh"]


def test_a_lock_holds_the_teacher(folder: Path) -> None:
    """It is enough without the teacher's folder; another teacher is looked up again."""
    first = compile_here(folder)
    lock = json.loads((folder / "taught/ftc.lock.json").read_text(encoding="utf-8"))
    assert lock["facts"]["teacher"]["model"]["id"] == "../teacher"  # as the bundle sees it
    (folder / "teacher").rename(folder / "moved")

    known, again = teacher_of(first).model, teacher_of(compile_here(folder)).model
    assert again == replace(known, id="teacher", path="teacher")
    assert found(compile_here(folder, "./gone"), "FTC100") == ["/objective/teacher"]
    assert teacher_of(compile_here(folder, {"id": "./moved"})).model.id == "./moved"


def test_a_changed_teacher_is_a_warning(folder: Path) -> None:
    """The lock's facts are of other bytes."""
    compile_here(folder)
    add_to(folder / "teacher" / "config.json", rms_norm_eps=1e-6)

    changed = [f for f in compile_here(folder).findings if f.pointer == "/objective/teacher"]
    assert changed[0].severity == "warning"


def test_the_spec_of_a_bundle_compiles_again(folder: Path) -> None:
    """Its teacher is seen from the bundle's folder, in the short form and in the long one."""
    assert not compile_here(folder, {"id": "./teacher", "quantization": "nf4"}).failed
    carried = folder / "taught" / "spec.json"
    written = json.loads(carried.read_text(encoding="utf-8"))
    assert written["objective"]["teacher"] == {"id": "../teacher", "quantization": "nf4"}
    assert not compile_bundle(str(carried)).failed
    compile_here(folder)
    written = json.loads(carried.read_text(encoding="utf-8"))
    assert written["objective"]["teacher"] == "../teacher"


def _other_tokenizer(folder: Path) -> None:
    path = folder / "teacher" / "tokenizer.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    words = data["model"]["vocab"]
    data["added_tokens"][-1]["content"] = "<another>"
    if isinstance(words, dict):
        first, second = list(words)[20:22]
        words[first], words[second] = words[second], words[first]
    path.write_text(json.dumps(data), encoding="utf-8")


BROKEN: Mapping[str, tuple[str, Any]] = {
    "missing": ("FTC100", lambda folder: (folder / "teacher").rename(folder / "moved")),
    "other tokens": ("FTC565", _other_tokenizer),
    "fewer rows": ("FTC565", lambda folder: write_model(folder / "teacher")),
    "quantized": (
        "FTC139",
        lambda folder: add_to(
            folder / "teacher/config.json", quantization_config={"quant_method": "gptq"}
        ),
    ),
    "pickled": ("FTC139", lambda folder: (folder / "teacher/pytorch_model.bin").write_bytes(b"x")),
    "of another type": (
        "FTC111",
        lambda folder: add_to(
            folder / "teacher/config.json", architectures=["NewForCausalLM"], model_type="brand_new"
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_wrong_teacher_is_one_error_at_its_place(folder: Path, name: str) -> None:
    """No traceback, and nothing is said of the model."""
    code, spoil = BROKEN[name]
    spoil(folder)
    outcome = compile_here(folder)

    errors = [finding for finding in outcome.findings if finding.severity == "error"]
    assert {finding.code for finding in errors} == {code}, errors
    assert {finding.pointer for finding in errors} == {"/objective/teacher"}


def test_the_student_cannot_teach_itself(folder: Path) -> None:
    """By another path to the same folder too."""
    assert found(compile_here(folder, "./teacher/../student"), "FTC566") == ["/objective/teacher"]


def test_a_teacher_of_the_hub_is_pinned(
    tmp_path: Path, hub: Any, model_folder: Path, model_files: dict[str, bytes]
) -> None:
    """Its newest commit goes to the lock and to the scripts; a gated one is an error."""
    config = {**json.loads(model_files["config.json"]), "hidden_size": 128}
    files = model_files | {"config.json": json.dumps(config).encode(), "model.safetensors": b""}
    hub.add("models/owner/teacher", files, cardData={"license": "cc-by-nc-4.0"})
    hub.add("models/owner/gated", files)
    hub.gated.add("models/owner/gated")
    write_rows(tmp_path)
    outcome = compile_here(tmp_path, "owner/teacher", model=f"./{model_folder.name}")

    assert teacher_of(outcome).model.revision == "a" * 40
    assert found(outcome, "FTC137") == ["/objective/teacher"]
    texts = {file.name: file.text for file in outcome.files}
    assert f'TEACHER_REVISION = "{"a" * 40}"' in texts["train.py"]
    assert "licence of the teacher" in texts["README.md"]
    gated = compile_here(tmp_path, "owner/gated", model=f"./{model_folder.name}")
    errors = [finding for finding in gated.findings if finding.severity == "error"]
    assert [(each.code, each.pointer) for each in errors] == [("FTC107", "/objective/teacher")]


def test_offline_the_table_stands_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A well-known teacher is planned by the table; of an unknown one nothing is known."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    known = compile_here(folder, "Qwen/Qwen2.5-7B-Instruct", model="Qwen/Qwen2.5-0.5B-Instruct")
    assert not known.failed
    assert "/objective/teacher" in found(known, "FTC123")
    assert known.plan is not None
    assert known.plan.decisions.items()["teacher_rows"].value == 151_936

    unknown = compile_here(folder, "nobody/unknown-teacher")
    assert unknown.plan is None
    assert [f.pointer for f in unknown.findings if f.severity == "error"] == ["/objective/teacher"]
    other = compile_here(
        folder, "meta-llama/Llama-3.1-8B-Instruct", model="Qwen/Qwen2.5-0.5B-Instruct"
    )
    assert found(other, "FTC565") == ["/objective/teacher"]


def test_a_teacher_that_is_too_large_is_offered_in_4_bits(folder: Path) -> None:
    """The plan does not fit, and the fix loads the teacher in 4 bits."""
    model, teacher = "Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-14B-Instruct"
    large = compile_here(folder, teacher, model=model)
    assert large.failed
    assert large.plan is not None
    offered = [each for each in large.plan.alternatives if "4 bits" in str(each.words)]
    written = {"id": teacher, "quantization": "nf4"}
    assert {"op": "add", "path": "/objective/teacher", "value": written} in offered[0].fix

    small = compile_here(folder, written, model=model)
    assert small.plan is not None
    assert small.plan.memory.fits


def test_a_bundle_can_teach(folder: Path) -> None:
    """A teacher that another bundle is still to train is planned by that bundle's lock."""
    spec = {"name": "first", "model": "./teacher", "data": "tickets.csv", "hardware": "cpu"}
    (folder / "first.json").write_text(json.dumps(spec), encoding="utf-8")
    write(compile_bundle(str(folder / "first.json")))
    outcome = compile_here(folder, "./first")

    assert teacher_of(outcome).model.origin == "bundle"
    assert found(outcome, "FTC562") == ["/objective/teacher"]
    assert 'TEACHER = "../first/run/merged"' in {f.name: f.text for f in outcome.files}["train.py"]


def test_other_objectives_have_no_teacher(folder: Path) -> None:
    """A teacher that nothing reads is refused; without one the facts have none."""
    written = {"type": "sft", "teacher": "./teacher"}
    assert found(compile_here(folder, objective=written), "FTC050")
    plain = compile_here(folder, objective="sft")
    assert plain.facts is not None
    assert replace(plain.facts, teacher=None) == plain.facts
