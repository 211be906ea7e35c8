"""The order of the stages from a spec to the files of its bundle; each runs at most once."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ftc.compiler.checks.registry import find_contradictions, run_checks
from ftc.compiler.checks.vetting import vet_fixes, vet_rest
from ftc.compiler.placement import Placement
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan, plan_once
from ftc.compiler.plan.vision import planned_facts
from ftc.compiler.relocation import bundle_folder, bundle_source
from ftc.compiler.render.extras import Extra, find_extras
from ftc.compiler.render.source import BundleSource, list_outside
from ftc.compiler.resolve.calibration import read_calibration
from ftc.compiler.resolve.data.earlier_runs import find_seen
from ftc.compiler.resolve.facts import Calibration, Facts, HardwareFacts, KnownFacts, Unknown, known
from ftc.compiler.resolve.hardware import measure_disk
from ftc.compiler.resolve.hub.cache import cached_weights
from ftc.compiler.resolve.resolver import (
    NOT_SAID,
    Fact,
    Resolver,
    canonical_hash,
    needed_facts,
    stamp,
)
from ftc.compiler.verify.explanations import EXPLANATIONS as VERIFY
from ftc.compiler.write.explanations import EXPLANATIONS as WRITE
from ftc.compiler.write.lock import (
    Lock,
    find_stale,
    list_changes,
    locked_facts,
    make_lock,
    read_lock,
    stored_facts,
)
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.salvage import known_or_none, salvage
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import locate, sort_findings

if TYPE_CHECKING:
    from ftc.compiler.render.output.file import RenderedFile


_NO_EXTRAS: Final[Mapping[Extra, bool]] = {}


class Compilation:
    """A valid spec in compilation; a stage runs when its result is first needed.

    `output` is the bundle's folder, if it is not the usual one. `locked` takes every fact from the
    lock in that folder or fails; `update` takes none from it. A `resolver` that is passed to
    several compilations looks up only the facts in which their specs differ. `unsaid` names the
    facts whose part of the spec is not written yet. `calibrate` is the pilot.json that scales the
    plan. `extras` says which optional files are wanted or not; others stay if they are in the lock.
    Without `offers`, a plan that does not fit lists no changes that would fit, and no finding has a
    fix, since each fix is planned as well.
    """

    def __init__(
        self,
        document: Document,
        spec: Spec,
        *,
        output: Path | None = None,
        locked: bool = False,
        update: bool = False,
        resolver: Resolver | None = None,
        unsaid: Collection[str] = (),
        calibrate: Path | None = None,
        extras: Mapping[Extra, bool] = _NO_EXTRAS,
        offers: bool = True,
    ) -> None:
        self.document = document
        self.spec = spec
        self.folder = bundle_folder(document, spec, output)
        self.locked = locked
        self.update = update
        self.resolver = resolver or Resolver()
        self.unsaid = unsaid
        self.calibrate = calibrate
        self.extras = extras
        self.offers = offers

    @cached_property
    def previous(self) -> Lock | None:
        """The lock in the bundle's folder. Raises LockFailure if it is damaged."""
        return read_lock(self.folder)

    @cached_property
    def placement(self) -> Placement:
        """The places of the spec and its bundle, whose lock has paths relative to the bundle."""
        return Placement(folder=self.document.folder, bundle=self.folder)

    @cached_property
    def found(self) -> Mapping[str, Fact]:
        """The facts that are known, by name."""
        named = ((name, getattr(self.facts, name)) for name in needed_facts(self.spec))
        return {name: fact for name, fact in named if not isinstance(fact, Unknown)}

    @cached_property
    def placed(self) -> Spec:
        """The spec as its bundle sees it."""
        return self.placement.place_spec(self.spec, self.found)

    @cached_property
    def kept(self) -> Mapping[str, Fact]:
        """The facts that are taken from the lock: those whose part of the spec is unchanged."""
        if self.update:
            return {}
        lock = self.previous
        kept: Mapping[str, Fact] = {}
        if lock is not None:
            placed = self.placement.place_spec(self.spec, stored_facts(lock, self.spec))
            found = locked_facts(lock, placed)
            kept = {name: self.placement.move_out(fact) for name, fact in found.items()}
        if self.locked:
            _require_all(self.spec, lock, kept)
        return kept

    @cached_property
    def facts(self) -> Facts:
        """The known facts about the model, its tokenizer, the data and the hardware."""
        facts, found = self.resolved, self.calibration
        if isinstance(found, Calibration) and isinstance(facts.hardware, HardwareFacts):
            return replace(facts, hardware=replace(facts.hardware, calibration=found))
        return facts

    @cached_property
    def calibration(self) -> Calibration | Finding | None:
        """The measurements of a pilot, or the problem with its file; None without a pilot."""
        hardware = self.resolved.hardware
        if self.calibrate is None or isinstance(hardware, Unknown):
            return None
        return read_calibration(self.calibrate, hardware)

    @cached_property
    def resolved(self) -> Facts:
        """The facts without this pilot's measurements; the lock may have an earlier pilot's."""
        facts = self.resolver.resolve(
            self.spec, folder=self.document.folder, kept=self.kept, unsaid=self.unsaid
        )
        if self.locked or not isinstance(facts.hardware, HardwareFacts):
            return facts
        names = (self.spec.model.id, self.spec.objective.teacher.id)
        downloaded = sum(cached_weights(name) for name in {*names} if name)
        return replace(facts, hardware=measure_disk(facts.hardware, downloaded=downloaded))

    @cached_property
    def known(self) -> KnownFacts | None:
        """The facts if all are known, else None."""
        return known(self.facts)

    @cached_property
    def plan(self) -> Plan | None:
        """The plan; None if a fact or the measurements of a pilot are unknown."""
        if self.known is None or isinstance(self.calibration, Finding):
            return None
        return (make_plan if self.offers else plan_once)(self.spec, self.known)

    @cached_property
    def planned(self) -> Facts:
        """The facts with the lengths of rows after the plan has limited their images."""
        if self.known is None or self.plan is None:
            return self.facts
        return replace(self.facts, data=planned_facts(self.known, self.plan).data)

    @cached_property
    def judged(self) -> tuple[Finding, ...]:
        """The findings, with pointers in the long form: unknown facts first, then the rules.

        For an incomplete spec, only the rules that require no fact are run.
        """
        facts, plan = self.planned, self.plan
        if self.unsaid:
            return (*_list_unknown(facts), *find_contradictions(self.spec, facts))
        others = () if self.locked else (*find_stale(self.kept, self.document.folder), *self._seen)
        judged = run_checks(
            self.spec, facts, plan, others=others, other_explanations=(*VERIFY, *WRITE)
        )
        wrong = (self.calibration,) if isinstance(self.calibration, Finding) else ()
        found = (*_list_unknown(facts), *wrong, *judged)
        if not self.offers:
            return tuple(replace(each, fix=()) for each in found)
        return vet_fixes(self.spec, facts, found)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings with their positions in the file, in the file's order."""
        return locate_all(self.document, self.judged)

    @cached_property
    def failed(self) -> bool:
        """Whether any finding is an error, so that nothing can be rendered."""
        return any(finding.severity == "error" for finding in self.findings)

    @cached_property
    def files(self) -> tuple["RenderedFile", ...]:
        """The files of the bundle, without the lock. Raises ValueError without a plan."""
        from ftc.compiler.render.bundle import render_bundle

        return render_bundle(self._source)

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """The files outside the bundle's folder that it reads, as paths relative to the folder."""
        return list_outside(self._source)

    @cached_property
    def _source(self) -> BundleSource:
        """What the files are rendered from. Raises ValueError without a plan."""
        if self.known is None or self.plan is None:
            raise ValueError("only a planned spec can be rendered")
        before = self.previous.files if self.previous is not None else ()
        extras = find_extras(self.extras, before)
        limited = planned_facts(self.known, self.plan)
        source = bundle_source(
            self.document, self.spec, self.folder, limited, self.plan, extras=extras
        )
        move = self.placement.move_in
        moved: dict[str, Any] = {
            name: move(getattr(limited, name)) for name in needed_facts(self.spec)
        }
        return replace(source, spec=self.placed, facts=replace(limited, **moved))

    @cached_property
    def lock(self) -> Lock:
        """The lock that belongs to the files."""
        from ftc import __version__

        files = self.files
        if self.plan is None:
            raise ValueError("only a planned spec has a lock")
        texts = {file.name: file.text for file in files}
        moved: dict[str, Any] = {
            name: self.placement.move_in(fact) for name, fact in self.found.items()
        }
        return make_lock(
            ftc=__version__,
            spec=self.placed,
            facts=replace(self.facts, **moved),
            decisions=self.plan.decisions.items(),
            requirements=texts.get("requirements.txt", "").splitlines(),
            files=files,
        )

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """The differences between the lock on disk and the new one, one sentence each."""
        return list_changes(self.previous, self.lock) if self.previous is not None else ()

    @cached_property
    def broken(self) -> tuple[Finding, ...]:
        """The errors in the rendered files themselves, which are bugs in ftc."""
        from ftc.compiler.verify.verifier import verify_files

        return locate_all(self.document, verify_files(self.files))

    @property
    def _seen(self) -> tuple[Finding, ...]:
        """The held-out data that an earlier run of the chain trains on."""
        spec, folder, data, plan = self.spec, self.document.folder, self.facts.data, self.plan
        if plan is None or isinstance(data, Unknown):
            return ()
        held = plan.decisions.splits.validation_rows.value + plan.decisions.splits.test_rows.value
        read = canonical_hash([spec.model.id, spec.data, spec.training.seed, held])
        seen: tuple[Finding, ...] = self.resolver.once(
            f"seen {folder} {read} {stamp(spec, folder)}",
            lambda: find_seen(spec, data, folder=folder, held_rows=held),
        )
        return seen


