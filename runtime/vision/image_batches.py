"""Opens the images of rows and computes what a model reads of them, batch by batch.

A record has the tokens with the placeholders of its images, and references to their files. The
pixels are read where a batch is made: in training by the workers of the loader.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from .image_store import find_images
from .image_tokens import make_rule, processor_settings

NOT_LEARNED: Final = -100
#: Inputs that say of each token whether it belongs to an image; a model has at most one of them.
_TYPES: Final = ("mm_token_type_ids", "token_type_ids")

Record = Mapping[str, Any]
Inputs = dict[str, Any]


class ImageReader:
    """The processor of a model, and the folder of the images.

    `data` is run/data, where prepare.py has noted that folder. `rule` has the settings of
    `image_tokens`, by which prepare.py counted. `options` go to `from_pretrained`.
    """

    model_class: Final = AutoModelForImageTextToText

    def __init__(
        self, source: Path | str, data: Path, *, rule: Mapping[str, Any], **options: Any
    ) -> None:
        kind: Any = AutoProcessor
        self.processor = kind.from_pretrained(source, **options)
        self.rule = make_rule(rule)
        self.open = find_images(data)
        names = self.processor.model_input_names
        self._type_names = [name for name in _TYPES if name in names]
        self._settings = processor_settings(self.rule)
        tokenizer = self.processor.tokenizer
        has_pad = tokenizer.pad_token_id is not None
        self._pad = tokenizer.pad_token_id if has_pad else tokenizer.eos_token_id

    def collate(self, rows: Sequence[Record]) -> Inputs:
        """Return a batch to train on: tokens, labels, the attention mask and the images."""
        ids = [list(row["input_ids"]) for row in rows]
        width = max(map(len, ids))
        return {
            "input_ids": fill(ids, self._pad, width),
            "labels": fill([list(row["labels"]) for row in rows], NOT_LEARNED, width),
            "attention_mask": fill([[1] * len(each) for each in ids], 0, width),
            **self.read(rows, ids, width),
        }

    def collate_pairs(self, rows: Sequence[Record]) -> Inputs:
        """Return a batch of preferences: the chosen conversations, then the rejected ones.

        This is what TRL's collator makes of pairs. The tower sees the images of a row twice, once
        for each of its conversations; their files are read once.
        """
        pairs = [
            (list(row["prompt_ids"]), list(row[name]))
            for name in ("chosen_ids", "rejected_ids")
            for row in rows
        ]
        ids = [prompt + answer for prompt, answer in pairs]
        learned = [[0] * len(prompt) + [1] * len(answer) for prompt, answer in pairs]
        width = max(map(len, ids))
        images = self.compute([row for row in self._open(rows) if row])
        return {
            "input_ids": fill(ids, self._pad, width),
            "completion_mask": fill(learned, 0, width),
            "attention_mask": fill([[1] * len(each) for each in ids], 0, width),
            **self._mark(ids, width),
            **{name: torch.cat([value, value]) for name, value in images.items()},
        }

    def read(
        self, rows: Sequence[Record], ids: Sequence[list[int]], width: int, *, left: bool = False
    ) -> Inputs:
        """Return what a model reads beside the tokens `ids` of rows, which are padded to `width`.

        `left` says that the padding is before them.
        """
        images = self.compute([row for row in self._open(rows) if row])
        return self._mark(ids, width, left=left) | images

    def _open(self, rows: Sequence[Record]) -> list[list[Any]]:
        return [[self.open(one) for one in json.loads(row["images"])] for row in rows]

    def _mark(self, ids: Sequence[list[int]], width: int, *, left: bool = False) -> Inputs:
        """Return which tokens belong to images, for a model that reads it."""
        types = self.processor.create_mm_token_type_ids(ids) if self._type_names else []
        return {name: fill(types, 0, width, left=left) for name in self._type_names}

    def compute(self, images: Sequence[Sequence[Any]]) -> Inputs:
        """Return the pixels of the images of each row, and what the model needs to know of them."""
        if not images:
            return {}
        found = self.processor.image_processor(images, return_tensors="pt", **self._settings)
        return {name: found[name] for name in found if name in self.processor.model_input_names}

    def read_for(
        self, model: Any, rows: Sequence[Record], ids: Sequence[list[int]], *, left: bool = False
    ) -> Inputs:
        """Return what `read` does, where the model is; pixels have the type of its weights."""
        found = self.read(rows, ids, max(map(len, ids)), left=left)
        moved = {name: value.to(model.device) for name, value in found.items()}
        return {
            name: value.to(model.dtype) if value.is_floating_point() else value
            for name, value in moved.items()
        }


def fill(rows: Sequence[list[int]], value: int, width: int, *, left: bool = False) -> torch.Tensor:
    """Return rows as one tensor, with a value at their end, or else before their beginning."""
    more = [[value] * (width - len(row)) for row in rows]
    pairs = zip(rows, more, strict=True)
    return torch.tensor([[*pad, *row] if left else [*row, *pad] for row, pad in pairs])
