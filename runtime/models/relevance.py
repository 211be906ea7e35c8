"""Loads a reranker with sentence-transformers: it scores a query and a text read together."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from sentence_transformers import CrossEncoder

from ..libraries import silence_libraries

BATCH_PAIRS: Final = 32
_SEED: Final = 42  # of the new head of a base without one


def load(
    source: Path | str,
    *,
    dtype: Any = "auto",
    attention: str | None = None,
    max_length: int | None = None,
    use_safetensors: bool | None = True,
    on_gpu: bool = False,
    **options: Any,
) -> Any:
    """Return the model of a folder or of the Hub, on the CPU or a GPU, with one score per pair.

    A base without a head of one score gets a new one, always the same. `options` are the
    revision and the like.
    """
    silence_libraries()
    # transformers warns of a name that sentence-transformers still has
    warnings.filterwarnings("ignore", ".*only defines `gradient_checkpointing_en", FutureWarning)
    made: dict[str, Any] = {"dtype": dtype, "use_safetensors": use_safetensors}
    made["ignore_mismatched_sizes"] = True  # a head of several labels is replaced
    if attention is not None:
        made["attn_implementation"] = attention
    torch.manual_seed(_SEED)
    model: Any = CrossEncoder(
        str(source),
        device="cpu",
        num_labels=1,
        activation_fn=torch.nn.Sigmoid(),  # the loss uses it, whatever the base's config says
        model_kwargs=made,
        **options,
    )
    if max_length is not None:
        model.max_seq_length = max_length
    return model.to("cuda") if on_gpu else model


def score(model: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Return each pair's score before the sigmoid, in fp32: after it, high scores can be equal."""
    return model.predict(
        [list(pair) for pair in pairs],
        batch_size=BATCH_PAIRS,
        activation_fn=torch.nn.Identity(),
        show_progress_bar=False,
    ).astype("float32")


def list_heads(model: Any) -> list[str]:
    """Return the modules to train beside an adapter: those that turn tokens into a score.

    In a base without a head they have random values.
    """
    inside = model[0].model
    heads = [
        name
        for name, module in inside.named_children()
        if name != inside.base_model_prefix and any(True for _ in module.parameters())
    ]
    is_pooled = getattr(inside.base_model, "pooler", None) is not None
    return [*heads, *(["pooler"] if is_pooled else [])]
