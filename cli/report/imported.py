"""Shows what became of each key of an imported file: a table for people, data for programs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.compiler.importing.importer import Import
from ftc.report.json_output import VERSION, list_findings
from ftc.spec.pointer import dotted
from ftc.spec.tools.entry import Became, Kind, is_computed
from ftc.spec.tools.tables import reason

_TITLES: Final[Mapping[Kind, str]] = {
    "carried": "carried over",
    "derived": "derived",
    "default": "defaults of {tool} that the file does not mention",
    "left": "not carried over",
    "refused": "not supported by ftc",
}
_WIDEST: Final = 44


def report_import(result: Import) -> str:
    """Return the table: each key with its fields, or with the reason that it has none."""
    keys = result.imported.keys if result.imported is not None else ()
    lines = [f"a config of {result.tool}"] if result.tool else []
    for kind, title in _TITLES.items():
        own = [each for each in keys if each.kind == kind]
        if own:
            lines += ["", f"{title.format(tool=result.tool)} ({len(own)})", *_rows(own)]
    return "\n".join(lines)


def import_data(result: Import) -> Mapping[str, Any]:
    """Return the import as plain data; `spec` is null where findings prevent one."""
    keys = result.imported.keys if result.imported is not None else ()
    return {
        "version": VERSION,
        "tool": result.imported.tool if result.imported is not None else None,
        "spec": result.spec,
        "keys": [
            {
                "key": each.key,
                "value": None if is_computed(each.value) else each.value,
                "became": each.kind,
                "fields": [
                    {"pointer": pointer, "value": value} for pointer, value in each.fields.items()
                ],
                "because": reason(each.reason, each.near) if each.reason else None,
            }
            for each in keys
        ],
        "findings": list_findings(result.findings),
    }


def _rows(keys: Sequence[Became]) -> Iterator[str]:
    names = [_cut(f"{each.key}: {_show(each.value)}") for each in keys]
    width = max(map(len, names))
    for name, each in zip(names, keys, strict=True):
        fields = ", ".join(f"{dotted(at)} = {_show(value)}" for at, value in each.fields.items())
        why = reason(each.reason, each.near) if each.reason else ""
        yield f"  {name:{width}}  {'; '.join(filter(None, (fields, why)))}"


def _show(value: Any) -> str:
    return str(value) if is_computed(value) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str) -> str:
    bare = " ".join(text.split())
    return bare if len(bare) <= _WIDEST else f"{bare[: _WIDEST - 1]}…"
