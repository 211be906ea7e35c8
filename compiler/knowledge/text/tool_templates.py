"""The chat templates whose tool calls the pinned TRL can read."""

from collections.abc import Mapping
from functools import cache

from ftc.compiler.knowledge.tables import read_table


def is_readable(template_sha256: str) -> bool:
    """Return whether TRL can read tool calls in the answers of this chat template.

    Source: TRL 1.16, `add_response_schema` of trl/chat_template_utils.py, which compares whole
    texts, and `trl/chat_templates`.
    """
    return template_sha256 in _names().values()


@cache
def _names() -> Mapping[str, str]:
    """Return the SHA-256 of each template by its name in TRL."""
    found: dict[str, str] = read_table(__name__, "tool_templates.json")
    return found
