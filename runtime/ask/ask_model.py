"""Asks a model in the transformers format."""

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from ..language_models import find_class


def answer(
    folder: Path, prompt: str | list[dict[str, str]], answer_tokens: int, **options: Any
) -> str:
    """Return the most likely answer (greedy decoding) of the model in a folder.

    `prompt` is text, or messages for the chat template. `options` go to `from_pretrained`.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    model = find_class(folder, **options).from_pretrained(
        folder, dtype="auto", use_safetensors=True, **options
    )
    if isinstance(prompt, str):
        inputs = tokenizer(prompt, return_tensors="pt")
    else:
        text = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        inputs = tokenizer(text, add_special_tokens=False, return_tensors="pt")
    written = model.generate(  # stop strings of the model, if any, need the tokenizer
        **inputs, max_new_tokens=answer_tokens, do_sample=False, tokenizer=tokenizer
    )
    said = written[0, inputs["input_ids"].shape[1] :]
    return str(tokenizer.decode(said, skip_special_tokens=True)).strip()
