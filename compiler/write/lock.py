"""The lock: what a bundle was compiled from, stored as `ftc.lock.json` beside its files."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from ftc.compiler.plan.decision import Decision
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.render.output.json_layout import lay_out
from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    ModelFacts,
    TeacherFacts,
    Unknown,
)
from ftc.compiler.resolve.resolver import (
    FACTS,
    Fact,
    canonical_hash,
    needed_facts,
    section_hashes,
)
from ftc.compiler.resolve.stored_facts import has_default, restore_fact
from ftc.compiler.write.explanations import CHANGED_SINCE
from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.message import Message, Value, reason_of
from ftc.spec.sections import Spec

LOCK_NAME = "ftc.lock.json"
LOCK_VERSION = 1

_SHOWN_LETTERS = 60
_LINE_LETTERS = 1_500  # a longer entry, such as a source of a mixture, is divided
_SHA256 = re.compile(r"[0-9a-f]{64}")


class LockFailure(EnvironmentFailure):
    """The lock on disk cannot be used; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Everything that a second compile needs in order to write the same bytes again.

    `sections` maps a fact's name to the hash of the part of the spec that led to it; `facts` holds
    the facts and `decisions` the values and their sources, both as plain JSON; `files` maps a name
    relative to the bundle to the hash of its bytes. Hashes are SHA-256 in hexadecimal. Fields of
    facts that have their default value, or that are None without having one, are left out.
    """

    lock: int
    ftc: str
    spec_sha256: str
    sections: Mapping[str, str]
    facts: Mapping[str, Any]
    decisions: Mapping[str, Any]
    requirements: Sequence[str]
    files: Mapping[str, str]


def make_lock(
    *,
    ftc: str,
    spec: Spec,
    facts: Facts,
    decisions: Mapping[str, Decision[Any]],
    requirements: Sequence[str],
    files: Sequence[RenderedFile],
) -> Lock:
    """Return the lock of a bundle about to be written; a fact that is unknown is left out."""
    found = {name: getattr(facts, name) for name in needed_facts(spec)}
    known = {
        name: _settled(fact, spec) for name, fact in found.items() if not isinstance(fact, Unknown)
    }
    hashes = section_hashes(spec)
    return Lock(
        lock=LOCK_VERSION,
        ftc=ftc,
        spec_sha256=canonical_hash(spec),
        sections={name: hashes[name] for name in known},
        facts={name: _leave_out_nulls(fact) for name, fact in known.items()},
        decisions={
            name: {"value": _plain(decision.value), "source": decision.source}
            for name, decision in decisions.items()
        },
        requirements=list(requirements),
        files={file.name: hash_text(file.text) for file in files},
    )


def dump_lock(lock: Lock) -> str:
    """Return the file's text, sorted, in ASCII.

    Each fact and decision has a line, and so has each file of the bundle; the modules of a folder
    of `runtime/` share one, and so do the requirements.
    """
    depths = {"facts": 2, "requirements": 0}
    lines = [
        f'  "{name}": '
        + (_lay_out_files(value) if name == "files" else _lay_out(value, depths.get(name, 1)))
        for name, value in sorted(asdict(lock).items())
    ]
    return "\n".join(["{", ",\n".join(lines), "}"]) + "\n"


def _lay_out_files(files: Mapping[str, str]) -> str:
    """Return the object of files, with the files of each folder on one line."""
    lines = [
        ", ".join(f"{json.dumps(name)}: {json.dumps(files[name])}" for name in names)
        for folder, group in groupby(sorted(files, key=_order), key=_folder)
        for names in ([list(group)] if folder else [[name] for name in group])
    ]
    return "{\n    " + ",\n    ".join(lines) + "\n  }" if lines else "{}"


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _order(name: str) -> tuple[str, str]:
    return _folder(name), name


def _lay_out(value: Any, depth: int) -> str:
    return lay_out(value, width=_LINE_LETTERS, depth=depth, indent="  ", sort=True)


def read_lock(folder: Path) -> Lock | None:
    """Return the lock of the bundle in `folder`, or None where there is none.

    Raises LockFailure when the file is there and is not a lock that this version can use.
    """
    try:
        text = (folder / LOCK_NAME).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise _damaged("lock.not_utf8") from error
    except OSError as error:
        raise _damaged("lock.unreadable", reason=reason_of(error)) from error
    return parse_lock(text)


def parse_lock(text: str) -> Lock:
    """Return the lock that `text` holds; raises LockFailure when it holds none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged("lock.not_json") from error
    if not isinstance(data, dict):
        raise _damaged("lock.no_object")
    version = data.get("lock")
    if isinstance(version, int) and version > LOCK_VERSION:
        raise LockFailure(
            message=Message(
                "failure.lock_version.message",
                {"file": LOCK_NAME, "version": version, "own_version": LOCK_VERSION},
            ),
            help=Message("failure.lock_version.help"),
        )
    if unknown := sorted(set(data) - {field.name for field in fields(Lock)}):
        raise _damaged("lock.unknown_key", name=ascii(unknown[0])[1:-1])
    try:
        lock = msgspec.convert(data, Lock)
    except msgspec.ValidationError as error:
        raise _damaged("lock.wrong_type", detail=ascii(str(error))[1:-1]) from error
    _require_sane(lock)
    return lock


