"""Loads an embedding model with sentence-transformers, and turns texts into vectors."""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

from ..libraries import silence_libraries
from ..tokens.vector_records import is_mined

BATCH_TEXTS: Final = 32
_LEAST_NORM: Final = 1e-12
#: The poolings that llama.cpp has. Its converter stops at any other.
CONVERTED: Final = ("mean", "cls", "lasttoken")
QUERY, DOCUMENT = "query", "document"  # the names of the prompts, as sentence-transformers has them


def load(
    source: Path | str,
    *,
    pooling: str,
    own_pooling: bool = True,
    dtype: Any = "auto",
    attention: str | None = None,
    max_length: int | None = None,
    prompts: tuple[str | None, str | None] = (None, None),
    use_safetensors: bool | None = True,
    on_gpu: bool = False,
    **options: Any,
) -> Any:
    """Return the model of a folder or of the Hub, on the CPU or a GPU, with one vector per text.

    `own_pooling`: where the model has a modules.json, that takes precedence over `pooling`. The
    `prompts` before queries and documents replace the model's own unless they are None. `options`
    are the revision and the like.
    """
    silence_libraries()
    # transformers warns of a name that sentence-transformers still has
    warnings.filterwarnings("ignore", ".*only defines `gradient_checkpointing_en", FutureWarning)
    made: dict[str, Any] = {"dtype": dtype, "use_safetensors": use_safetensors}
    if attention is not None:
        made["attn_implementation"] = attention
    model = SentenceTransformer(str(source), device="cpu", model_kwargs=made, **options)
    if not (own_pooling and _has_modules(source, options.get("revision"))):
        _pool_by(model, pooling)
    reader: Any = model[0]
    # Otherwise plain texts would be wrapped in the chat template of a causal model's tokenizer, and
    # the vectors would differ from those of its GGUF file.
    reader.modality_config.pop("message", None)
    tokenizer = reader.tokenizer  # any token will do for padding, as it is masked by length
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    if max_length is not None:
        reader.max_seq_length = max_length
    for name, weight in model.named_parameters():
        if ".pooler." in name:  # a head of BERT's that no pooling reads
            weight.requires_grad = False
    for name, prompt in zip((QUERY, DOCUMENT), prompts, strict=True):
        if prompt is not None:
            model.prompts[name] = prompt
    return model.to("cuda") if on_gpu else model


def require_converted(model: Any) -> None:
    """Stop before training if llama.cpp does not have the model's pooling.

    Raises SystemExit with what to change.
    """
    modes = [module.pooling_mode for module in model if isinstance(module, Pooling)]
    unknown = [mode for mode in modes if mode not in CONVERTED]
    if unknown:
        named = unknown[0] if isinstance(unknown[0], str) else " and ".join(unknown[0])
        raise SystemExit(
            f"The model pools its tokens by {named}, which llama.cpp does not support."
            f" Set objective.pooling to one of {', '.join(CONVERTED)}, or export no GGUF file."
        )


def encode(model: Any, texts: Sequence[str], kind: str) -> Any:
    """Return a unit vector per text, in fp32: texts x dimensions. `kind` is that of the prompt."""
    with torch.no_grad():
        return model.encode(
            list(texts),
            prompt=model.prompts.get(kind) or None,
            batch_size=BATCH_TEXTS,
            normalize_embeddings=True,
            show_progress_bar=False,
        ).astype("float32")


def shorten(found: Any, size: int) -> Any:
    """Return the first `size` numbers of each vector, as unit vectors."""
    cut = found[:, :size]
    return cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), _LEAST_NORM)


def list_prompts(model: Any, columns: Iterable[str] = ()) -> dict[str, str]:
    """Return the prompt of each column of the data that has one, for the trainer.

    `columns` are those of the table; hard negatives are among them.
    """
    query, document = model.prompts.get(QUERY), model.prompts.get(DOCUMENT)
    named = {"anchor": query, "positive": document, "negative": document}
    named |= dict.fromkeys(filter(is_mined, columns), document)
    return {column: prompt for column, prompt in named.items() if prompt}


def _has_modules(source: Path | str, revision: str | None) -> bool:
    if Path(source).is_dir():
        return (Path(source) / "modules.json").is_file()
    try:
        hf_hub_download(str(source), "modules.json", revision=revision)
    except EntryNotFoundError:
        return False
    return True


def _pool_by(model: Any, pooling: str) -> None:
    """Replace the model's pooling by this one, and leave out the modules after it."""
    size = model[0].get_embedding_dimension()
    kept = [model[0], Pooling(size, pooling)]
    if any(isinstance(module, Normalize) for module in model):
        kept.append(Normalize())
    while len(model):
        del model[0]
    for place, module in enumerate(kept):
        model.add_module(str(place), module)
