"""The teacher of a distillation: how it is loaded, its bytes, and which of its rows are kept."""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.decision import Decision, derived, keep
from ftc.compiler.plan.job import Job, Storage, Teacher
from ftc.compiler.plan.memory.passes import teaching
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.memory.weights import base_weights
from ftc.compiler.plan.objective.sampling import decide_divergence
from ftc.compiler.resolve.facts import KnownFacts, TeacherFacts
from ftc.spec.sections import Precision, Spec, TeacherQuantization

_FP32, _HALF = 4, 2
_STORAGE: Final[dict[TeacherQuantization, Storage]] = {"none": "plain", "nf4": "nf4-double"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Teaching:
    """The decisions; every field is None without a teacher."""

    teacher: Teacher | None = None
    quantization: Decision[TeacherQuantization] | None = None
    rows: Decision[int] | None = None


def decide_teaching(spec: Spec, facts: KnownFacts, precision: Precision) -> Teaching:
    """Decide how the teacher is loaded, in the precision of the training."""
    found = facts.teacher
    if found is None:
        return Teaching()
    quantization = spec.objective.teacher.quantization
    teacher = Teacher(
        shape=shape_of(found.model),
        load_bytes=_FP32 if precision == "fp32" else _HALF,
        storage=_STORAGE[quantization],
        beta=decide_divergence(spec).value,
    )
    return Teaching(
        teacher=teacher,
        quantization=keep(spec, "/objective/teacher/quantization", quantization),
        rows=_rows(facts, found),
    )


def _rows(facts: KnownFacts, found: TeacherFacts) -> Decision[int] | None:
    """Return the rows of embedding and head that the teacher keeps; None where it keeps all.

    The teacher's rows beyond the student's belong to no token of the shared tokenizer. Dropping
    them does not change the other logits.
    """
    own, theirs = facts.model.embedding_rows, found.model.embedding_rows
    if theirs <= own:
        return None
    return derived(own, "teacher_rows", rows=theirs, own=own)


def decide_teacher_bytes(job: Job) -> Decision[int] | None:
    """Return the bytes of the teacher's weights on each process; None without a teacher."""
    taught = teaching(job)
    if taught is None:
        return None
    base = base_weights(taught)
    bits = "4-bit" if taught.storage != "plain" else f"{8 * taught.load_bytes}-bit"
    values = {"parameters": taught.shape.parameters, "bits": bits}
    return derived(base.shared_bytes + base.whole_bytes, "teacher_bytes", **values)
