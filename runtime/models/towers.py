"""Private parts of transformers' models that are replaced where a model has a tower.

Each function says why. tests/runtime/upstream/test_upstream.py fails if that part has changed.
"""

from typing import Any


def pass_gradients_to_text(model: Any) -> None:
    """Make recomputing ask the language model's embedding alone for a gradient.

    `PreTrainedModel.enable_input_require_grads` asks every part of a model that has an embedding.
    A frozen tower would keep its activations, and have a backward pass that changes nothing.
    """

    def ask(_module: Any, _inputs: Any, output: Any) -> None:
        output.requires_grad_(requires_grad=True)

    def enable() -> None:
        model.get_input_embeddings().register_forward_hook(ask)

    model.enable_input_require_grads = enable


def save_as_loaded(model: Any) -> None:
    """Make a model save its tensors by their names in memory.

    `save_pretrained` renames them as their publisher did, by `_weight_conversions`. The Trainer
    looks for the names in memory when it resumes or loads the best checkpoint: of a multimodal
    model it would find none, warn, and go on with other weights.
    """
    model._weight_conversions = []  # noqa: SLF001
