"""The lock: what a bundle was compiled from, stored as `ftc.lock.json` beside its files."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from ftc.compiler.plan.decision import Decision
from ftc.compiler.render.file import RenderedFile
from ftc.compiler.resolve.facts import Facts, ModelFacts, Unknown
from ftc.compiler.write.sections import FACTS, Fact, canonical_hash, section_hashes
from ftc.spec.finding import EnvironmentFailure
from ftc.spec.sections import Spec

LOCK_NAME = "ftc.lock.json"
LOCK_VERSION = 1

_SHA256 = re.compile(r"[0-9a-f]{64}")


class LockFailure(EnvironmentFailure):
    """The lock on disk cannot be used; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Everything that a second compile needs in order to write the same bytes again.

    `sections` maps a fact's name to the hash of the part of the spec that led to it; `facts` holds
    the facts and `decisions` the values and their sources, both as plain JSON; `files` maps a name
    relative to the bundle to the hash of its bytes. Hashes are SHA-256 in hexadecimal.
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
    found = {name: getattr(facts, name) for name in FACTS}
    known = {name: fact for name, fact in found.items() if not isinstance(fact, Unknown)}
    hashes = section_hashes(spec)
    return Lock(
        lock=LOCK_VERSION,
        ftc=ftc,
        spec_sha256=canonical_hash(spec),
        sections={name: hashes[name] for name in known},
        facts={name: _plain(fact) for name, fact in known.items()},
        decisions={
            name: {"value": _plain(decision.value), "source": decision.source}
            for name, decision in decisions.items()
        },
        requirements=list(requirements),
        files={file.name: hash_text(file.text) for file in files},
    )


def dump_lock(lock: Lock) -> str:
    """Return the file's text: sorted keys, ASCII, one newline at the end."""
    return json.dumps(asdict(lock), indent=2, sort_keys=True, allow_nan=False) + "\n"


def read_lock(folder: Path) -> Lock | None:
    """Return the lock of the bundle in `folder`, or None where there is none.

    Raises LockFailure when the file is there and is not a lock that this version can use.
    """
    try:
        text = (folder / LOCK_NAME).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise _damaged("it is not UTF-8 text") from error
    except OSError as error:
        raise _damaged(f"it cannot be read ({error.strerror})") from error
    return parse_lock(text)


def parse_lock(text: str) -> Lock:
    """Return the lock that `text` holds; raises LockFailure when it holds none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged("it is not JSON") from error
    if not isinstance(data, dict):
        raise _damaged("it is not a JSON object")
    version = data.get("lock")
    if isinstance(version, int) and version > LOCK_VERSION:
        raise LockFailure(
            message=f"`{LOCK_NAME}` has lock version {version}, and this ftc reads {LOCK_VERSION}",
            help="install the ftc that wrote it, or delete the file and compile again",
        )
    if unknown := sorted(set(data) - {field.name for field in fields(Lock)}):
        raise _damaged(f"the key `{ascii(unknown[0])[1:-1]}` does not belong in it")
    try:
        lock = msgspec.convert(data, Lock)
    except msgspec.ValidationError as error:
        raise _damaged(ascii(str(error))[1:-1]) from error
    _hold_sane(lock)
    return lock


def locked_facts(lock: Lock, spec: Spec) -> Mapping[str, Fact]:
    """Return the facts of the lock whose part of the spec is unchanged, by name.

    A fact that does not have today's fields (another ftc wrote it, or a hand edited it), or a model
    of no parameters, is left out, and so is resolved again.
    """
    hashes = section_hashes(spec)
    found: dict[str, Fact] = {}
    for name, data in lock.facts.items():
        if lock.sections[name] != hashes[name]:
            continue
        try:
            fact = msgspec.convert(data, FACTS[name])
        except msgspec.ValidationError:
            continue
        if not isinstance(fact, ModelFacts) or fact.parameters > 0:
            found[name] = fact
    return found


def hash_text(text: str) -> str:
    """Return the SHA-256 of a file with this text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_inside(name: str) -> bool:
    """Say whether a POSIX name stays inside the folder that it is relative to."""
    path = PurePosixPath(name)
    parts = name.split("/")
    strange = "\\" in name or ":" in name or "\0" in name or not name.isprintable()
    return not (strange or path.is_absolute() or {"", ".", ".."} & set(parts))


def _plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value, order="deterministic"))


def _hold_sane(lock: Lock) -> None:
    """Refuse a lock whose names lead out of the bundle or whose parts disagree."""
    if lock.lock != LOCK_VERSION:
        raise _damaged(f"there is no lock version {lock.lock}")
    for name in lock.files:
        if not is_inside(name):
            raise _damaged(f"the file name `{ascii(name)[1:-1]}` leads out of the bundle")
    for digest in (lock.spec_sha256, *lock.sections.values(), *lock.files.values()):
        if not _SHA256.fullmatch(digest):
            raise _damaged(f"`{ascii(digest[:64])[1:-1]}` is not a SHA-256")
    if set(lock.sections) != set(lock.facts) or not set(lock.facts) <= set(FACTS):
        raise _damaged("`sections` and `facts` do not name the same facts")
    for name, decision in lock.decisions.items():
        if not isinstance(decision, dict) or set(decision) != {"value", "source"}:
            raise _damaged(f"the decision `{ascii(name)[1:-1]}` is not a value and its source")


def _damaged(why: str) -> LockFailure:
    return LockFailure(
        message=f"`{LOCK_NAME}` is damaged: {why}",
        help="restore it from version control, or delete it and compile again",
    )
