"""The answers to a question, each with the plan that it leads to."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import find_tuned
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.data.files import find_data_files
from ftc.compiler.resolve.rows.reader import UnreadableError, read_table
from ftc.compiler.resolve.rows.table import TableFile, inspect_file
from ftc.compiler.shortlist import (
    FREE_LICENCES,
    METHODS,
    MOST_FOR_LABELS,
    ModelRequirements,
    Pick,
    list_models,
    nominal_data,
    with_usual_rows,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources
from ftc.tui.questions.dialogue import Option, Question, read_patch
from ftc.tui.state.draft import Draft
from ftc.tui.state.goals import Goal, free_name
from ftc.tui.state.likely_files import list_likely
from ftc.tui.state.situation import Observer, Situation
from ftc.tui.state.unknown_gpu import find_near
from ftc.tui.understanding.models.model_wishes import list_wished
from ftc.tui.understanding.reading import Change, ModelWish
from ftc.tui.understanding.text.message import fold

_MOST_FILES: Final = 4
_MOST_COLUMNS: Final = 8
_TOO_LARGE: Final = "FTC420"
_HOST_TOO_SMALL: Final = "FTC422"
_NO_TEMPLATE: Final = "FTC141"
_LARGEST_BYTES: Final = 64 * 1024**2
_METHODS: Final = ("lora", "qlora", "full")
_MACHINES: Final = ("auto", "RTX-4090", "A100-SXM4-80GB", "H100-SXM5-80GB")
_EXPORTS: Final[tuple[tuple[str, ...], ...]] = (("Q4_K_M",), ("Q8_0",), ("Q4_K_M", "Q8_0"), ())
_LONGEST_NAME: Final = 63
_MAIN_LANGUAGE: Final = 0.1  # the share of rows from which a model should support a language
_SHORT_SECONDS: Final = 2 * 3600
_ANY_MODEL: Final = ModelWish()

_LACKS: Final = "model.lacks."
#: The requirements that are dropped, one at a time, if no model meets them all.
_RELAXED: Final[Mapping[str, Mapping[str, Any]]] = {
    "wish": {"allowed": None},
    "languages": {"languages": ()},
    "method": {"methods": METHODS},
    "context": {"context_tokens": None},
    "gguf": {"gguf": False},
    "memory": {"hardware": None},
    "several": {
        "allowed": None,
        "languages": (),
        "methods": METHODS,
        "context_tokens": None,
        "gguf": False,
        "hardware": None,
    },
}

Values = Callable[[Draft, Situation, Path], Iterator[tuple[str, Any]]]


def offer(
    question: Question,
    draft: Draft,
    situation: Situation,
    observer: Observer,
    *,
    goal: Goal | None = None,
    model_wish: ModelWish = _ANY_MODEL,
) -> Question:
    """Return the question with its answers, each with a plan, and ftc's suggestion.

    Repairs come first. A field without a fixed set of values has no answers. An answer is withheld
    if the plan with it does not fit or has a new error, unless no other answer is left.
    """
    values = _VALUES.get(question.pointer)
    if question.trouble is not None and question.trouble.code == _HOST_TOO_SMALL:
        models = _models(draft, situation, observer, goal, model_wish)
        question = replace(question, options=(*question.options, *models))
    if question.trouble is not None and question.trouble.ways:
        return _offer_ways(question, question.trouble, draft, situation, observer)
    if values is None:
        return replace(question, suggested=0 if question.options else None)
    options = [*question.options]
    if question.pointer == "/model/id":
        tuned = [*_tuned(question, draft, situation, goal)]
        shortlist = _models(draft, situation, observer, goal, model_wish)
        known = [each.label for each in tuned]
        options += [*tuned, *(each for each in shortlist if each.label not in known)]
    for label, value in values(draft, situation, observer.folder):
        change = Change(pointer=question.pointer, value=value, words=label)
        is_file = question.pointer == "/data/source" and question.trouble is not None
        key = "option.retry" if is_file and value == draft.get(question.pointer) else None
        options.append(Option(label=label, changes=(change,), key=key))
    if question.pointer == "/data/source" and question.trouble is None:
        options += _without_data(goal, observer.folder, has_files=bool(options))
    withheld: list[Option] = []
    if question.pointer in _PLANNED and _nearly(draft, question.pointer):
        solved = {_TOO_LARGE} if question.trouble is None else {_TOO_LARGE, question.trouble.code}
        options, withheld = plan_options(options, draft, situation, observer, solved=solved)
    return replace(
        question,
        options=tuple(options),
        withheld=tuple(withheld),
        suggested=_suggested(question, options),
    )


def _offer_ways(
    question: Question,
    trouble: Finding,
    draft: Draft,
    situation: Situation,
    observer: Observer,
) -> Question:
    """Return the question with the ways out of an error alone; those that cause another come last.

    The first that is sound is suggested: the rule names the one that keeps most of what was asked.
    """
    sound, unsound = plan_options(
        [*question.options], draft, situation, observer, solved={_TOO_LARGE, trouble.code}
    )
    return replace(question, options=tuple(sound), withheld=tuple(unsound), suggested=0)


def plan_options(
    options: list[Option],
    draft: Draft,
    situation: Situation,
    observer: Observer,
    *,
    solved: Collection[str] = (_TOO_LARGE,),
) -> tuple[list[Option], list[Option]]:
    """Return the answers that lead to a plan without a new error, and the others.

    `solved` are the codes of errors that the draft may have, but not the draft with the answer. If
    every answer has an error, all are returned, since the user has to choose or repair one.
    """
    known = {finding.code for finding in situation.findings}.difference(solved)
    sound: list[Option] = []
    unsound: list[Option] = []
    for option in options:
        checked = option.plan is not None and option.told
        if checked or option.key == "option.retry":  # another lookup may succeed
            sound.append(option)
            continue
        changed = draft.changed(option.changes)
        after = situation if changed == draft else observer.look(changed, offers=False)
        errors = [
            each for each in after.findings if each.severity == "error" and each.code not in known
        ]
        refused = next(iter(errors), None)
        planned = replace(option, plan=option.plan or after.plan, refused=refused)
        way = None if refused is None else _find_way(option, refused, draft, observer, known)
        (unsound if errors and way is None else sound).append(way or planned)
    return (sound, unsound) if sound else ([replace(each, refused=None) for each in unsound], [])


def _find_way(
    option: Option, refused: Finding, draft: Draft, observer: Observer, known: Collection[str]
) -> Option | None:
    """Return the answer with the way out of its error that keeps its own changes."""
    own = {change.pointer for change in option.changes}
    for way in refused.ways:
        more = read_patch(way.fix)
        if not more or own & {change.pointer for change in more}:
            continue
        both = (*option.changes, *more)
        after = observer.look(draft.changed(both), offers=False)
        if {each.code for each in after.findings if each.severity == "error"} <= set(known):
            return replace(option, changes=both, plan=after.plan, way=way.says)
    return None


def _tuned(
    question: Question, draft: Draft, situation: Situation, goal: Goal | None
) -> Iterator[Option]:
    """Yield the instruction-tuned variant of a base model that has no chat template."""
    lacks_template = question.trouble is not None and question.trouble.code == _NO_TEMPLATE
    name = find_tuned(str(draft.get("/model/id"))) if lacks_template else None
    model = find_model(name) if name is not None else None
    if model is None or situation.spec is None:
        return
    wish = _require(situation.spec, draft, situation, goal, _ANY_MODEL)
    (candidate,) = list_models(wish, [model])
    change = Change(pointer="/model/id", value=model.id, words=model.id)
    plan = candidate.plan if candidate.method is not None else None
    yield Option(label=model.id, changes=(change,), plan=plan, told=(("model.reason.tuned", {}),))


def _without_data(goal: Goal | None, folder: Path, *, has_files: bool) -> Iterator[Option]:
    """Yield the answer that writes a file with example rows for the goal.

    If the goal is unknown and no file is offered, yield the answer that there is no data.
    """
    if goal is not None:
        name = free_name(goal, folder)
        change = Change(pointer="/data/source", value=name, words=name)
        yield Option(label=name, changes=(change,), key="option.examples", writes=goal)
    elif not has_files:
        yield Option(label="no data", changes=(), key="option.no_data", lacks_data=True)


def _nearly(draft: Draft, pointer: str) -> bool:
    """Return whether the answer to this question is the last missing input of a plan."""
    needed = {"/model/id", "/data/source", "/hardware/gpu"} - {pointer}
    return all(draft.has(each) for each in needed)


def _suggested(question: Question, options: list[Option]) -> int | None:
    """Return the first answer that fits, or the first answer if none is known to fit."""
    existing = [each for each in options if each.writes is None and not each.lacks_data]
    only_the_person_knows = question.pointer.startswith("/data/") and len(existing) != 1
    if not options or only_the_person_knows:
        return None
    kept = [n for n, option in enumerate(options) if option.way is None]  # change nothing else
    fitting = (n for n in kept if (plan := options[n].plan) and plan.memory.fits)
    return next(fitting, kept[0] if kept else 0)


def _files(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del draft, situation
    yield from ((name, name) for name in list_likely(folder)[:_MOST_FILES])


def _columns(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the file's columns without a role; large files are not read for this."""
    if situation.spec is None:
        return
    source = list_sources(situation.spec.data)[0]
    found = find_data_files(situation.spec, source, folder=folder)
    if isinstance(found, Finding):
        return
    said = (draft.get("/data/columns") or {}).values()
    try:
        if found.paths[0].stat().st_size > _LARGEST_BYTES:
            return
        file = inspect_file(found.paths[0], found.format)
        columns = read_table(file).columns if isinstance(file, TableFile) else ()
    except (OSError, UnreadableError, ImportError):
        return
    yield from ((name, name) for name in columns[:_MOST_COLUMNS] if name not in said)


