"""The flow from a spec to a bundle: each stage is one function, and this module is their order.

A stage is imported when it runs, so that a spec that cannot be read does not pay for the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Optional

from ftc.spec.document import Document
from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.validate import locate, validate

if TYPE_CHECKING:
    from ftc.compiler.plan.plan import Plan
    from ftc.compiler.render.file import RenderedFile
    from ftc.compiler.resolve.facts import Facts
    from ftc.compiler.resolve.mask import MaskedRow
    from ftc.compiler.write.bundle import Written
    from ftc.compiler.write.drift import Drift
    from ftc.compiler.write.lock import Lock

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
    previous: Optional["Lock"] = None
    facts: Optional["Facts"] = None
    plan: Optional["Plan"] = None
    findings: tuple[Finding, ...] = ()
    files: tuple["RenderedFile", ...] = ()
    lock: Optional["Lock"] = None
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

    `overrides` maps dotted paths to values, as `apply_overrides` reads them. `locked` takes every
    fact from the lock or fails; `update` looks again at all of them.
    Raises EnvironmentFailure when the world fails, never for a wrong spec.
    """
    outcome = _read(source, overrides or {})
    if outcome.spec is None or outcome.document is None:
        return outcome
    return _judge(outcome, outcome.document, outcome.spec, output, locked=locked, update=update)


def compile_bundle(
    source: str,
    *,
    output: Path | None = None,
    locked: bool = False,
    update: bool = False,
    force: bool = False,
    stop_after: str | None = None,
) -> Outcome:
    """Run every stage up to verify (or `stop_after`), ready for `write`.

    Nothing is written, but that a write which was interrupted before is finished first (`force`
    as in `write`), unless `stop_after` says that none will follow.
    """
    outcome = _read(source, {})
    if outcome.spec is None or outcome.document is None or stop_after in STAGES[:2]:
        return outcome
    if stop_after in {None, "write"}:
        _finish_interrupted(outcome.document, outcome.spec, output, force=force)
    outcome = _judge(outcome, outcome.document, outcome.spec, output, locked=locked, update=update)
    if outcome.failed or outcome.document is None or stop_after in STAGES[2:5]:
        return outcome
    outcome = _render(outcome)
    if stop_after == "render" or outcome.document is None:
        return outcome
    from ftc.compiler.verify.verifier import verify_files

    broken = _located(outcome.document, verify_files(outcome.files))
    return replace(outcome, findings=(*outcome.findings, *broken))


def write(outcome: Outcome, *, force: bool = False) -> "Written":
    """Put the files of a sound outcome in place; raises EnvironmentFailure on a conflict."""
    from ftc.compiler.relocation import carried_name
    from ftc.compiler.write.bundle import write_bundle

    document, folder, lock = outcome.document, outcome.folder, outcome.lock
    if outcome.failed or document is None or folder is None or lock is None:
        raise ValueError("only an outcome without errors can be written")
    source = carried_name(document, folder)
    return write_bundle(folder, outcome.files, lock, force=force, source=source)


def drift(source: str, *, output: Path | None = None) -> tuple[Outcome, tuple["Drift", ...]]:
    """Compare a bundle on disk with its spec, by its lock alone: no network, data, GPU or model."""
    from ftc.compiler.write.drift import find_drift
    from ftc.compiler.write.journal import hold_finished

    outcome = compile_bundle(source, output=output, locked=True, stop_after="verify")
    if outcome.failed or outcome.folder is None or outcome.lock is None:
        return outcome, ()
    hold_finished(outcome.folder)
    return outcome, find_drift(outcome.folder, outcome.files, outcome.lock)


def mask_rows(outcome: Outcome, rows: int) -> tuple["MaskedRow", ...] | None:
    """Return the first usable rows with the tokens that are learned; None where facts are unknown.

    Raises EnvironmentFailure where only a part of what decides the tokens is at hand.
    """
    from ftc.compiler.resolve.facts import Unknown
    from ftc.compiler.resolve.mask import mask_rows as mask

    spec, facts, document = outcome.spec, outcome.facts, outcome.document
    if spec is None or facts is None or document is None:
        return None
    if isinstance(facts.tokenizer, Unknown) or isinstance(facts.data, Unknown):
        return None
    if spec.objective.type != "sft":
        raise EnvironmentFailure(
            message=f"rows of `{spec.objective.type}` are not learned token by token",
            help="`--show-mask` shows rows of the objective `sft`",
        )
    shown = mask(
        spec, folder=document.folder, tokenizer=facts.tokenizer, data=facts.data, rows=rows
    )
    if shown is None:
        raise EnvironmentFailure(
            message="the model's tokenizer is not at hand, so that no row can be shown",
            help="download the model once, or name its folder in `model.id`",
        )
    return shown