def locate_all(document: Document, findings: Collection[Finding]) -> tuple[Finding, ...]:
    """Return the findings with their places in the file, in the file's order."""
    return sort_findings(locate(document, finding) for finding in findings)


def check_rest(
    document: Document, findings: Collection[Finding], resolver: Resolver
) -> tuple[Finding, ...]:
    """Return the findings of an invalid spec together with those of its valid parts."""
    left = salvage(document, tuple(findings))
    if left is None:
        return tuple(findings)
    spec = left.spec
    facts = resolver.resolve_known(spec, folder=document.folder)
    every = None if left.is_guessed else known(facts)
    plan = None if every is None else known_or_none(lambda: make_plan(spec, every))
    explained = (*VERIFY, *WRITE)
    if every is not None and plan is not None:
        facts = replace(facts, data=planned_facts(every, plan).data)
    judged = (
        *left.findings,
        *_list_unknown(facts),
        *run_checks(spec, facts, plan, other_explanations=explained),
    )
    rest = locate_all(document, vet_rest(left, document.data, facts, judged))
    return sort_findings((*findings, *rest))


def _list_unknown(facts: Facts) -> tuple[Finding, ...]:
    """Return the findings that explain unknown facts, one per cause."""
    findings: list[Finding] = []
    for fact in (facts.model, facts.tokenizer, facts.data, facts.hardware, facts.teacher):
        if isinstance(fact, Unknown) and fact is not NOT_SAID:
            findings += [each for each in (fact.finding, *fact.others) if each not in findings]
    return tuple(findings)


def _require_all(spec: Spec, lock: Lock | None, kept: Mapping[str, Fact]) -> None:
    """Raise EnvironmentFailure if a fact would have to be looked up."""
    if lock is None:
        message = "there is no `ftc.lock.json` beside the bundle"
    elif missing := ", ".join(name for name in needed_facts(spec) if name not in kept):
        message = f"the lock does not say what this spec needs ({missing})"
    else:
        return
    raise EnvironmentFailure(
        message=message,
        help="compile once without `--locked` or `--check`, and commit the lock",
    )
