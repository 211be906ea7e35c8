"""The output head of a model, which the class around a language model may not name."""

from typing import Any


def find_head(model: Any) -> Any:
    """Return the output head of a model, or else of a model inside it; None without one.

    The class of Nemotron 3 Omni holds a whole language model and has no `get_output_embeddings`.
    """
    parts = (part for part in model.modules() if hasattr(part, "get_output_embeddings"))
    heads = (part.get_output_embeddings() for part in parts)
    return next((head for head in heads if head is not None), None)
