"""The known facts, plan and findings of a draft."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.compilation import Compilation
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    KnownFacts,
    ModelFacts,
    Unknown,
    known,
)
from ftc.compiler.resolve.resolver import Resolver
from ftc.compiler.shortlist import ModelRequirements, Pick, shortlist
from ftc.spec.findings.finding import Finding
from ftc.spec.schema import fields
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate
from ftc.tui.state.draft import Draft, completed, written

#: The field that each fact depends on.
_NEEDED: Final = {
    "model": "/model/id",
    "tokenizer": "/model/id",
    "data": "/data/source",
    "hardware": "/hardware/gpu",
}
#: The prefix of an adapter's decisions; the names of its fields do not have it.
_ADAPTER: Final = "lora_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The known facts about a draft; a fact that depends on an unset field is None.

    `findings` are the problems of the draft, with pointers in the long form.
    """

    spec: Spec | None = None
    facts: Facts | None = None
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def data(self) -> DataFacts | None:
        """The facts of the data, if it is set and could be read."""
        facts = self.facts
        return None if facts is None or isinstance(facts.data, Unknown) else facts.data

    @property
    def model(self) -> ModelFacts | None:
        """The facts of the model's files."""
        facts = self.facts
        return None if facts is None or isinstance(facts.model, Unknown) else facts.model

    @property
    def hardware(self) -> HardwareFacts | None:
        """The facts of the hardware."""
        facts = self.facts
        return None if facts is None or isinstance(facts.hardware, Unknown) else facts.hardware

    @property
    def known(self) -> KnownFacts | None:
        """All four facts, if all are known."""
        return None if self.facts is None else known(self.facts)

    def planned_values(self) -> dict[str, Any]:
        """Return the plan's values by the pointers of their fields, and the number of rows."""
        rows = {} if self.data is None else {"/data/max_rows": self.data.usable_rows}
        if self.plan is None:
            return rows
        decided = self.plan.decisions.items()
        names = {each.pointer: each.name.rpartition(".")[2] for each in fields()}
        planned = {
            at: decided[name].value
            for at, own in names.items()
            for name in (own, f"{_ADAPTER}{own}")
            if name in decided and (name == own or at.startswith("/method/"))
        }
        return planned | rows

    def data_problems(self) -> tuple[Finding, ...]:
        """Return the findings about the data, even if nothing else is known."""
        found = self.findings
        if self.plan is None and self.spec is not None and self.facts is not None:
            found = (*found, *run_checks(self.spec, self.facts, None))
        about = {each.code: each for each in found if each.pointer.startswith("/data")}
        return tuple(about.values())


@dataclass(slots=True)
class Observer:
    """Looks up facts about drafts; a fact is looked up again only if its part of the draft changes.

    Facts come from the current files and the Hub, never from the lock of a bundle. `listed` is the
    last shortlist, with its wish.
    """

    folder: Path
    resolver: Resolver = field(default_factory=Resolver)
    listed: tuple[ModelRequirements, tuple[Pick, ...]] | None = None

    def look(self, draft: Draft, *, offers: bool = True) -> Situation:
        """Return the situation of a draft; reads files, and queries the Hub if necessary.

        Facts that depend on an unset field are not looked up. Without `offers`, a plan that does
        not fit lists no changes that would fit, and no finding has a fix, since these take longer
        than planning.
        """
        data = completed(draft)
        text = json.dumps(data)
        document = Document(name="draft", folder=self.folder, text=text, data=data, positions={})
        spec = validate(document)
        if isinstance(spec, tuple):
            return Situation(findings=spec)
        compilation = Compilation(
            document,
            spec,
            update=True,
            resolver=self.resolver,
            unsaid=[fact for fact, pointer in _NEEDED.items() if not draft.has(pointer)],
            offers=offers,
        )
        return Situation(
            spec=spec,
            facts=compilation.facts,
            plan=compilation.plan,
            findings=compilation.judged,
        )

    def shortlist(self, wish: ModelRequirements) -> tuple[Pick, ...]:
        """Return the shortlist for a wish; the last shortlist is reused for the same wish."""
        if self.listed is None or self.listed[0] != wish:
            self.listed = wish, shortlist(wish)
        return self.listed[1]

    def find_missing(self, draft: Draft) -> tuple[Finding, ...]:
        """Return the schema's findings about the spec of a draft."""
        data = written(draft)
        text = json.dumps(data)
        found = validate(
            Document(name="draft", folder=self.folder, text=text, data=data, positions={})
        )
        return found if isinstance(found, tuple) else ()

    def forget(self) -> None:
        """Drop facts that were not read, or that came from the table, to read them again."""
        self.resolver.forget_doubtful()
