"""The entry points of the compiler: check, compile, write, compare with the disk.

`compilation` has the order of the stages. It is imported after a spec was read, so that the error
for an unreadable spec does not wait for the import.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Optional

from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate

if TYPE_CHECKING:
    from ftc.compiler.compilation import Compilation
    from ftc.compiler.plan.plan import Plan
    from ftc.compiler.render.extras import Extra
    from ftc.compiler.render.output.file import RenderedFile
    from ftc.compiler.resolve.data.mask import MaskedRow
    from ftc.compiler.resolve.facts import Facts
    from ftc.compiler.resolve.resolver import Resolver
    from ftc.compiler.write.bundle import Written
    from ftc.compiler.write.drift import Drift
    from ftc.compiler.write.lock import Lock

STAGES: Final = ("load", "validate", "resolve", "plan", "check", "render", "verify", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The results of the stages that ran; a stage that did not run leaves None or nothing.

    `findings` are located in the document and sorted by place, then code. `folder` is the folder of
    the bundle; `moved` are the differences from the lock in it. `outside` are the files that the
    bundle reads and does not contain, relative to it.
    """

    document: Document | None = None
    spec: Spec | None = None
    folder: Path | None = None
    facts: Optional["Facts"] = None
    plan: Optional["Plan"] = None
    findings: tuple[Finding, ...] = ()
    files: tuple["RenderedFile", ...] = ()
    lock: Optional["Lock"] = None
    moved: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

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
    resolver: Optional["Resolver"] = None,
    calibrate: Path | None = None,
) -> Outcome:
    """Run every stage up to the checks; `source` is a path or "-"; nothing is written.

    `overrides` maps dotted paths to values, as `apply_overrides` reads them. `locked` takes every
    fact from the lock or fails; `update` looks again at all of them. A `resolver` that is passed to
    several calls keeps the facts of what their specs have in common. `calibrate` is the pilot.json
    that scales the plan. Raises EnvironmentFailure if disk or network fail, never for a wrong spec.
    """
    read = _read(source, overrides or {})
    if read.spec is None or read.document is None:
        return read if locked else _with_the_rest(read, resolver)
    from ftc.compiler.compilation import Compilation

    compilation = Compilation(
        read.document,
        read.spec,
        output=output,
        locked=locked,
        update=update,
        resolver=resolver,
        calibrate=calibrate,
    )
    return _outcome(compilation)


def compile_bundle(
    source: str,
    *,
    output: Path | None = None,
    locked: bool = False,
    update: bool = False,
    stop_after: str | None = None,
    overrides: Mapping[str, str] | None = None,
    resolver: Optional["Resolver"] = None,
    calibrate: Path | None = None,
    extras: Mapping["Extra", bool] | None = None,
) -> Outcome:
    """Run every stage up to verify (or `stop_after`), ready for `write`; nothing is written.

    `extras` says which optional files are wanted or not; the others stay unchanged. `overrides` and
    `resolver` are those of `check`.
    """
    read = _read(source, overrides or {})
    if stop_after in STAGES[:2]:
        return read
    if read.spec is None or read.document is None:
        return read if locked else _with_the_rest(read, resolver)
    from ftc.compiler.compilation import Compilation

    compilation = Compilation(
        read.document,
        read.spec,
        output=output,
        locked=locked,
        update=update,
        resolver=resolver,
        calibrate=calibrate,
        extras=extras or {},
    )
    outcome = _outcome(compilation)
    if compilation.failed or stop_after in STAGES[2:5]:
        return outcome
    outcome = replace(
        outcome,
        files=compilation.files,
        lock=compilation.lock,
        moved=compilation.moved,
        outside=compilation.outside,
    )
    if stop_after == "render":
        return outcome
    return replace(outcome, findings=(*compilation.findings, *compilation.broken))


