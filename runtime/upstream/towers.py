"""Private parts of transformers' models that are replaced where a model has a tower.

Each function says why. tests/runtime/upstream/test_upstream.py fails if that part has changed. The
file, at the version that was tested:
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/modeling_utils.py
"""

import inspect
from typing import Any

import torch

#: The ending of the names of arguments that say whether each token belongs to an image.
TYPE_ENDING = "type_ids"


def pass_gradients_to_text(model: Any) -> None:
    """Make activation recomputation require gradients only from the language model's embedding.

    `PreTrainedModel.enable_input_require_grads` asks every part of a model that has an embedding.
    A frozen tower would keep its activations, and have a backward pass that changes nothing.
    """

    def ask(_module: Any, _inputs: Any, output: Any) -> None:
        output.requires_grad_(requires_grad=True)

    def enable() -> None:
        model.get_input_embeddings().register_forward_hook(ask)

    model.enable_input_require_grads = enable


def mark_as_text(model: Any) -> None:
    """Pass token type ids to a model whose class requires them in training.

    Rows of text have none. The ids are zeros: no token belongs to an image.
    """
    names = [name for name in inspect.signature(model.forward).parameters
             if name.endswith(TYPE_ENDING)]  # fmt: skip

    def complete(_module: Any, args: Any, given: dict[str, Any]) -> Any:
        ids = given.get("input_ids", args[0] if args else None)
        shape = given["inputs_embeds"].shape[:2] if ids is None else ids.shape
        zeros = torch.zeros(shape, dtype=torch.long, device=model.device)
        return args, {**dict.fromkeys(names, zeros), **given}

    model.register_forward_pre_hook(complete, with_kwargs=True)


def save_as_loaded(model: Any) -> None:
    """Make a model save its tensors by their names in memory.

    `save_pretrained` renames them as their publisher did, by `_weight_conversions`. The Trainer
    looks for the names in memory when it resumes or loads the best checkpoint: of a multimodal
    model it would find none, warn, and go on with other weights.
    """
    model._weight_conversions = []  # noqa: SLF001
