"""The source of a bundle: a spec, its facts and its plan, with paths relative to the bundle."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.plan.plan import Plan
from ftc.compiler.render.extras import Extra
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

_LEAST_CONTEXT_TOKENS: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSource:
    """`written` is the user's spec, with paths relative to the bundle.

    `data_path`, `model_path` and `teacher_path` are relative to the bundle in POSIX form, or None
    on the Hub.
    `data_paths` has one path per source of a mixture; `data_path` is then None. `chat_template`,
    `reward_functions` and `tool_functions` (Python files) and `answer_schema` (a JSON Schema) are
    the texts of the files that the spec names, or None. `compared_paths` has one path per check of
    regressions. `extras` are the files that were asked for.
    """

    spec: Spec
    written: Mapping[str, Any]
    facts: KnownFacts
    plan: Plan
    data_path: str | None
    model_path: str | None
    chat_template: str | None
    reward_functions: str | None = None
    tool_functions: str | None = None
    answer_schema: Mapping[str, Any] | None = None
    data_paths: tuple[str | None, ...] = ()
    extras: frozenset[Extra] = frozenset()
    teacher_path: str | None = None
    compared_paths: tuple[str | None, ...] = ()


def list_outside(source: BundleSource) -> tuple[str, ...]:
    """Return the local files and folders that a bundle reads and does not contain."""
    named = (source.data_path, *source.data_paths, *source.compared_paths)
    paths = (*named, source.model_path, source.teacher_path)
    return tuple(path for path in paths if path is not None)


def sees(source: BundleSource) -> bool:
    """Return whether the model is trained on images."""
    return source.facts.data.pictures is not None and source.facts.model.vision is not None


def reads_number_words(source: BundleSource) -> bool:
    """Return whether the processor writes numbers as words, as SmolVLM's does for videos."""
    vision = source.facts.model.vision
    return sees(source) and vision is not None and vision.rule.get("kind") == "tiles"


def find_context_tokens(source: BundleSource) -> int:
    """Return the context length that ask.py and Ollama use for a question and its answer."""
    wanted = max(_LEAST_CONTEXT_TOKENS, 2 * source.plan.decisions.rows.max_length.value)
    return min(source.facts.model.context_tokens, wanted)
