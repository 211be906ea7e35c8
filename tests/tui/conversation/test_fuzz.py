"""Conversations with mutated messages; `make fuzz` tries far more of them."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz.mutations import SNIPPETS
from benchmarks.fuzz.seeds import make_conversations
from benchmarks.fuzz.targets import converse

LINES = [line for text in make_conversations()[:-3] for line in text.splitlines()[1:]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder; the Hub cannot be reached."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


@settings(
    max_examples=6,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=2),
    inserted=st.sampled_from(SNIPPETS) | st.binary(max_size=40),
    share=st.floats(0, 1),
)
def test_a_mutated_conversation_is_answered(
    folder: Path, lines: list[bytes], inserted: bytes, share: float
) -> None:
    """No message breaks the assistant, loses the draft or sets a value that is not valid."""
    content = b"\n".join(lines)
    place = round(share * len(content))
    converse(content[:place] + inserted + content[place:], folder, "")


@pytest.mark.parametrize("lines", [b"key: value\n" * 5000, b"{" + b'"a": 1,\n' * 5000])
def test_a_long_paste_is_one_message(lines: bytes, folder: Path) -> None:
    """Five thousand lines are answered at once."""
    converse(lines, folder, "")
