"""Markers of turns where only ftc's table knows the model."""

import pytest

from ftc.compiler.knowledge.text.turn_markers import known_markers, written_markers
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.resolve.content.markers import find_markers, look_up_markers
from ftc.compiler.resolve.rows.example import Example

CHATML = "<|im_start|>user\nwho?<|im_end|>"
INST = "<s>[INST] who? [/INST] Ada"


@pytest.mark.parametrize(
    ("model", "text", "foreign"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", INST, 1),
        ("Qwen/Qwen2.5-7B", CHATML, 0),
        ("meta-llama/Llama-3.1-8B", CHATML, 1),
        ("NousResearch/Hermes-3-Llama-3.1-8B", CHATML, 0),
        ("mistralai/Mistral-7B-v0.3", CHATML, 1),
        ("mistralai/Mistral-7B-Instruct-v0.2", INST, 0),
        ("owner/unknown", CHATML, 0),
    ],
)
def test_markers_of_another_family(model: str, text: str, foreign: int) -> None:
    """A model's own markers, and those of its tokenizer, are not foreign."""
    found = find_markers([Example(turns=(("text", text),))], look_up_markers(model, ()))
    assert (found.turn_rows, found.foreign_rows) == (1, foreign)


def test_a_new_token_is_not_foreign() -> None:
    """The spec may add the markers of another family."""
    known = look_up_markers("meta-llama/Llama-3.1-8B", ("<|im_start|>", "<|im_end|>"))
    assert find_markers([Example(turns=(("text", CHATML),))], known).foreign_rows == 0


def test_every_chat_format_of_the_table_has_markers() -> None:
    """A model with a chat template says by which markers it begins and ends turns."""
    for model in all_models():
        assert bool(written_markers(model)) == (model.chat_template != "none"), model.id
        assert written_markers(model) <= known_markers(model)
