"""What a bundle is rendered from: a spec, its facts and its plan, paths relative to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Plan
from ftc.spec.sections import Spec

_LEAST_CONTEXT_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSource:
    """`written` is the user's spec, its paths already relative to the bundle.

    `data_path` and `model_path` are relative to the bundle in POSIX form, None on the Hub;
    `data_paths` is that of each source of a mixture, and `data_path` then None;
    `chat_template` is the text of the template that the spec names, None without one; so are
    `reward_functions`, a Python file's text as it is, and `answer_schema`, a JSON Schema.
    """

    spec: Spec
    written: Mapping[str, Any]
    facts: KnownFacts
    plan: Plan
    data_path: str | None
    model_path: str | None
    chat_template: str | None
    reward_functions: str | None = None
    answer_schema: Mapping[str, Any] | None = None
    data_paths: tuple[str | None, ...] = ()


def find_context_tokens(source: BundleSource) -> int:
    """Return the room that ask.py and Ollama give a question and its answer."""
    wanted = max(_LEAST_CONTEXT_TOKENS, 2 * source.plan.decisions.max_length.value)
    return min(source.facts.model.context_tokens, wanted)
