"""The tensors that llama.cpp's converter writes for a model, by name and size, from its shape."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ftc.compiler.knowledge.architectures.architecture import Shape

Category = Literal[
    "embedding", "output", "query", "key", "value", "attention", "gate", "up", "down", "other"
]

# A linear module's name in transformers, as in the architecture table, and its name in a GGUF. A
# fused query, key and value counts as a value, and a fused gate as what it is fused to.
_NAMES: Final[Mapping[str, str]] = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    **dict.fromkeys(("c_attn", "qkv_proj", "query_key_value"), "attn_qkv"),
    **dict.fromkeys(("o_proj", "out_proj", "dense", "attn.c_proj"), "attn_output"),
    "gate_proj": "ffn_gate",
    **dict.fromkeys(("up_proj", "gate_up_proj", "c_fc", "fc1", "dense_h_to_4h"), "ffn_up"),
    **dict.fromkeys(("down_proj", "c_proj", "mlp.c_proj", "fc2", "dense_4h_to_h"), "ffn_down"),
    "shared_expert_gate": "ffn_gate_inp_shexp",
}
# llama-quant.cpp (tensor_get_category): what a name has in it decides, in this order.
_CATEGORIES: Final[Mapping[str, Category]] = {
    "token_embd": "embedding",
    "output": "output",
    "attn_qkv": "value",
    "attn_v": "value",
    "attn_k": "key",
    "attn_q": "query",
    "attn_output": "attention",
    "ffn_up": "up",
    "ffn_gate": "gate",
    "ffn_down": "down",
}
# The converter writes no head for these, not even one that is not tied to the embedding.
_HEADLESS: Final = frozenset({"GemmaForCausalLM", "Gemma2ForCausalLM"})
_OUTSIDE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A matrix of the model, or one per expert; `layer` is -1 outside the layers.

    A row of `columns` weights is quantized in blocks. `kept` tensors have 32 bits in every type, as
    routers and learned positions do.
    """

    name: str
    layer: int
    category: Category
    columns: int
    rows: int
    kept: bool = False

    @property
    def weights(self) -> int:
        """The number of its weights, over all experts."""
        return self.columns * self.rows


def list_tensors(shape: Shape) -> tuple[Tensor, ...]:
    """Return every matrix, in the order in which llama.cpp decides their types.

    The list is empty if the architecture is not in the table, or if llama.cpp does not convert it.
    Norms and biases, which are 32-bit vectors, are not listed: `count_vector_weights` counts them.
    """
    if shape.kinds or not shape.linear_shapes or set(shape.linear_shapes) - set(_NAMES):
        return ()
    layers = (_tensor(layer, *size) for layer in range(shape.layers) for size in _layer(shape))
    whole = (*_outside(shape), *layers)
    return tuple(sorted(whole, key=lambda tensor: (tensor.layer, f"{tensor.name}.weight")))


def has_head(shape: Shape) -> bool:
    """Whether the file has an output matrix; else the embedding is used as one."""
    return not shape.tied and shape.architecture not in _HEADLESS


def count_vector_weights(shape: Shape) -> int:
    """Return how many weights are in no listed matrix: norms and biases."""
    listed = sum(tensor.weights for tensor in list_tensors(shape))
    dropped = 0 if has_head(shape) else shape.head_parameters
    return max(0, shape.parameters - listed - dropped)


def _outside(shape: Shape) -> Iterator[Tensor]:
    yield _tensor(_OUTSIDE, "token_embd", shape.hidden, shape.vocab)
    if has_head(shape):
        yield _tensor(_OUTSIDE, "output", shape.hidden, shape.vocab)
    positions = shape.embedding_parameters // shape.hidden - shape.vocab
    if positions:
        yield _tensor(_OUTSIDE, "position_embd", shape.hidden, positions, kept=True)


def _layer(shape: Shape) -> Iterator[tuple[str, int, int, bool]]:
    """Yield name, columns, rows and `kept` of the matrices of one layer."""
    for key, linear in shape.linear_shapes.items():
        name = _NAMES[key]
        if linear.out_features == 1:  # the converter makes it a vector
            continue
        shared = shape.experts and name.startswith("ffn_")
        yield f"{name}_shexp" if shared else name, linear.in_features, linear.out_features, False
    if not shape.experts:
        return
    hidden, inner, experts = shape.hidden, shape.expert_intermediate, shape.experts
    yield "ffn_gate_inp", hidden, experts, True
    yield "ffn_down_exps", inner, hidden * experts, False
    yield "ffn_gate_exps", hidden, inner * experts, False
    yield "ffn_up_exps", hidden, inner * experts, False


def _tensor(layer: int, name: str, columns: int, rows: int, kept: bool = False) -> Tensor:
    named = (of for part, of in _CATEGORIES.items() if name.startswith(part))
    category: Category = next(named, "other")
    full = name if layer == _OUTSIDE else f"blk.{layer}.{name}"
    return Tensor(name=full, layer=layer, category=category, columns=columns, rows=rows, kept=kept)
