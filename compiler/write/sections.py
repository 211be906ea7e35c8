"""The sections: which part of a spec leads to which fact."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ftc.compiler.resolve.facts import DataFacts, HardwareFacts, ModelFacts, TokenizerFacts
from ftc.spec.sections import Spec

Fact = ModelFacts | TokenizerFacts | DataFacts | HardwareFacts

FACTS: Final[Mapping[str, type[Fact]]] = {
    "model": ModelFacts,
    "tokenizer": TokenizerFacts,
    "data": DataFacts,
    "hardware": HardwareFacts,
}

# What `resolve_data` never reads: these only steer the plan.
_PLANNED = frozenset({"max_length", "splits"})


def section_hashes(spec: Spec) -> Mapping[str, str]:
    """Return, for each fact, the SHA-256 of everything in the spec that could change it.

    What local files hold is not looked at: a locked fact outlives an edit of the data file until
    the facts are resolved again.
    """
    model = {
        "id": spec.model.id,
        "revision": spec.model.revision,
        "trust_remote_code": spec.model.trust_remote_code,
    }
    tokenizer = {"model": model, "chat_template": spec.model.chat_template}
    columns: Mapping[str, Any] = msgspec.to_builtins(spec.data)
    data: dict[str, Any] = {
        "data": {name: value for name, value in columns.items() if name not in _PLANNED},
        "tokenizer": tokenizer,
        "objective": spec.objective.type,
    }
    if spec.objective.type == "grpo":
        data["rewards"] = spec.objective.rewards
    parts = {"model": model, "tokenizer": tokenizer, "data": data, "hardware": spec.hardware}
    return {name: canonical_hash(part) for name, part in parts.items()}


def canonical_hash(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON: sorted keys and sets, ASCII, no spaces."""
    plain = msgspec.to_builtins(value, order="deterministic")
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
