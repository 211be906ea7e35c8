"""Asks a model in the transformers format a question about images."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForImageTextToText, AutoProcessor

from ..vision.images import open_image


def answer(
    folder: Path,
    messages: Sequence[Mapping[str, str]],
    images: Sequence[Path],
    answer_tokens: int,
    **options: Any,
) -> str:
    """Return the most likely answer to the last message; the images come before its text.

    `options` go to `from_pretrained`.
    """
    kind: Any = AutoProcessor
    processor = kind.from_pretrained(folder, **options)
    model: Any = AutoModelForImageTextToText.from_pretrained(
        folder, dtype="auto", use_safetensors=True, **options
    )
    asked: list[Any] = [
        {**each, "content": [{"type": "text", "text": each["content"]}]} for each in messages
    ]
    asked[-1]["content"] = [*({"type": "image"} for _ in images), *asked[-1]["content"]]
    text = processor.tokenizer.apply_chat_template(
        asked, tokenize=False, add_generation_prompt=True
    )
    inputs = processor(
        text=[text],
        images=[[open_image(image) for image in images]] if images else None,
        add_special_tokens=False,
        return_tensors="pt",
    )
    written = model.generate(  # stop strings of the model, if any, need the tokenizer
        **inputs, max_new_tokens=answer_tokens, do_sample=False, tokenizer=processor.tokenizer
    )
    said = written[0, inputs["input_ids"].shape[1] :]
    return str(processor.tokenizer.decode(said, skip_special_tokens=True)).strip()
