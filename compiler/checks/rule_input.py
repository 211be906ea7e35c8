"""The input of a rule: the spec, the facts that are known, and the plan."""

from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    ModelFacts,
    TeacherFacts,
    TokenizerFacts,
    Unknown,
)
from ftc.compiler.resolve.teacher import as_model
from ftc.spec.sections import Spec

Read = Literal["model", "tokenizer", "data", "hardware", "teacher", "plan"]
F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One spec to check. A rule may read only the facts that it declares."""

    spec: Spec
    facts: Facts
    known_plan: Plan | None

    def has(self, read: Read) -> bool:
        """Return whether this fact, or the plan, is known."""
        if read == "plan":
            return self.known_plan is not None
        return not isinstance(getattr(self.facts, read), Unknown)

    @property
    def model(self) -> ModelFacts:
        """The model's facts."""
        return _known(self.facts.model)

    @property
    def tokenizer(self) -> TokenizerFacts:
        """The tokenizer's facts."""
        return _known(self.facts.tokenizer)

    @property
    def data(self) -> DataFacts:
        """The data's facts."""
        return _known(self.facts.data)

    @property
    def hardware(self) -> HardwareFacts:
        """The machine's facts."""
        return _known(self.facts.hardware)

    @property
    def teacher(self) -> TeacherFacts | None:
        """The teacher's facts; None where the objective has none."""
        return _known(self.facts.teacher)

    @property
    def taught(self) -> "Case | None":
        """The case with the teacher in place of the model; None without a known teacher."""
        teacher = self.facts.teacher
        if teacher is None or isinstance(teacher, Unknown):
            return None
        facts = replace(self.facts, model=teacher.model)
        return replace(self, spec=as_model(self.spec), facts=facts)

    @property
    def plan(self) -> Plan:
        """The plan."""
        if self.known_plan is None:
            raise LookupError("the plan is unknown: declare it in `reads`")
        return self.known_plan


def _known(fact: F | Unknown) -> F:
    if not isinstance(fact, Unknown):
        return fact
    raise LookupError("this fact is unknown: declare it in `reads`")