def write(outcome: Outcome, *, force: bool = False) -> "Written":
    """Write the files of a valid outcome; raises EnvironmentFailure on a conflict."""
    from ftc.compiler.relocation import carried_name
    from ftc.compiler.write.bundle import write_bundle

    document, folder, lock = outcome.document, outcome.folder, outcome.lock
    if outcome.failed or document is None or folder is None or lock is None:
        raise ValueError("only an outcome without errors can be written")
    source = carried_name(document, folder)
    return write_bundle(folder, outcome.files, lock, force=force, source=source)


def drift(source: str, *, output: Path | None = None) -> tuple[Outcome, tuple["Drift", ...]]:
    """Compare a bundle on disk with its spec by its lock: no network, data, GPU or model."""
    from ftc.compiler.write.bundle import require_finished
    from ftc.compiler.write.drift import find_drift

    outcome = compile_bundle(source, output=output, locked=True, stop_after="verify")
    if outcome.failed or outcome.folder is None or outcome.lock is None:
        return outcome, ()
    require_finished(outcome.folder)
    return outcome, find_drift(outcome.folder, outcome.files, outcome.lock)


def mask_rows(outcome: Outcome, rows: int) -> tuple["MaskedRow", ...] | None:
    """Return the first usable rows with their trained tokens; None if facts are unknown.

    Raises EnvironmentFailure if the files that determine the tokens are incomplete.
    """
    from ftc.compiler.knowledge.objectives import OBJECTIVES
    from ftc.compiler.plan.vision import find_rule
    from ftc.compiler.resolve.data.mask import mask_rows as mask
    from ftc.compiler.resolve.facts import Unknown

    spec, facts, document = outcome.spec, outcome.facts, outcome.document
    if spec is None or facts is None or document is None:
        return None
    if isinstance(facts.tokenizer, Unknown) or isinstance(facts.data, Unknown):
        return None
    if not OBJECTIVES[spec.objective.type].masks:
        masked = [f"the objective `{name}`" for name, each in OBJECTIVES.items() if each.masks]
        raise EnvironmentFailure(
            message=f"rows of `{spec.objective.type}` are not learned token by token",
            help=f"`--show-mask` shows rows of {' and '.join(masked)}",
        )
    shown = mask(
        spec,
        folder=document.folder,
        tokenizer=facts.tokenizer,
        data=facts.data,
        rows=rows,
        rule=find_rule(facts, outcome.plan),
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
    from ftc.spec.text.secrets import find_secrets

    document = load_document(source)
    if isinstance(document, tuple):
        return Outcome(findings=_foreign(source, None) or document)
    if secrets := find_secrets("\n".join(overrides.values())):
        return Outcome(findings=tuple(finding.at(None) for finding in secrets))
    document = apply_overrides(document, overrides)
    spec = validate(document)
    if isinstance(spec, tuple):
        if foreign := _foreign(source, document.data):
            return Outcome(findings=foreign)
        return Outcome(document=document, findings=spec)
    return Outcome(document=document, spec=spec)


def _foreign(source: str, data: object) -> tuple[Finding, ...]:
    """Return the single finding for a file that is another trainer's config, or nothing."""
    from ftc.compiler.importing.importer import recognise_file

    found = recognise_file(source, data)
    return (found,) if found is not None else ()


def _with_the_rest(read: Outcome, resolver: Optional["Resolver"]) -> Outcome:
    """Add the findings of the valid parts of a wrong spec."""
    if read.document is None:
        return read
    from ftc.compiler.compilation import check_rest
    from ftc.compiler.resolve.resolver import Resolver

    found = check_rest(read.document, read.findings, resolver or Resolver())
    return replace(read, findings=found)


def _outcome(compilation: "Compilation") -> Outcome:
    """Return the outcome of the stages up to the checks."""
    return Outcome(
        document=compilation.document,
        spec=compilation.spec,
        folder=compilation.folder,
        facts=compilation.facts,
        plan=compilation.plan,
        findings=compilation.findings,
    )
