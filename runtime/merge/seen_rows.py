"""How merging compares a model that was trained with its tower: on rows with images."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformers import AutoModelForImageTextToText

from .language_model import LANGUAGE_MODEL
from .merging import ModelKind


def see_with(images: Any) -> ModelKind:
    """Return the kind of model that reads rows with images, with an image_batches.ImageReader.

    Rows are not cut, because the tokens and the pixels of an image belong together.
    """

    def read(model: Any, row: Any) -> tuple[list[int], Mapping[str, Any]]:
        ids = row["input_ids"]
        return ids, images.read_for(model, [row], [ids])

    return replace(
        LANGUAGE_MODEL, find_class=lambda *_, **__: AutoModelForImageTextToText, read=read
    )
