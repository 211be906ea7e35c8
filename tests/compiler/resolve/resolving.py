"""Resolving data and models in tests: what is expected to be known, exact or unreadable."""

import json
from pathlib import Path
from typing import Any

from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import DataFacts, ModelFacts, TokenizerFacts, Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec
from tests.messages import say

NO_TOKENIZER = Unknown(
    finding=Finding(
        code="FTC113", name="x", severity="error", problem=say("gone"), remedy=say("look")
    )
)
CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def known(spec: Spec, folder: Path) -> DataFacts:
    """Resolve data, lengths estimated, that is expected to be known."""
    found = resolve_data(spec, folder=folder, tokenizer=NO_TOKENIZER)
    assert isinstance(found, DataFacts), found
    return found


def unknown(spec: Spec, folder: Path) -> Finding:
    """Resolve data that is expected to be unreadable."""
    found = resolve_data(spec, folder=folder, tokenizer=NO_TOKENIZER)
    assert isinstance(found, Unknown), found
    assert "\n" not in found.finding.message
    assert str(folder) not in found.finding.message + found.finding.help
    return found.finding


def exact(spec: Spec, folder: Path) -> DataFacts:
    """Resolve data with the tokenizer of the model beside the spec."""
    model = resolve_model(spec, folder=folder)
    tokenizer = resolve_tokenizer(spec, folder=folder, model=model)
    assert isinstance(tokenizer, TokenizerFacts)
    found = resolve_data(spec, folder=folder, tokenizer=tokenizer)
    assert isinstance(found, DataFacts), found
    return found


def chat_rows(tmp_path: Path, *conversations: Any) -> None:
    """Write one conversation per line."""
    lines = (json.dumps({"messages": messages}) for messages in conversations)
    (tmp_path / "chat.jsonl").write_text("\n".join(lines), encoding="utf-8")


def code(found: object) -> str:
    """Return the code of an unknown fact."""
    assert isinstance(found, Unknown), found
    finding = found.finding
    assert finding.help
    return finding.code


def known_model(spec: Spec, folder: Path) -> ModelFacts:
    """Resolve a model that is expected to be known."""
    found = resolve_model(spec, folder=folder)
    assert isinstance(found, ModelFacts), found
    return found