def _none(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del draft, situation, folder
    yield from ()


def _models(
    draft: Draft,
    situation: Situation,
    observer: Observer,
    goal: Goal | None,
    model_wish: ModelWish,
) -> Iterator[Option]:
    """Yield the models of the shortlist that suit the goal, data, hardware and export.

    If no method is set, a model that only fits with QLoRA also sets the method. For labels and on a
    CPU, the models are small, and those with a short training time come first.
    """
    if situation.spec is None:
        return
    said = draft.get("/method/type")
    wish = _require(situation.spec, draft, situation, goal, model_wish)
    picks = observer.shortlist(wish)
    if not picks and wish.allowed is not None:  # the user's wish counts more than the data
        wish = replace(wish, languages=model_wish.languages, most_parameters=None)
        picks = observer.shortlist(wish)
    if not picks:
        yield from _list_relaxed(wish, observer)
        return
    ordered = sorted(picks, key=partial(_patience, wish))
    by_time = ordered != list(picks)
    for pick in ordered:
        name, method = pick.candidate.model.id, pick.candidate.method
        changes = [Change(pointer="/model/id", value=name, words=name)]
        if method == "qlora" and said is None:
            changes.append(Change(pointer="/method/type", value=method, words=name))
        plan = pick.candidate.plan
        reason = "soonest" if by_time and pick is ordered[0] else pick.reason
        yield Option(label=name, changes=tuple(changes), plan=plan, told=tuple(_told(pick, reason)))


def _list_relaxed(wish: ModelRequirements, observer: Observer) -> Iterator[Option]:
    """Yield the models that meet all requirements but one, and say which one.

    Only the first requirement that leaves models when it is dropped is tried.
    """
    for lack, changed in _RELAXED.items():
        relaxed = replace(wish, **changed)
        if relaxed != wish and (picks := observer.shortlist(relaxed)):
            for pick in picks:
                name = pick.candidate.model.id
                changes = (Change(pointer="/model/id", value=name, words=name),)
                yield Option(label=name, changes=changes, told=((f"{_LACKS}{lack}", {}),))
            return


def meets_all(option: Option) -> bool:
    """Return whether an offered model meets all requirements."""
    return not any(key.startswith(_LACKS) for key, _ in option.told)


def _require(
    spec: Spec, draft: Draft, situation: Situation, goal: Goal | None, model_wish: ModelWish
) -> ModelRequirements:
    """Return the requirements of the goal, data, hardware, export and wish for a model."""
    data = with_usual_rows(situation.data or nominal_data())
    said = draft.get("/method/type")
    on_cpu = situation.hardware is not None and situation.hardware.kind == "cpu"
    unsized = model_wish.least is None and model_wish.most is None
    labels = model_wish.least is None and (bool(data.labels) or goal == "classify")
    small = labels or (unsized and on_cpu)
    spoken = (code for code, share in data.languages.items() if share >= _MAIN_LANGUAGE)
    return ModelRequirements(
        spec=spec,
        data=data,
        hardware=situation.hardware,
        languages=tuple(dict.fromkeys((*spoken, *model_wish.languages))),
        context_tokens=data.lengths.p99,
        gguf=bool(draft.get("/export/types")),
        methods=(said,) if said in _METHODS else METHODS,
        most_parameters=MOST_FOR_LABELS if small else None,  # a larger one is too slow for a CPU
        labels=labels,
        allowed=None if model_wish == _ANY_MODEL else list_wished(model_wish),
    )


def _patience(wish: ModelRequirements, pick: Pick) -> float:
    """Return the seconds by which a small model exceeds a short run; 0 for other wishes."""
    plan = pick.candidate.plan
    if wish.most_parameters is None or plan is None or plan.time_seconds is None:
        return 0.0
    return max(0.0, plan.time_seconds - _SHORT_SECONDS)


def _told(pick: Pick, reason: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the method of a model, the reason for offering it, and when a larger one would fit."""
    method = pick.candidate.method
    if method is not None:
        yield "model.method", {"method": method}
    known = "largest_known" if reason == "largest" and method is None else reason
    yield f"model.reason.{known}", {}
    larger = pick.larger
    if larger is not None and larger.plan is not None:
        needed = larger.plan.memory.device_bytes
        yield "model.larger", {"model": larger.model.id, "needed_bytes": needed}


def _machines(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the known names most similar to an unknown one, or else the usual machines."""
    del situation, folder
    said = draft.get("/hardware/gpu")
    near = find_near(said) if isinstance(said, str) and said not in _MACHINES else ()
    yield from ((name, name) for name in (*near, *(_MACHINES[:1] if near else _MACHINES)))


def _methods(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del draft, situation, folder
    yield from ((name, name) for name in _METHODS)


def _exports(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del draft, situation, folder
    yield from ((", ".join(types) or "none", list(types)) for types in _EXPORTS)


def _names(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del situation, folder
    name = slug(PurePath(str(draft.get("/data/source") or "fine-tune")).stem)
    yield name, name


def _licences(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the licence of the base, and the free ones if the base has one of them."""
    del draft, folder
    own = None if situation.model is None else situation.model.licence
    if own is not None:
        yield own, own
    if own is None or own in FREE_LICENCES:
        yield from ((name, name) for name in sorted(FREE_LICENCES) if name != own)


def slug(text: str) -> str:
    """Return a name that the schema accepts."""
    return re.sub(r"[^a-z0-9]+", "-", fold(text)).strip("-")[:_LONGEST_NAME].strip("-") or "run"


_VALUES: Final[Mapping[str, Values]] = {
    "/data/source": _files,
    "/data/columns/prompt": _columns,
    "/data/columns/completion": _columns,
    "/data/columns/messages": _columns,
    "/data/columns/text": _columns,
    "/model/id": _none,
    "/hardware/gpu": _machines,
    "/method/type": _methods,
    "/export/types": _exports,
    "/name": _names,
    "/publish/licence": _licences,
}
_PLANNED: Final = frozenset({"/model/id", "/hardware/gpu", "/method/type", "/export/types"})
