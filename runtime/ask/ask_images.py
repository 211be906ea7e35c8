"""Asks a GGUF file and its projector a question about images."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..llama_cpp import gguf_file
from ..llama_cpp.gguf_images import Projector
from ..run import Run
from ..tokens.image_records import encode_placed
from ..vision.image_tokens import make_rule
from ..vision.images import open_image


def answer(
    run: Run,
    path: Path,
    projector: Path,
    messages: Sequence[Mapping[str, str]],
    images: Sequence[Path],
    *,
    rule: Mapping[str, Any],
    token: int,
    context_tokens: int,
    answer_tokens: int,
    on_gpu: bool,
) -> str:
    """Return the most likely answer to the last message; the images come before its text."""
    llm = gguf_file.load(run, path, context_tokens, on_gpu=on_gpu)
    seen = [open_image(image) for image in images]
    parts = [{"type": "image", "width": each.width, "height": each.height} for each in seen]
    asked = [{**each, "content": [_text(each["content"])]} for each in messages]
    asked[-1]["content"] = [*parts, *asked[-1]["content"]]
    text = gguf_file.render(llm, asked)
    read = partial(llm.tokenize, add_bos=False, special=True)
    ids = encode_placed(lambda t: list(read(t.encode())), asked, text, rule=make_rule(rule))
    if len(ids) + answer_tokens > context_tokens:
        run.stop(
            f"the question has {len(ids):,} tokens, and {context_tokens:,} fit with its answer"
        )
    reader = Projector(run, llm, projector, token=token, rule=rule, on_gpu=on_gpu)
    said = reader.answer(ids, [np.asarray(each) for each in seen], answer_tokens)
    reader.close()
    llm.close()
    return said


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
