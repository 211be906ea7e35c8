"""What `ftc explain --list --format json` prints, by kind: the source of all reference pages."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from click.testing import CliRunner

from ftc.commands.explain import command


@cache
def _all_entries() -> tuple[Mapping[str, Any], ...]:
    done = CliRunner().invoke(command, ["--list", "--format", "json"], catch_exceptions=False)
    return tuple(json.loads(done.stdout)["entries"])


def list_entries(kind: str) -> list[Mapping[str, Any]]:
    """Return the entries of a kind: "code", "field" or "term"."""
    return [entry for entry in _all_entries() if entry["kind"] == kind]
