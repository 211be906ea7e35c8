"""The constants of a mixture: lists with one entry per source."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ftc.compiler.render.source import BundleSource
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.rows.roles import Roles
from ftc.spec.sources import limit_rows, list_sources, name_sources


def source_values(source: BundleSource) -> Mapping[str, Any]:
    """Return the lists by their names in templates; empty for a single source."""
    parts, sources = source.facts.data.sources, list_sources(source.spec.data)
    places = [
        part.source if path is None else path
        for part, path in zip(parts, source.data_paths, strict=True)
    ]
    return {
        "sources": places,
        "source_names": name_sources([one.source for one in sources]) if parts else (),
        "source_revisions": [part.revision for part in parts],
        "source_files": [part.files for part in parts],
        "encodings": [part.encoding for part in parts],
        "delimiters": [part.delimiter for part in parts],
        "formats": [part.format for part in parts],
        "forms": [part.form for part in parts],
        "columns": [_columns(part, tools=source.facts.data.calls) for part in parts],
        "roles": _columns(source.facts.data, tools=source.facts.data.calls),
        "source_limits": [one.max_rows for one in sources],
        "stream_limits": [
            None if part.streamed_rows is None else limit_rows(source.spec.data, one, streamed=True)
            for part, one in zip(parts, sources, strict=False)
        ],
        "weights": [one.weight for one in sources],
        "max_repeats": [one.max_repeats for one in sources],
    }


def _columns(part: DataFacts, *, tools: bool) -> dict[str, str]:
    """Return the column of each role that the source has and a script reads."""
    named = {field.name: getattr(part, field.name) for field in fields(Roles)}
    unread = {"form"} if tools else {"form", "tools"}
    return {role: column for role, column in named.items() if column and role not in unread}