def locked_facts(lock: Lock, spec: Spec) -> Mapping[str, Fact]:
    """Return the facts of the lock whose part of the spec is unchanged, by name.

    The spec is as the bundle sees it, and so are the paths in the facts.

    A fact that does not have today's fields (another ftc wrote it, or a hand edited it), or a model
    of no parameters, is left out, and so is resolved again.
    """
    hashes = section_hashes(spec)
    found = stored_facts(lock, spec)
    return {name: found[name] for name in found if lock.sections[name] == hashes.get(name)}


def stored_facts(lock: Lock, spec: Spec) -> Mapping[str, Fact]:
    """Return every fact of the lock that has today's fields, by name."""
    found: dict[str, Fact] = {}
    for name, data in lock.facts.items():
        try:
            fact = restore_fact(data, FACTS[name])
        except msgspec.ValidationError:
            continue
        model = fact.model if isinstance(fact, TeacherFacts) else fact
        if not isinstance(model, ModelFacts) or model.parameters > 0:
            found[name] = _settled(fact, spec)
    return found


def find_stale(kept: Mapping[str, Fact], folder: Path) -> tuple[Finding, ...]:
    """Return a warning for each local file whose bytes are not those that the lock knows.

    `kept` are the facts taken from the lock, `folder` that of the spec. A file that is absent gives
    no warning: the lock stands in for it.
    """
    found: list[Finding] = []
    model, data = kept.get("model"), kept.get("data")
    teacher = kept.get("teacher")
    taught = teacher.model if isinstance(teacher, TeacherFacts) else None
    for fact, pointer in ((model, "/model/id"), (taught, "/objective/teacher/id")):
        if isinstance(fact, ModelFacts) and fact.path is not None:
            config = folder / fact.path / "config.json"
            if _differs(config, fact.config_sha256):
                found.append(CHANGED_SINCE.finding(message="model", pointer=pointer))
    parts = (data.sources or (data,)) if isinstance(data, DataFacts) else ()
    for place, part in enumerate(parts):
        if part.path is not None and _differs(folder / part.path, part.sha256):
            pointer = "/data/source" if part is data else f"/data/sources/{place}"
            found.append(CHANGED_SINCE.finding(pointer=pointer, name=part.source))
    return tuple(found)


def list_changes(old: Lock, new: Lock) -> tuple[str, ...]:
    """Return one sentence for each fact and decision that differs, in the order of a run."""
    sentences: list[str] = []
    if old.ftc != new.ftc:
        sentences.append(f"compiled by ftc {new.ftc}, before by ftc {old.ftc}")
    sentences += _compare(_complete_facts(old), _complete_facts(new))
    before, after = (
        {name: decision["value"] for name, decision in lock.decisions.items()}
        for lock in (old, new)
    )
    sentences += _compare(before, after)
    if list(old.requirements) != list(new.requirements):
        lost, gained = (
            json.dumps(sorted(set(one.requirements) - set(other.requirements)))
            for one, other in ((old, new), (new, old))
        )
        sentences.append(f"`requirements` lost {lost} and gained {gained}")
    return tuple(sentences)


