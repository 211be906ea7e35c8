"""The table of chat templates in which TRL reads calls is what the pinned TRL itself says."""

import hashlib
from pathlib import Path
from typing import Any

import trl.chat_template_utils as known
from tokenizers import Tokenizer, models
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from ftc.compiler.knowledge.text.tool_templates import _names
from ftc.runtime.reward.offered_tools import find_fault

FOLDER = Path(known.__file__).parent / "chat_templates"


def make_tokenizer(template: str) -> Any:
    """Return a tokenizer of bytes with a chat template."""
    alphabet = sorted(ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    bytes_only: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytes_only.pre_tokenizer = ByteLevel(add_prefix_space=False)
    marks = {"bos_token": "<b>", "eos_token": "<e>", "pad_token": "<p>"}
    tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bytes_only, **marks
    )
    tokenizer.chat_template = template
    return tokenizer


def test_the_table_is_what_trl_accepts() -> None:
    """All templates of TRL are tried, as prepare.py tries the model's."""
    found = {}
    for path in sorted(FOLDER.glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        if find_fault(make_tokenizer(template)) is None:
            found[path.stem] = hashlib.sha256(template.encode()).hexdigest()

    assert len(found) > len("qwen")
    assert found == _names()


def test_a_template_with_a_change_is_not_accepted() -> None:
    """TRL compares whole texts."""
    template = (FOLDER / "qwen2_5.jinja").read_text(encoding="utf-8")
    fault = find_fault(make_tokenizer(template + " "))

    assert fault is not None
    assert "does not know" in fault
    assert "does not render" in str(find_fault(make_tokenizer("{{ messages[0]['content'] }}")))
