"""The situation: what follows from a draft, as far as it goes: facts, plan and findings."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.plan.known import KnownFacts, known
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.data import resolve_data
from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    ModelFacts,
    TokenizerFacts,
    Unknown,
)
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.resolve.model import resolve_model
from ftc.compiler.resolve.tokenizer import resolve_tokenizer
from ftc.spec.document import Document
from ftc.spec.finding import Finding
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources
from ftc.spec.validate import validate
from ftc.tui.draft import Draft, completed

#: Fields of `data` that only the plan reads: the file is not read again for them.
_NOT_READ: Final = frozenset({"max_length", "splits"})
_NOT_SAID: Final = Unknown(
    finding=Finding(code="", name="not-said", severity="info", message="not said yet", help="")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of a draft; everything that needs what was not said is None.

    `findings` hold what is wrong with what was said, pointers in the long form.
    """

    spec: Spec | None = None
    facts: Facts | None = None
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def data(self) -> DataFacts | None:
        """What the data file says, where it was said and could be read."""
        facts = self.facts
        return None if facts is None or isinstance(facts.data, Unknown) else facts.data

    @property
    def model(self) -> ModelFacts | None:
        """What the model's files say."""
        facts = self.facts
        return None if facts is None or isinstance(facts.model, Unknown) else facts.model

    @property
    def hardware(self) -> HardwareFacts | None:
        """What the hardware is."""
        facts = self.facts
        return None if facts is None or isinstance(facts.hardware, Unknown) else facts.hardware

    @property
    def known(self) -> KnownFacts | None:
        """All four facts, where all are known."""
        return None if self.facts is None else known(self.facts)


@dataclass(slots=True)
class Observer:
    """Looks at drafts; what it looked up stays known while the words that led to it stay."""

    folder: Path
    seen: dict[str, Any] = field(default_factory=dict)
    running: dict[str, Future[Any]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def look(self, draft: Draft) -> Situation:
        """Return the situation of a draft; reads files, and asks the Hub where it is named.

        Nothing that rests on what was not said is looked up.
        """
        data = completed(draft)
        text = json.dumps(data)
        document = Document(name="draft", folder=self.folder, text=text, data=data, positions={})
        spec = validate(document)
        if isinstance(spec, tuple):
            return Situation(findings=spec)
        facts = self._facts(draft, spec)
        facts_known = known(facts)
        plan = None if facts_known is None else make_plan(spec, facts_known)
        judged = run_checks(spec, facts, plan) if plan is not None else ()
        return Situation(spec=spec, facts=facts, plan=plan, findings=(*_unknown(facts), *judged))

    def forget(self) -> None:
        """Look up anew, at the next look, what could not be had and what the table stood in for."""
        doubtful = [key for key, fact in self.seen.items() if _mark(fact) in ("", "table")]
        for key in doubtful:
            del self.seen[key]

    def _facts(self, draft: Draft, spec: Spec) -> Facts:
        model: ModelFacts | Unknown = _NOT_SAID
        tokenizer: TokenizerFacts | Unknown = _NOT_SAID
        data: DataFacts | Unknown = _NOT_SAID
        hardware: HardwareFacts | Unknown = _NOT_SAID
        folder = self.folder
        if draft.has("/model/id"):
            about = self._key(draft, "model")
            model = self._once(f"model {about}", lambda: resolve_model(spec, folder=folder))
            tokenizer = self._once(
                f"tokenizer {about} {_mark(model)}",
                lambda: resolve_tokenizer(spec, folder=folder, model=model),
            )
        if draft.has("/data/source"):
            model_key = f"{self._key(draft, 'model')} {_mark(model)}"
            about = f"{self._key(draft, 'data')} {model_key} {self._stamp(spec)}"
            data = self._once(
                f"data {about}", lambda: resolve_data(spec, folder=folder, tokenizer=tokenizer)
            )
        if draft.has("/hardware/gpu"):
            about = self._key(draft, "hardware")
            hardware = self._once(f"hardware {about}", lambda: resolve_hardware(spec))
        return Facts(model=model, tokenizer=tokenizer, data=data, hardware=hardware)

    def _once(self, key: str, look_up: Callable[[], Any]) -> Any:
        """Look up what is not known, joining who looks it up already: nobody reads a file twice."""
        with self.lock:
            if key in self.seen:
                return self.seen[key]
            running = self.running.get(key)
            if running is None:
                mine = self.running[key] = Future[Any]()
        if running is not None:
            return running.result()
        try:
            found = look_up()
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            self.seen[key] = found
            mine.set_result(found)
            return found
        finally:
            with self.lock:
                del self.running[key]

    def _key(self, draft: Draft, section: str) -> str:
        """Return what was said of a section, but for what no look at files or the Hub reads."""
        said = draft.data.get(section)
        if isinstance(said, Mapping):
            said = {key: value for key, value in said.items() if key not in _NOT_READ}
        return json.dumps(said, sort_keys=True)

    def _stamp(self, spec: Spec) -> str:
        """Tell a data file that changed from the one that was read."""
        stamps = []
        for source in list_sources(spec.data):
            try:
                found = (self.folder / source.source).stat()
            except (OSError, ValueError):
                continue
            stamps.append(f"{found.st_size} {found.st_mtime_ns}")
        return " ".join(stamps)


def _mark(fact: object) -> str:
    """Return what tells facts of one name apart: where they are from; "" for unknown ones."""
    if isinstance(fact, Unknown):
        return ""
    return fact.origin if isinstance(fact, ModelFacts) else "known"


def _unknown(facts: Facts) -> tuple[Finding, ...]:
    """Return why facts could not be had, one finding for one cause."""
    each = (facts.model, facts.tokenizer, facts.data, facts.hardware)
    findings: list[Finding] = []
    for fact in each:
        if isinstance(fact, Unknown) and fact is not _NOT_SAID and fact.finding not in findings:
            findings.append(fact.finding)
    return tuple(findings)
