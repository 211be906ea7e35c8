"""What a model that was trained with its tower computes for a row with images, for its merge."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformers import AutoModelForImageTextToText

from .language_model import LANGUAGE_MODEL
from .merging import ModelKind


def see_with(images: Any) -> ModelKind:
    """Return what reads rows with images; `images` is an image_batches.ImageReader.

    No row is cut, because its tokens and the pixels of its images belong together.
    """

    def read(model: Any, row: Any) -> tuple[list[int], Mapping[str, Any]]:
        ids = row["input_ids"]
        return ids, images.read_for(model, [row], [ids])

    return replace(
        LANGUAGE_MODEL, find_class=lambda *_, **__: AutoModelForImageTextToText, read=read
    )
