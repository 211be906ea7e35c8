"""Opens the pictures of rows and computes what a model reads of them, batch by batch.

A record has the tokens with the placeholders of its pictures, and references to their files. The
pixels are read where a batch is made: in the workers of the loader, when training reads them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoProcessor

from .images import open_image

NOT_LEARNED: Final = -100
#: Inputs that say of each token whether it belongs to a picture; models have one of these names.
TYPE_NAMES: Final = ("mm_token_type_ids", "token_type_ids")

Record = Mapping[str, Any]
Inputs = dict[str, Any]


class ImageReader:
    """The processor of a model, and the folder of the pictures.

    `data` is run/data, where prepare.py has noted that folder. `max_pixels` is the size above which
    a picture is made smaller. `options` go to `from_pretrained`.
    """

    def __init__(
        self, source: Path | str, data: Path, *, max_pixels: int | None = None, **options: Any
    ) -> None:
        self.processor: Any = AutoProcessor.from_pretrained(source, **options)
        noted = json.loads((data / "images.json").read_text(encoding="utf-8"))
        self.folder = data / noted["folder"]
        self.max_pixels = max_pixels
        names = self.processor.model_input_names
        self.type_names = [name for name in TYPE_NAMES if name in names]

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the processor."""
        return self.processor.tokenizer

    def collate(self, rows: Sequence[Record]) -> Inputs:
        """Return a batch to train on: ids, labels, the attention mask and the pictures."""
        tokenizer = self.tokenizer
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        ids = [list(row["input_ids"]) for row in rows]
        width = max(map(len, ids))
        return {
            "input_ids": fill(ids, pad, width),
            "labels": fill([list(row["labels"]) for row in rows], NOT_LEARNED, width),
            "attention_mask": fill([[1] * len(each) for each in ids], 0, width),
            **self.read(rows, ids, width),
        }

    def read(
        self, rows: Sequence[Record], ids: Sequence[list[int]], width: int, *, left: bool = False
    ) -> Inputs:
        """Return what a model reads beside the tokens `ids` of rows, which are padded to `width`."""
        types = self.processor.create_mm_token_type_ids(ids) if self.type_names else []
        found: Inputs = {name: fill(types, 0, width, left=left) for name in self.type_names}
        images = [list(map(self.open, json.loads(row["images"]))) for row in rows]
        if any(images):
            found |= self.compute(images)
        return found

    def open(self, reference: Mapping[str, Any]) -> Any:
        """Return a picture, of at most `max_pixels`."""
        return open_image(self.folder, reference)

    def compute(self, images: Sequence[Sequence[Any]]) -> Inputs:
        """Return the pixels of the pictures of each row, and what the processor says of them."""
        limit = {} if self.max_pixels is None else {"max_pixels": self.max_pixels}
        found = self.processor.image_processor(
            [row for row in images if row], return_tensors="pt", **limit
        )
        return {name: found[name] for name in found if name in self.processor.model_input_names}

    def beside(self, rows: Sequence[Record]) -> Callable[[Sequence[int], int], Inputs]:
        """Return a function of the places of some of the rows and of the width of their batch."""

        def read(places: Sequence[int], width: int) -> Inputs:
            chosen = [rows[place] for place in places]
            return self.read(chosen, [row["input_ids"] for row in chosen], width)

        return read


def fill(rows: Sequence[list[int]], value: int, width: int, *, left: bool = False) -> torch.Tensor:
    """Return rows as one tensor, with a value at their end, or else at their beginning."""
    if left:
        return torch.tensor([[value] * (width - len(row)) + list(row) for row in rows])
    return torch.tensor([list(row) + [value] * (width - len(row)) for row in rows])


def place(inputs: Inputs, model: Any) -> Inputs:
    """Return inputs where the model is; pixels have the type of its weights."""
    moved = {name: value.to(model.device) for name, value in inputs.items()}
    return {
        name: value.to(model.dtype) if value.is_floating_point() else value
        for name, value in moved.items()
    }
