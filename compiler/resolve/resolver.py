"""Resolves every fact of a spec, once for each version of its part of the spec."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    ModelFacts,
    TeacherFacts,
    TokenizerFacts,
    Unknown,
)
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.teacher import names_teacher, resolve_teacher
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message
from ftc.spec.salvage import known_or_none
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources

Fact = ModelFacts | TokenizerFacts | DataFacts | HardwareFacts | TeacherFacts

FACTS: Final[Mapping[str, type[Fact]]] = {
    "model": ModelFacts,
    "tokenizer": TokenizerFacts,
    "data": DataFacts,
    "hardware": HardwareFacts,
    "teacher": TeacherFacts,
}
#: The fact that depends on a part of the spec that is not written yet.
NOT_SAID: Final = Unknown(
    finding=Finding(
        code="",
        name="not-said",
        severity="info",
        problem=Message("phrase.not_said"),
        remedy=Message("phrase.not_said"),
    )
)
# Fields of `data` that `resolve_data` never reads: only the plan does.
_PLANNED: Final = frozenset({"max_length", "splits"})
#: Fields that a lock of an older ftc does not know, with the values that change nothing.
_NEUTRAL: Final[Mapping[str, Any]] = {
    "template_options": None,
    "reasoning": "learn",
    "images": {"max_pixels": "auto"},
    "allow_download": False,
}


def section_hashes(spec: Spec) -> Mapping[str, str]:
    """Return, for each fact, the SHA-256 of everything in the spec that could change it.

    What local files hold is not part of it: a locked fact stays valid after an edit of the data
    file, until the facts are resolved again.
    """
    model: dict[str, Any] = {
        "id": spec.model.id,
        "revision": spec.model.revision,
        "trust_remote_code": spec.model.trust_remote_code,
    }
    if compares_texts(spec.objective.type):
        model["head"] = OBJECTIVES[spec.objective.type].head
    tokenizer: dict[str, Any] = {"model": model, "chat_template": spec.model.chat_template}
    if spec.model.new_tokens:
        tokenizer["new_tokens"] = spec.model.new_tokens
    if spec.data.template_options:
        tokenizer["template_options"] = spec.data.template_options
    said: dict[str, Any] = msgspec.to_builtins(spec.data)
    if said["columns"]["images"] is None:
        del said["columns"]["images"]
    data: dict[str, Any] = {
        "data": {
            name: value
            for name, value in said.items()
            if name not in _PLANNED and (name not in _NEUTRAL or value != _NEUTRAL[name])
        },
        "tokenizer": tokenizer,
        "objective": spec.objective.type,
    }
    if OBJECTIVES[spec.objective.type].rewards:
        data["rewards"] = spec.objective.rewards
        if spec.objective.tools is not None:
            data["tools"] = spec.objective.tools
    if compared := spec.training.evaluation.regression:
        data["regression"] = [
            (check.prompts, check.text, check.task, check.metric) for check in compared
        ]
    parts: dict[str, Any] = {
        "model": model,
        "tokenizer": tokenizer,
        "data": data,
        "hardware": spec.hardware,
    }
    if names_teacher(spec.objective):
        parts["teacher"] = {"teacher": spec.objective.teacher, "tokenizer": tokenizer}
    return {name: canonical_hash(part) for name, part in parts.items()}


def needed_facts(spec: Spec) -> tuple[str, ...]:
    """Return the names of the facts that a spec has; a teacher only if it is named."""
    return tuple(name for name in FACTS if name != "teacher" or names_teacher(spec.objective))


def canonical_hash(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON: sorted keys and sets, ASCII, no spaces."""
    plain = msgspec.to_builtins(value, order="deterministic")
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(slots=True)
class Resolver:
    """Looks facts up, and keeps them for later specs that have the same part behind a fact.

    Several threads may use one resolver: they wait for each other's look-ups of the same fact.
    """

    seen: dict[str, Any] = field(default_factory=dict)
    running: dict[str, Future[Any]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def resolve(
        self,
        spec: Spec,
        *,
        folder: Path,
        kept: Mapping[str, Fact] | None = None,
        unsaid: Collection[str] = (),
    ) -> Facts:
        """Return the facts of a spec whose paths are relative to `folder`.

        `kept` are facts to be taken as they are, by name. `unsaid` names facts that are not looked
        up, because the spec only has a stand-in for what they rest on.
        """
        hashes = section_hashes(spec)

        def find(name: str, of: str, look_up: Callable[[], Any]) -> Any:
            if name in unsaid:
                return NOT_SAID
            if kept and name in kept:
                return kept[name]
            return self.once(f"{name} {folder} {hashes[name]} {of}", look_up)

        model = find("model", "", lambda: resolve_model(spec, folder=folder))
        tokenizer = find(
            "tokenizer",
            _mark(model),
            lambda: resolve_tokenizer(spec, folder=folder, model=model),
        )
        data = find(
            "data",
            f"{_mark(model)} {_mark(tokenizer)} {stamp(spec, folder)}",
            lambda: resolve_data(spec, folder=folder, tokenizer=tokenizer, model=model),
        )
        hardware = find("hardware", "", lambda: resolve_hardware(spec))
        teacher = None
        if names_teacher(spec.objective):
            teacher = find(
                "teacher",
                f"{_mark(model)} {_mark(tokenizer)}",
                lambda: resolve_teacher(spec, folder=folder, tokenizer=tokenizer),
            )
        return Facts(
            model=model, tokenizer=tokenizer, data=data, hardware=hardware, teacher=teacher
        )

    def resolve_known(self, spec: Spec, *, folder: Path) -> Facts:
        """Return the facts of a spec with parts left out; facts that need those parts are unknown.

        Nothing is kept: no hash of such a spec tells what its facts rest on.
        """

        def find(look_up: Callable[[], Any]) -> Any:
            found = known_or_none(look_up)
            return NOT_SAID if found is None else found

        model = find(lambda: resolve_model(spec, folder=folder))
        tokenizer = find(lambda: resolve_tokenizer(spec, folder=folder, model=model))
        data = find(lambda: resolve_data(spec, folder=folder, tokenizer=tokenizer, model=model))
        hardware = find(lambda: resolve_hardware(spec))
        taught = known_or_none(lambda: names_teacher(spec.objective))
        teacher = None
        if taught is not False:
            teacher = find(lambda: resolve_teacher(spec, folder=folder, tokenizer=tokenizer))
        return Facts(
            model=model, tokenizer=tokenizer, data=data, hardware=hardware, teacher=teacher
        )

    def forget_doubtful(self) -> None:
        """Drop facts that are unknown, and models whose facts the built-in table gave."""
        for key in [key for key, fact in self.seen.items() if _mark(fact) in {"", "table"}]:
            del self.seen[key]

    def once(self, key: str, look_up: Callable[[], Any]) -> Any:
        """Return what `look_up` returns, called once for all calls with this key."""
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


def stamp(spec: Spec, folder: Path) -> str:
    """Return what tells files that changed from those that were read: sizes and times."""
    stamps = []
    compared = (
        path
        for check in spec.training.evaluation.regression
        for path in (check.prompts, check.text, check.task)
        if path is not None
    )
    for name in (*(source.source for source in list_sources(spec.data)), *compared):
        try:
            found = (folder / name).stat()
        except (OSError, ValueError):
            continue
        stamps.append(f"{found.st_size} {found.st_mtime_ns}")
    return " ".join(stamps)


def _mark(fact: object) -> str:
    """Return what tells facts of one name apart: where they are from; "" for unknown ones."""
    if isinstance(fact, Unknown):
        return ""
    if isinstance(fact, TeacherFacts):
        return fact.model.origin
    return fact.origin if isinstance(fact, ModelFacts) else "known"
