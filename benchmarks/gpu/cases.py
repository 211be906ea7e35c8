"""The runs of the GPU benchmark: published shapes, each as the spec of a bundle."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

SHORT, LONG = 256, 4096
ANSWER: Final = 128  # tokens of a generated answer

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
    # of the correctness runs, which a CPU computes as well
    "small": {
        **_LLAMA, "vocab_size": 4096, "hidden_size": 512, "intermediate_size": 1536,
        "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4,
        "tie_word_embeddings": True,
    },
    "tiny": {
        **_LLAMA, "vocab_size": 1024, "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
        "tie_word_embeddings": True,
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run: a shape of `SHAPES`, a method, and `micro` rows of `tokens` tokens per pass.

    `micro` counts pairs for DPO and answers for GRPO. `checkpointing` is the spec's value; None
    leaves it to the plan. The rows of a `varied` case have many lengths.
    """

    shape: str
    method: Literal["full", "lora", "qlora"]
    checkpointing: bool | int | str | None
    tokens: int
    micro: int
    objective: Literal["sft", "dpo", "kto", "reward", "grpo"] = "sft"
    packed: bool = False
    varied: bool = False

    @property
    def name(self) -> str:
        """The case in a few words."""
        kept = self._kept
        how = "" if self.objective == "sft" else f"{self.objective}, "
        how += "packed, " if self.packed else ""
        how += "varied, " if self.varied else ""
        rows = f"{self.micro} x {self.tokens}" if self.micro else f"up to {self.tokens}"
        return f"{self.shape} {self.method}, {how}{kept}{rows}"

    @property
    def _kept(self) -> str:
        if self.checkpointing is None:
            return ""
        if isinstance(self.checkpointing, bool):
            return "recomputed, " if self.checkpointing else "kept, "
        one_in = isinstance(self.checkpointing, int)
        return f"one in {self.checkpointing}, " if one_in else f"{self.checkpointing}, "


# the smallest first, so that a time limit costs the longest runs
CASES: Final = (
    Case(shape="0.5B", method="full", checkpointing=False, tokens=SHORT, micro=8),
    Case(shape="0.5B", method="full", checkpointing=True, tokens=LONG, micro=2),
    Case(shape="0.5B", method="full", checkpointing=2, tokens=LONG, micro=2),
    Case(shape="0.5B", method="full", checkpointing="selective", tokens=LONG, micro=2),
    Case(shape="0.5B", method="full", checkpointing="offload", tokens=LONG, micro=2),
    Case(shape="0.5B", method="full", checkpointing=False, tokens=2048, micro=2, packed=True),
    Case(shape="0.5B", method="lora", checkpointing=False, tokens=SHORT, micro=8),
    Case(shape="0.5B", method="lora", checkpointing=False, tokens=512, micro=4, objective="dpo"),
    Case(shape="0.5B", method="lora", checkpointing=False, tokens=SHORT, micro=8, objective="grpo"),
    Case(shape="3B", method="lora", checkpointing=False, tokens=LONG, micro=1),
    Case(shape="3B", method="qlora", checkpointing=True, tokens=LONG, micro=2),
    Case(shape="3B", method="full", checkpointing=True, tokens=SHORT, micro=4),
    Case(shape="8B", method="lora", checkpointing=True, tokens=LONG, micro=2),
    Case(shape="8B", method="qlora", checkpointing=False, tokens=SHORT, micro=4),
    Case(shape="8B", method="qlora", checkpointing=True, tokens=LONG, micro=2),
    Case(
        shape="0.5B", method="lora", checkpointing=False, tokens=512,
        micro=4, objective="dpo", varied=True,
    ),
    Case(
        shape="0.5B", method="lora", checkpointing=False, tokens=SHORT,
        micro=8, objective="grpo", varied=True,
    ),
    Case(
        shape="0.5B", method="full", checkpointing=False, tokens=512,
        micro=4, objective="reward", varied=True,
    ),
    Case(
        shape="3B", method="lora", checkpointing=True, tokens=1024,
        micro=4, objective="kto", varied=True,
    ),
    Case(shape="3B", method="lora", checkpointing=True, tokens=2048, micro=4, varied=True),
    Case(shape="3B", method="full", checkpointing=True, tokens=2048, micro=2, packed=True),
    Case(shape="8B", method="lora", checkpointing=False, tokens=1024, micro=2),
)  # fmt: skip
#: Stand-ins for `CASES` on a CPU: the same code in seconds.
TINY: Final = (
    Case(shape="tiny", method="full", checkpointing=False, tokens=64, micro=4),
    Case(shape="tiny", method="qlora", checkpointing=True, tokens=64, micro=2),
    Case(shape="tiny", method="full", checkpointing=False, tokens=128, micro=2, packed=True),
    Case(shape="tiny", method="lora", checkpointing=False, tokens=64, micro=2, objective="dpo"),
    Case(shape="tiny", method="lora", checkpointing=False, tokens=64, micro=8, objective="grpo"),
)
#: What the plan is measured at: only the shape, the method and the length of the rows are given.
SPEEDS: Final = (
    Case(shape="0.5B", method="full", checkpointing=None, tokens=1024, micro=0),
    Case(shape="3B", method="lora", checkpointing=None, tokens=1024, micro=0),
    Case(shape="8B", method="lora", checkpointing=None, tokens=LONG, micro=0),
    Case(shape="8B", method="qlora", checkpointing=None, tokens=1024, micro=0),
)
TINY_SPEEDS: Final = (Case(shape="tiny", method="lora", checkpointing=None, tokens=64, micro=0),)

_REWARD: Final[Mapping[str, Any]] = {"regex": "^[a-m ]"}  # of random letters, about a half


def make_spec(case: Case, *, hardware: str) -> dict[str, Any]:
    """Return the spec of a case, whose model and rows are in the folder of the spec.

    Rows are truncated to its length. With a micro-batch there is no accumulation.
    """
    data: dict[str, Any] = {
        "source": "rows.jsonl",
        "max_length": case.tokens,
        "cleaning": {"overlong": "truncate"},
        "splits": {"test": 0, "validation": 0},
    }
    if case.objective == "sft":
        data["form"] = "text"
        if case.micro:
            data["packing"] = "best-fit" if case.packed else "none"
    training: dict[str, Any] = {"max_steps": 100}
    if case.micro:
        training |= {"global_batch": case.micro, "micro_batch": case.micro}
    if case.checkpointing is not None:
        training["gradient_checkpointing"] = case.checkpointing
    spec: dict[str, Any] = {
        "name": "measured",
        "model": "./model",
        "data": data,
        "hardware": "cpu" if hardware == "cpu" else {"gpu": hardware, "count": 1},
        "method": case.method,
        "training": training,
    }
    if case.objective in {"dpo", "kto", "reward"}:
        spec["objective"] = case.objective
    if case.objective == "grpo":
        answer = min(ANSWER, case.tokens // 2)
        spec["objective"] = {"type": "grpo", "rewards": [_REWARD], "num_generations": case.micro}
        spec["objective"]["answer_tokens"] = answer
    return spec