def _compare(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield a sentence per leaf; a list is a leaf, since its items have no names."""
    for name in (*new, *(name for name in old if name not in new)):
        path = f"{prefix}{name}"
        if name not in old:
            yield f"`{path}` is new"
        elif name not in new:
            yield f"`{path}` is gone"
        elif isinstance(old[name], dict) and isinstance(new[name], dict):
            yield from _compare(old[name], new[name], f"{path}.")
        elif old[name] != new[name]:
            before, after = (json.dumps(value, sort_keys=True) for value in (old[name], new[name]))
            short = max(len(before), len(after)) <= _SHOWN_LETTERS
            yield f"`{path}` was {before} and is {after}" if short else f"`{path}` changed"


def hash_text(text: str) -> str:
    """Return the SHA-256 of a file with this text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _differs(path: Path, sha256: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != sha256


def is_inside(name: str) -> bool:
    """Return whether a POSIX name stays inside the folder that it is relative to."""
    path = PurePosixPath(name)
    parts = name.split("/")
    strange = "\\" in name or ":" in name or "\0" in name or not name.isprintable()
    return not (strange or path.is_absolute() or {"", ".", ".."} & set(parts))


def _settled(fact: Fact, spec: Spec) -> Fact:
    """Return the fact without free disk space that was measured: it differs at every compile."""
    if isinstance(fact, HardwareFacts) and spec.hardware.disk_gib is None:
        return replace(fact, disk_free_bytes=None)
    return fact


def _plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value, order="deterministic"))


def _shorten(value: Any) -> Any:
    """Return a fact as plain JSON, without the fields that have their default value."""
    if is_dataclass(value):
        named = ((field, getattr(value, field.name)) for field in fields(value))
        return {field.name: _shorten(kept) for field, kept in named if not _is_default(field, kept)}
    if isinstance(value, tuple | list):
        return [_shorten(entry) for entry in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _shorten(entry) for name, entry in value.items()}
    return _plain(value)


def _leave_out_nulls(fact: Fact) -> dict[str, Any]:
    """Return a fact as plain JSON, without the fields that are None and have no default value."""
    kept: dict[str, Any] = _shorten(fact)
    needed = {field.name for field in fields(fact) if not has_default(field)}
    return {name: value for name, value in kept.items() if value is not None or name not in needed}


def _is_default(field: Field[Any], value: object) -> bool:
    made = field.default if field.default_factory is MISSING else field.default_factory()
    return made == value


def _complete_facts(lock: Lock) -> dict[str, Any]:
    """Return a lock's facts with their default values; facts that do not fit stay unchanged."""
    found = dict(lock.facts)
    for name, data in lock.facts.items():
        with suppress(msgspec.ValidationError):
            found[name] = _plain(restore_fact(data, FACTS[name]))
    return found


def _require_sane(lock: Lock) -> None:
    """Refuse a lock whose names lead out of the bundle or whose parts disagree."""
    if lock.lock != LOCK_VERSION:
        raise _damaged("lock.no_version", version=lock.lock)
    for name in lock.files:
        if not is_inside(name):
            raise _damaged("lock.outside", name=ascii(name)[1:-1])
    for digest in (lock.spec_sha256, *lock.sections.values(), *lock.files.values()):
        if not _SHA256.fullmatch(digest):
            raise _damaged("lock.no_digest", name=ascii(digest[:64])[1:-1])
    if set(lock.sections) != set(lock.facts) or not set(lock.facts) <= set(FACTS):
        raise _damaged("lock.other_facts")
    for name, decision in lock.decisions.items():
        if not isinstance(decision, dict) or set(decision) != {"value", "source"}:
            raise _damaged("lock.no_decision", name=ascii(name)[1:-1])


def _damaged(key: str, **values: Value) -> LockFailure:
    """Return the failure, with the key of its reason and the values of that sentence."""
    reason = Message(key, values)
    return LockFailure(
        message=Message("failure.lock_damaged.message", {"file": LOCK_NAME, "reason": reason}),
        help=Message("failure.lock_damaged.help"),
    )
