"""Classes with experts whose output has the auxiliary loss that balances their router."""

from typing import Final

__all__ = ["has_router_loss"]

#: Those of the tables whose `forward` returns `aux_loss`, in the pinned transformers.
_CLASSES: Final = frozenset(
    {
        "Ernie4_5_MoeForCausalLM",
        "GptOssForCausalLM",
        "GraniteMoeForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "GraniteMoeSWAForCausalLM",
        "GraniteMoeSharedForCausalLM",
        "HYV3ForCausalLM",
        "JambaForCausalLM",
        "LagunaForCausalLM",
        "MellumForCausalLM",
        "MiniMaxM2ForCausalLM",
        "MixtralForCausalLM",
        "OlmoeForCausalLM",
        "Qwen2MoeForCausalLM",
        "Qwen3MoeForCausalLM",
        "Qwen3NextForCausalLM",
        "Qwen3_5MoeForCausalLM",
    }
)


def has_router_loss(architecture: str) -> bool:
    """Return whether transformers computes this class's router loss."""
    return architecture in _CLASSES
