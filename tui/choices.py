"""The answers to offer for a question, each with the plan that it leads to."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

from ftc.compiler.resolve.data.files import find_data_files
from ftc.compiler.resolve.rows.reader import UnreadableError, read_table
from ftc.compiler.resolve.rows.table import TableFile, inspect_file
from ftc.compiler.shortlist import METHODS, Pick, Wish, nominal_data, shortlist
from ftc.spec.finding import Finding
from ftc.spec.sources import list_sources
from ftc.tui.dialogue import Option, Question
from ftc.tui.draft import Draft
from ftc.tui.situation import Observer, Situation
from ftc.tui.understanding.message import fold
from ftc.tui.understanding.reading import Change

_DATA_ENDINGS: Final = (".csv", ".jsonl", ".json", ".parquet")
_MOST_FILES: Final = 4
_MOST_COLUMNS: Final = 8
_TOO_LARGE: Final = "FTC420"
_LARGEST_BYTES: Final = 64 * 1024**2
_METHODS: Final = ("lora", "qlora", "full")
_MACHINES: Final = ("auto", "RTX-4090", "A100-SXM4-80GB", "H100-SXM5-80GB")
_EXPORTS: Final[tuple[tuple[str, ...], ...]] = (("Q4_K_M",), ("Q8_0",), ("Q4_K_M", "Q8_0"), ())
_LONGEST_NAME: Final = 63
_MAIN_LANGUAGE: Final = 0.1  # a model should know every language with at least this share of rows
_BILLION: Final = 1e9

Values = Callable[[Draft, Situation, Path], Iterator[tuple[str, Any]]]


def offer(question: Question, draft: Draft, situation: Situation, observer: Observer) -> Question:
    """Return the question with its answers, each with a plan, and ftc's suggestion.

    Repairs of the question come first. A field without a fixed set of values has no answers.
    """
    values = _VALUES.get(question.pointer)
    if values is None:
        return replace(question, suggested=0 if question.options else None)
    options = [*question.options]
    if question.pointer == "/model/id":
        options += _models(draft, situation)
    for label, value in values(draft, situation, observer.folder):
        change = Change(pointer=question.pointer, value=value, words=label)
        options.append(Option(label=label, changes=(change,)))
    if question.pointer in _PLANNED and _nearly(draft, question.pointer):
        options = [_planned(option, draft, observer) for option in options]
    if question.trouble is not None and question.trouble.code == _TOO_LARGE:
        fitting = [each for each in options if each.plan is None or each.plan.memory.fits]
        options = fitting or options
    return replace(question, options=tuple(options), suggested=_suggested(question, options))


def _nearly(draft: Draft, pointer: str) -> bool:
    """Return whether an answer to this question completes the input of a plan."""
    needed = {"/model/id", "/data/source", "/hardware/gpu"} - {pointer}
    return all(draft.has(each) for each in needed)


def _planned(option: Option, draft: Draft, observer: Observer) -> Option:
    """Return the answer with its plan; models of the shortlist already have one."""
    plan = option.plan or observer.look(draft.changed(option.changes)).plan
    return replace(option, plan=plan)


def _suggested(question: Question, options: list[Option]) -> int | None:
    """Return the first answer that fits, or the first answer if none is known to fit."""
    only_the_person_knows = question.pointer.startswith("/data/") and len(options) > 1
    if not options or only_the_person_knows:
        return None
    fitting = (n for n, option in enumerate(options) if option.plan and option.plan.memory.fits)
    return next(fitting, 0)


def _files(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del draft, situation
    try:
        names = sorted(
            path.name
            for path in folder.iterdir()
            if path.suffix in _DATA_ENDINGS and path.is_file()
        )
    except OSError:
        return
    specs = ("spec.json", "ftc.lock.json", "package.json")
    yield from ((name, name) for name in [n for n in names if n not in specs][:_MOST_FILES])


def _columns(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the file's columns without a role; a large file is not read for this."""
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


def _models(draft: Draft, situation: Situation) -> Iterator[Option]:
    """Yield the models of the shortlist for the known data, hardware and export.

    If no method is set, a model that only fits with QLoRA also sets the method.
    """
    if situation.spec is None:
        return
    data = situation.data or nominal_data()
    said = draft.get("/method/type")
    wish = Wish(
        spec=situation.spec,
        data=data,
        hardware=situation.hardware,
        languages=tuple(code for code, share in data.languages.items() if share >= _MAIN_LANGUAGE),
        context_tokens=data.lengths.p99,
        gguf=bool(draft.get("/export/types")),
        methods=(said,) if said in _METHODS else METHODS,
    )
    for pick in shortlist(wish):
        name, method = pick.candidate.model.id, pick.candidate.method
        changes = [Change(pointer="/model/id", value=name, words=name)]
        if method == "qlora" and said is None:
            changes.append(Change(pointer="/method/type", value=method, words=name))
        plan = pick.candidate.plan
        yield Option(label=name, changes=tuple(changes), plan=plan, told=tuple(_told(pick)))


def _told(pick: Pick) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the facts of a model, why it is offered, and when a larger one would fit."""
    model, method = pick.candidate.model, pick.candidate.method
    key = "model.facts_gated" if model.gated else "model.facts"
    size = round(model.shape.parameters / _BILLION, 1)
    yield key, {"size": size, "licence": model.licence, "context": model.context_tokens}
    if method is not None:
        yield "model.method", {"method": method}
    reason = "largest_known" if pick.reason == "largest" and method is None else pick.reason
    yield f"model.reason.{reason}", {}
    larger = pick.larger
    if larger is not None and larger.plan is not None:
        needed = larger.plan.memory.device_bytes
        yield "model.larger", {"model": larger.model.id, "needed_bytes": needed}


def _machines(draft: Draft, situation: Situation, folder: Path) -> Iterator[tuple[str, Any]]:
    del draft, situation, folder
    yield from ((name, name) for name in _MACHINES)


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
}
_PLANNED: Final = frozenset({"/model/id", "/hardware/gpu", "/method/type", "/export/types"})
