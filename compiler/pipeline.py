"""The flow from a spec to a bundle: each stage is one function, and this module is their order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ftc import __version__
from ftc.compiler.checks.registry import run_checks
from ftc.compiler.plan.known import known
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.relocation import bundle_folder, bundle_source
from ftc.compiler.render.bundle import render_bundle
from ftc.compiler.render.file import RenderedFile
from ftc.compiler.resolve.data import resolve_data
from ftc.compiler.resolve.facts import Facts, Unknown
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.resolve.model import resolve_model
from ftc.compiler.resolve.tokenizer import resolve_tokenizer
from ftc.compiler.verify.verifier import verify_files
from ftc.compiler.write.bundle import Written, finish_interrupted, write_bundle
from ftc.compiler.write.drift import Drift, find_drift
from ftc.compiler.write.lock import Lock, locked_facts, make_lock, read_lock
from ftc.compiler.write.movement import moved
from ftc.compiler.write.sections import FACTS
from ftc.spec.document import Document
from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.spec.override import apply_overrides
from ftc.spec.sections import Spec
from ftc.spec.validate import locate, validate

STAGES: Final = ("load", "validate", "resolve", "plan", "check", "render", "verify", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the stages that ran have left; a stage that did not run leaves None or nothing.

    `findings` are located in the document and sorted by place, then code. `folder` is where the
    bundle belongs; `previous` the lock that was found there, `moved` what differs from it.
    """

    document: Document | None = None
    spec: Spec | None = None
    folder: Path | None = None
    previous: Lock | None = None
    facts: Facts | None = None
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()
    files: tuple[RenderedFile, ...] = ()
    lock: Lock | None = None
    moved: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether any finding is an error."""
        return any(finding.severity == "error" for finding in self.findings)


def check(
    source: str,
    *,
    output: Path | None = None,
    overrides: Mapping[str, str] | None = None,
    locked: bool = False,
    update: bool = False,
) -> Outcome:
    """Run every stage up to the checks; `source` is a path or "-"; nothing is written.

    Raises EnvironmentFailure when the world fails, never for a wrong spec.
    """
    outcome = _read(source, overrides or {})
    if outcome.spec is None or outcome.document is None:
        return outcome
    folder = bundle_folder(outcome.document, outcome.spec, output)
    finish_interrupted(folder)
    previous = read_lock(folder)
    lock = None if update else previous
    facts = _gather(outcome.spec, outcome.document.folder, lock, locked=locked)
    facts_known = known(facts)
    plan = make_plan(outcome.spec, facts_known) if facts_known is not None else None
    findings = (*_unknown(facts), *run_checks(outcome.spec, facts, plan))
    return replace(
        outcome,
        folder=folder,
        previous=previous,
        facts=facts,
        plan=plan,
        findings=_located(outcome.document, findings),
    )


def compile_bundle(
    source: str,
    *,
    output: Path | None = None,
    locked: bool = False,
    update: bool = False,
    stop_after: str | None = None,
) -> Outcome:
    """Run every stage up to verify (or `stop_after`); nothing is written."""
    if stop_after in STAGES[:2]:
        return _read(source, {})
    outcome = check(source, output=output, locked=locked, update=update)
    if outcome.failed or outcome.facts is None or stop_after in STAGES[2:5]:
        return outcome
    outcome = _render(outcome)
    if stop_after == "render" or outcome.document is None:
        return outcome
    broken = _located(outcome.document, verify_files(outcome.files))
    return replace(outcome, findings=(*outcome.findings, *broken))


def write(outcome: Outcome, *, force: bool = False) -> Written:
    """Put the files of a sound outcome in place; raises EnvironmentFailure on a conflict."""
    if outcome.failed or outcome.folder is None or outcome.lock is None:
        raise ValueError("only an outcome without errors can be written")
    return write_bundle(outcome.folder, outcome.files, outcome.lock, force=force)


def drift(source: str, *, output: Path | None = None) -> tuple[Outcome, tuple[Drift, ...]]:
    """Compare a bundle on disk with its spec, by its lock alone: no network, data, GPU or model."""
    outcome = compile_bundle(source, output=output, locked=True)
    if outcome.failed or outcome.folder is None or outcome.lock is None:
        return outcome, ()
    return outcome, find_drift(outcome.folder, outcome.files, outcome.lock)


def _read(source: str, overrides: Mapping[str, str]) -> Outcome:
    """Load and validate; the outcome holds a spec, or the findings that prevent one."""
    document = load_document(source)
    if isinstance(document, tuple):
        return Outcome(findings=document)
    document = apply_overrides(document, overrides)
    spec = validate(document)
    if isinstance(spec, tuple):
        return Outcome(document=document, findings=spec)
    return Outcome(document=document, spec=spec)


def _gather(spec: Spec, folder: Path, lock: Lock | None, *, locked: bool) -> Facts:
    """Take each fact from the lock while the part of the spec behind it is unchanged."""
    kept: Mapping[str, Any] = locked_facts(lock, spec) if lock is not None else {}
    if locked and set(kept) != set(FACTS):
        missing = ", ".join(sorted(set(FACTS) - set(kept)))
        raise EnvironmentFailure(
            message=f"the lock does not say what this spec needs ({missing})"
            if lock is not None
            else "there is no `ftc.lock.json` beside the bundle",
            help="compile once without `--locked` or `--check`, and commit the lock",
        )
    model = kept.get("model") or resolve_model(spec, folder=folder)
    tokenizer = kept.get("tokenizer") or resolve_tokenizer(spec, folder=folder, model=model)
    return Facts(
        model=model,
        tokenizer=tokenizer,
        data=kept.get("data") or resolve_data(spec, folder=folder, tokenizer=tokenizer),
        hardware=kept.get("hardware") or resolve_hardware(spec),
    )


def _render(outcome: Outcome) -> Outcome:
    """Render every file and make the lock that belongs to them."""
    facts_known = known(outcome.facts) if outcome.facts is not None else None
    if (
        facts_known is None
        or outcome.document is None
        or outcome.spec is None
        or outcome.folder is None
        or outcome.facts is None
        or outcome.plan is None
    ):
        raise ValueError("only a planned outcome can be rendered")
    source = bundle_source(
        outcome.document, outcome.spec, outcome.folder, facts_known, outcome.plan
    )
    files = render_bundle(source)
    lock = make_lock(
        ftc=__version__,
        spec=outcome.spec,
        facts=outcome.facts,
        decisions=outcome.plan.decisions.items(),
        requirements=_lines(files, "requirements.txt"),
        files=files,
    )
    steps = moved(outcome.previous, lock) if outcome.previous is not None else ()
    return replace(outcome, files=files, lock=lock, moved=steps)


def _lines(files: tuple[RenderedFile, ...], name: str) -> list[str]:
    return next((file.text.splitlines() for file in files if file.name == name), [])


def _unknown(facts: Facts) -> tuple[Finding, ...]:
    """Return why facts are unknown, one finding for one cause."""
    findings: list[Finding] = []
    for fact in (facts.model, facts.tokenizer, facts.data, facts.hardware):
        if isinstance(fact, Unknown) and fact.finding not in findings:
            findings.append(fact.finding)
    return tuple(findings)


def _located(document: Document, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings with their places in the file, in the file's order."""
    placed = (locate(document, finding) for finding in findings)
    return tuple(sorted(placed, key=_place))


def _place(finding: Finding) -> tuple[int, int, str]:
    where = finding.position
    return (where.line, where.column, finding.code) if where else (0, 0, finding.code)
