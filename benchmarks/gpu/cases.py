"""The benchmark runs of a GPU: real shapes, each as the spec of a bundle."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

SHORT, LONG = 256, 4096
STEPS: Final = 8

_LLAMA: Final[Mapping[str, Any]] = {"max_position_embeddings": 8192, "rms_norm_eps": 1e-5}
# the published sizes of Qwen2.5-0.5B, Llama-3.2-3B and Llama-3.1-8B, built as Llamas
SHAPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "0.5B": {
        **_LLAMA, "vocab_size": 151_936, "hidden_size": 896, "intermediate_size": 4864,
        "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
        "tie_word_embeddings": True,
    },
    "3B": {
        **_LLAMA, "vocab_size": 128_256, "hidden_size": 3072, "intermediate_size": 8192,
        "num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8,
        "tie_word_embeddings": True,
    },
    "8B": {
        **_LLAMA, "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "tie_word_embeddings": False,
    },
    "tiny": {
        **_LLAMA, "vocab_size": 1024, "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
        "tie_word_embeddings": True,
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: a shape of `SHAPES`, a method, and `micro` rows of `tokens` tokens per pass."""

    shape: str
    method: Literal["full", "lora", "qlora"]
    checkpointing: bool
    tokens: int
    micro: int

    @property
    def name(self) -> str:
        """The case in a few words."""
        kept = "recomputed" if self.checkpointing else "kept"
        return f"{self.shape} {self.method}, {kept}, {self.micro} x {self.tokens}"


# the smallest first, so that a time limit costs the longest runs
CASES: Final = (
    Case(shape="0.5B", method="full", checkpointing=False, tokens=SHORT, micro=8),
    Case(shape="0.5B", method="full", checkpointing=True, tokens=LONG, micro=2),
    Case(shape="0.5B", method="lora", checkpointing=False, tokens=SHORT, micro=8),
    Case(shape="3B", method="lora", checkpointing=False, tokens=LONG, micro=1),
    Case(shape="3B", method="qlora", checkpointing=True, tokens=LONG, micro=2),
    Case(shape="3B", method="full", checkpointing=True, tokens=SHORT, micro=4),
    Case(shape="8B", method="lora", checkpointing=False, tokens=SHORT, micro=4),
    Case(shape="8B", method="lora", checkpointing=True, tokens=LONG, micro=2),
    Case(shape="8B", method="qlora", checkpointing=False, tokens=SHORT, micro=4),
    Case(shape="8B", method="qlora", checkpointing=True, tokens=LONG, micro=2),
)
TINY: Final = Case(shape="tiny", method="full", checkpointing=False, tokens=64, micro=4)


def make_spec(case: Case, *, hardware: str) -> Mapping[str, Any]:
    """Return the spec of a case; rows are truncated to its length, without accumulation."""
    return {
        "name": "measured",
        "model": "../model",
        "data": {
            "source": "../rows.jsonl",
            "form": "text",
            "max_length": case.tokens,
            "cleaning": {"overlong": "truncate"},
            "splits": {"test": 0, "validation": 0},
        },
        "hardware": {"gpu": hardware, "count": 1},
        "method": case.method,
        "training": {
            "max_steps": STEPS,
            "global_batch": case.micro,
            "micro_batch": case.micro,
            "gradient_checkpointing": case.checkpointing,
        },
    }
