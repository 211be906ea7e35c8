"""The bundles of the examples, rendered from the facts that `tests/golden/NAME/` has committed."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.pipeline import Outcome, compile_bundle
from ftc.compiler.write.lock import LOCK_NAME, Lock

ROOT: Final = Path(__file__).resolve().parent.parent
GOLDEN: Final = ROOT / "tests" / "golden"
EXAMPLES: Final = {
    path.parent.name: path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "examples").glob("*/spec.*"))
    if path.suffix in {".json", ".yaml"}
}


@cache
def compile_golden(name: str) -> Outcome:
    """Compile an example from its committed facts, without a network; nothing is written."""
    return _compile(name, update=False)


def resolve_golden(name: str) -> Outcome:
    """Compile an example from facts that are resolved again."""
    return _compile(name, update=True)


def _compile(name: str, *, update: bool) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", "/nonexistent")
        outcome = compile_bundle(str(ROOT / EXAMPLES[name]), output=GOLDEN / name, update=update)
    assert not outcome.failed, outcome.findings
    return outcome


def write_bundle(name: str, folder: Path) -> Path:
    """Write the whole bundle of an example, `runtime/` and the lock included, into a folder."""
    outcome = compile_golden(name)
    for file in outcome.files:
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    assert outcome.lock is not None
    (folder / LOCK_NAME).write_text(json.dumps(asdict(outcome.lock)), encoding="utf-8")
    return folder


def read_decisions(name: str) -> Mapping[str, Any]:
    """Return the decided values of an example."""
    lock = compile_golden(name).lock
    assert lock is not None
    return {key: decision["value"] for key, decision in lock.decisions.items()}


def dump_facts(lock: Lock) -> str:
    """Return a lock of facts alone, a line for each: what a golden is compiled from."""
    kept = asdict(replace(lock, decisions={}, requirements=(), files={}))
    lines = [
        f'"facts": {{\n{_dump_lines(kept.pop("facts"))}\n}}',
        *(f'"{name}": {json.dumps(value, sort_keys=True)}' for name, value in kept.items()),
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump_lines(values: Mapping[str, Any]) -> str:
    named = (f'"{name}": {json.dumps(values[name], sort_keys=True)}' for name in sorted(values))
    return ",\n".join(named)
