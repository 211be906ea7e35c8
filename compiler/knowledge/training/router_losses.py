"""Classes with experts whose router loss TRL can compute, and those for which it fails."""

from typing import Final

__all__ = ["has_router_loss", "has_unread_loss", "stops_at_router_loss"]

#: Classes of the tables whose `forward` returns `aux_loss` in the pinned transformers, and whose
#: configuration has the `num_experts` that TRL reads (trl/trainer/utils.py, `_fused_forward`).
_CLASSES: Final = frozenset(
    {
        "DogeForCausalLM",
        "Ernie4_5_MoeForCausalLM",
        "Ernie4_5_VLMoeForConditionalGeneration",
        "FlexOlmoForCausalLM",
        "FlintForCausalLM",
        "GptOssForCausalLM",
        "HYV3ForCausalLM",
        "JambaForCausalLM",
        "LagunaForCausalLM",
        "MellumForCausalLM",
        "MiniMaxForCausalLM",
        "MiniMaxM2ForCausalLM",
        "MiniMaxM3VLForCausalLM",
        "MixtralForCausalLM",
        "OlmoeForCausalLM",
        "Qwen2MoeForCausalLM",
        "Qwen3MoeForCausalLM",
        "Qwen3NextForCausalLM",
        "Qwen3_5MoeForCausalLM",
        "Qwen4ExpForCausalLM",
    }
)
#: Classes that return it, but whose configuration has another name for the number of experts.
_UNREAD: Final = frozenset(
    {
        "DbrxForCausalLM",
        "DeepseekV4ForCausalLM",
        "Glm5NextForConditionalGeneration",
        "GraniteMoeForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "GraniteMoeSWAForCausalLM",
        "GraniteMoeSharedForCausalLM",
        "JetMoeForCausalLM",
        "PhimoeForCausalLM",
    }
)
#: Classes without it whose configuration has a weight for the loss by default, so that TRL requests
#: the loss even from dense models.
_BY_DEFAULT: Final = frozenset(
    {
        "DeepseekV4ForCausalLM",
        "Glm5NextForConditionalGeneration",
        "GraniteMoeForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "GraniteMoeSWAForCausalLM",
        "GraniteMoeSharedForCausalLM",
        "Llama4ForCausalLM",
        "PhimoeForCausalLM",
    }
)


def has_router_loss(architecture: str) -> bool:
    """Return whether transformers and TRL compute this class's router loss."""
    return architecture in _CLASSES


def has_unread_loss(architecture: str) -> bool:
    """Return whether transformers computes this class's router loss, and TRL cannot use it."""
    return architecture in _UNREAD


def stops_at_router_loss(architecture: str, *, experts: bool) -> bool:
    """Return whether TRL would fail because of a weight in the model's own config."""
    return architecture in _BY_DEFAULT or (experts and architecture not in _CLASSES)