def _read(source: str, overrides: Mapping[str, str]) -> Outcome:
    """Load and validate; the outcome holds a spec, or the findings that prevent one."""
    from ftc.spec.override import apply_overrides
    from ftc.spec.secrets import find_secrets

    document = load_document(source)
    if isinstance(document, tuple):
        return Outcome(findings=document)
    if secrets := find_secrets("\n".join(overrides.values())):
        return Outcome(findings=tuple(finding.at(None) for finding in secrets))
    document = apply_overrides(document, overrides)
    spec = validate(document)
    if isinstance(spec, tuple):
        return Outcome(document=document, findings=spec)
    return Outcome(document=document, spec=spec)


def _finish_interrupted(
    document: Document, spec: Spec, output: Path | None, *, force: bool
) -> None:
    from ftc.compiler.relocation import bundle_folder
    from ftc.compiler.write.bundle import finish_interrupted

    finish_interrupted(bundle_folder(document, spec, output), force=force)


def _judge(
    outcome: Outcome,
    document: Document,
    spec: Spec,
    output: Path | None,
    *,
    locked: bool,
    update: bool,
) -> Outcome:
    """Gather facts, plan on them, and run the rules over both."""
    from ftc.compiler.checks.registry import run_checks
    from ftc.compiler.plan.known import known
    from ftc.compiler.plan.planner import make_plan
    from ftc.compiler.relocation import bundle_folder
    from ftc.compiler.verify.pages import PAGES as VERIFY
    from ftc.compiler.write.lock import locked_facts, read_lock
    from ftc.compiler.write.pages import PAGES as WRITE
    from ftc.compiler.write.staleness import find_stale

    folder = bundle_folder(document, spec, output)
    previous = read_lock(folder)
    kept = locked_facts(previous, spec) if previous is not None and not update else {}
    if locked:
        _hold_covered(previous, kept)
    facts = _gather(spec, document.folder, kept)
    facts_known = known(facts)
    plan = make_plan(spec, facts_known) if facts_known is not None else None
    stale = () if locked else find_stale(kept, document.folder)
    judged = run_checks(spec, facts, plan, others=stale, other_pages=(*VERIFY, *WRITE))
    findings = (*_unknown(facts), *judged)
    return replace(
        outcome,
        folder=folder,
        previous=previous,
        facts=facts,
        plan=plan,
        findings=_located(document, findings),
    )


def _hold_covered(lock: Optional["Lock"], kept: Mapping[str, Any]) -> None:
    """Refuse to go on when a fact would have to be looked up."""
    from ftc.compiler.write.sections import FACTS

    if lock is None:
        message = "there is no `ftc.lock.json` beside the bundle"
    elif missing := ", ".join(name for name in FACTS if name not in kept):
        message = f"the lock does not say what this spec needs ({missing})"
    else:
        return
    raise EnvironmentFailure(
        message=message,
        help="compile once without `--locked` or `--check`, and commit the lock",
    )


def _gather(spec: Spec, folder: Path, kept: Mapping[str, Any]) -> "Facts":
    """Take each fact from the lock while the part of the spec behind it is unchanged."""
    from ftc.compiler.resolve.data import resolve_data
    from ftc.compiler.resolve.facts import Facts
    from ftc.compiler.resolve.hardware import resolve_hardware
    from ftc.compiler.resolve.model import resolve_model
    from ftc.compiler.resolve.tokenizer import resolve_tokenizer

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
    from ftc import __version__
    from ftc.compiler.plan.known import known
    from ftc.compiler.relocation import bundle_source
    from ftc.compiler.render.bundle import render_bundle
    from ftc.compiler.write.lock import make_lock
    from ftc.compiler.write.movement import moved

    document, spec, folder = outcome.document, outcome.spec, outcome.folder
    facts, plan = outcome.facts, outcome.plan
    facts_known = known(facts) if facts is not None else None
    if not (document and spec and folder and facts and facts_known and plan):
        raise ValueError("only a planned outcome can be rendered")
    files = render_bundle(bundle_source(document, spec, folder, facts_known, plan))
    lock = make_lock(
        ftc=__version__,
        spec=spec,
        facts=facts,
        decisions=plan.decisions.items(),
        requirements=_lines(files, "requirements.txt"),
        files=files,
    )
    steps = moved(outcome.previous, lock) if outcome.previous is not None else ()
    return replace(outcome, files=files, lock=lock, moved=steps)


def _lines(files: tuple["RenderedFile", ...], name: str) -> list[str]:
    return next((file.text.splitlines() for file in files if file.name == name), [])


def _unknown(facts: "Facts") -> tuple[Finding, ...]:
    """Return why facts are unknown, one finding for one cause."""
    from ftc.compiler.resolve.facts import Unknown

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
