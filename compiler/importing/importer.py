"""The entry point of imports: from another trainer's file to a spec."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from ftc.compiler.importing.explanations import BROKEN, FOREIGN, INCOMPLETE, REFUSED, UNKNOWN
from ftc.compiler.importing.source import (
    ForeignConfig,
    UnknownConfigError,
    UnreadableConfigError,
    UnreadableScriptError,
    read_foreign,
    read_registry,
)
from ftc.spec.findings.finding import Finding, Position
from ftc.spec.findings.quote import shell_word, shown
from ftc.spec.load import MOST_BYTES, read_text
from ftc.spec.normal import lengthen
from ftc.spec.schema import read_schema
from ftc.spec.text.document import Lines
from ftc.spec.tools.entry import Imported
from ftc.spec.tools.tables import read_table
from ftc.spec.tools.translation import build_spec, translate

#: Notebooks contain their images.
_MOST_NOTEBOOK_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """The result of an import; `spec` is None if findings prevent one. `text` is the input."""

    text: str | None = None
    tool: str = ""
    imported: Imported | None = None
    spec: Mapping[str, Any] | None = None
    findings: tuple[Finding, ...] = ()


def import_file(
    source: str,
    *,
    name: str | None = None,
    model: str | None = None,
    data: str | None = None,
    hardware: str | None = None,
) -> Import:
    """Import a file, or standard input for "-"; the other arguments override the file."""
    text = _read(source)
    if isinstance(text, Finding):
        return Import(findings=(text,))
    try:
        config = read_foreign(text, source)
    except UnknownConfigError:
        return Import(text=text, findings=(UNKNOWN.finding(name=shown(source)),))
    except (UnreadableConfigError, UnreadableScriptError) as error:
        found = BROKEN.finding(name=shown(source), reason=shown(str(error)))
        return Import(text=text, findings=(found.at(Position(line=error.line, column=1)),))
    folder = Path() if source == "-" else Path(source).parent
    imported = translate_config(config, folder, hardware)
    result = Import(text=text, tool=read_table(config.tool).title, imported=imported)
    chosen = {"/model/id": model, "/data/source": data}
    given = {pointer: value for pointer, value in chosen.items() if value is not None}
    dropped = {"/data/sources"} if data is not None else set()
    dropped |= {"/name"} if name is not None else set()
    own = {at: value for at, value in imported.fields.items() if at not in dropped}
    stated = {**own, **given}
    findings = (*_refused(imported, text), *_missing(stated, source))
    if findings:
        return replace(result, findings=findings)
    stem = "imported" if source == "-" else Path(source).stem
    spec = build_spec(replace(imported, fields=stated), name or stem, hardware=hardware)
    return replace(result, spec=spec)


def recognise_file(source: str, data: Any) -> Finding | None:
    """Return the finding for a file that is a config of another trainer instead of a spec."""
    own = set(read_schema()["properties"]) - {"model", "name"}
    if source == "-" or (isinstance(data, Mapping) and own & set(data)):
        return None
    text = _read(source)
    if isinstance(text, Finding):
        return None
    try:
        config = read_foreign(text, source)
    except (UnknownConfigError, UnreadableConfigError, UnreadableScriptError):
        return None
    return FOREIGN.finding(tool=read_table(config.tool).title, name=shown(shell_word(source)))


def translate_config(config: ForeignConfig, folder: Path, hardware: str | None) -> Imported:
    """Translate a config with paths relative to a folder, for the hardware of a spec."""
    from ftc.compiler.importing.data_form import find_form  # noqa: PLC0415 - only for imports
    from ftc.compiler.importing.unfit import find_unfit  # noqa: PLC0415 - only for imports
    from ftc.compiler.knowledge.training.peft_defaults import find_peft_targets  # noqa: PLC0415

    long = lengthen("hardware", hardware) if hardware is not None else None
    gpus = int(long.get("count", 1)) if isinstance(long, Mapping) else None
    registry = read_registry(folder, config.entries) if config.tool == "llamafactory" else {}
    return translate(
        config.tool,
        config.entries,
        gpus=gpus,
        registry=registry,
        find_unfit=find_unfit,
        find_targets=find_peft_targets,
        find_form=partial(find_form, folder),
    )


def _read(source: str) -> str | Finding:
    notebook = source.lower().endswith(".ipynb")
    most = _MOST_NOTEBOOK_BYTES if notebook else MOST_BYTES
    return read_text(source, most_bytes=most, missing="import")


def _refused(imported: Imported, text: str) -> tuple[Finding, ...]:
    """Return one finding for each reason, with the first of its keys."""
    found: dict[str, Finding] = {}
    for each in imported.refused:
        finding = REFUSED.finding(message=each.reason, key=shown(each.key))
        found.setdefault(each.reason, finding.at(_find(each.key, text)))
    return tuple(found.values())


def _find(key: str, text: str) -> Position | None:
    """Return the position of a key in a text, by its last name.

    A key of LLaMA-Factory's list of data sets is in another file, to which `dataset` refers.
    """
    key = "dataset" if key.startswith("dataset_info.") else key
    last = re.escape(re.sub(r"\[\d+\]", "", key).rpartition(".")[2])
    match = re.search(rf"(?m)^[\s\"'-]*(?P<key>{last})\b", text) or re.search(rf"\b{last}\b", text)
    return (
        Lines.of(text).position(match.start("key") if match.groupdict() else match.start())
        if match
        else None
    )


def _missing(fields: Mapping[str, Any], source: str) -> tuple[Finding, ...]:
    found = []
    if "/model/id" not in fields:
        found.append(INCOMPLETE.finding(message="model", help="model", name=shown(source)))
    if not fields.keys() & {"/data/source", "/data/sources"}:
        found.append(INCOMPLETE.finding(message="data", help="data", name=shown(source)))
    return tuple(found)
