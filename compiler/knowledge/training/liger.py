"""The models for which the pinned liger-kernel has Triton kernels, by `model_type`.

These are the keys of its `MODEL_TYPE_TO_APPLY_LIGER_FN` among the classes whose activations have a
formula (`layer_activations.json`). For any other model, ftc does not use Liger.
"""

from typing import Final

_MODEL_TYPES: Final = frozenset({
    "exaone4", "gemma", "gemma2", "gemma3_text", "glm4", "gpt_oss", "granite", "llama", "mistral",
    "mixtral", "olmo2", "olmo3", "phi3", "qwen2", "qwen3", "qwen3_moe", "smollm3",
})  # fmt: skip


def has_liger_kernels(model_type: str) -> bool:
    """Return whether Liger replaces layers of this kind of model."""
    return model_type in _MODEL_TYPES
