"""The size of a GGUF, from the type that llama.cpp gives each tensor."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.exports.gguf_types import (
    block_weights,
    file_type,
    header_bytes_per_token,
    tensor_bytes,
)
from ftc.compiler.plan.gguf.tensors import (
    Category,
    Tensor,
    count_vector_weights,
    has_head,
    list_tensors,
)
from ftc.compiler.resolve.facts import TokenizerFacts
from ftc.spec.sections import GgufType

_UNQUANTIZED: Final = frozenset({"F32", "F16", "BF16"})
_LOWEST: Final = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"})
_TWO_BITS_UP: Final = frozenset({"IQ2_S", "IQ2_M"})
_MANY_SHARED = 4  # query heads per key head from which the value matrices are small and sensitive
_EIGHT_EXPERTS = 8  # Mixtral's: in such a large model, keeping attention precise costs little
_LARGE_LAYERS = 80  # of the Llama and Qwen2 of 70B
_LARGE: Final = frozenset(
    {"LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM", "Qwen2ForCausalLM"}
)
_FALLBACKS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS"), "IQ4_NL"),
    **dict.fromkeys(("IQ3_S", "IQ4_XS"), "IQ4_NL"),
    **dict.fromkeys(("Q2_K", "Q3_K"), "Q4_0"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}
_EMBEDDING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"), "Q2_K"),
    **dict.fromkeys(("IQ2_S", "IQ2_M", "IQ3_XXS"), "IQ3_S"),
}
# (where few query heads share a key head, where many do); None is the file's own type.
_VALUE: Final[Mapping[str, tuple[str | None, str | None]]] = {
    "Q2_K": ("Q3_K", "Q4_K"),
    "Q2_K_S": (None, "Q4_K"),
    "IQ3_XXS": ("IQ3_XXS", "Q4_K"),
    "IQ3_XS": (None, "Q4_K"),
    "IQ3_S": (None, "Q4_K"),
    "IQ3_M": ("Q4_K", "Q4_K"),
    "Q3_K_L": ("Q5_K", "Q5_K"),
    "IQ4_NL": (None, "Q5_K"),
    "IQ4_XS": (None, "Q5_K"),
}
_ATTENTION: Final[Mapping[str, str]] = {
    "Q2_K": "Q3_K",
    "IQ3_XXS": "IQ3_S",
    "Q3_K_M": "Q4_K",
    "Q3_K_L": "Q5_K",
    "IQ3_M": "Q4_K",
}
_ATTENTION_OF_EIGHT: Final = frozenset(
    {"Q2_K", "IQ3_XS", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_NL", "Q4_K_S", "Q4_K_M"}
    | {"IQ3_S", "IQ3_M", "IQ4_XS"}
)
_QUERY: Final[Mapping[str, str]] = {"IQ3_XS": "IQ3_XXS", "IQ3_XXS": "IQ2_S"}
# gguf.md of ggml: a tensor's entry is its name and its length (8), number of sides (4), sides (8
# each), type (4) and offset (8); its data begin at a multiple of 32 bytes.
_ENTRY_BYTES: Final = 8 + 4 + 2 * 8 + 4 + 8
_SUFFIX: Final = ".weight"
_ALIGNMENT: Final = 32
_VECTORS: Final = 6  # norms and biases of a layer: their entries are all that this counts
_VECTOR_ENTRY_BYTES: Final = 80
_GENERAL_BYTES: Final = 1536  # the model's name, sizes and constants
_PADDING_TOKEN_BYTES: Final = len("[PAD100000]") + 8 + 4  # text, its length, type


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The place of a tensor: `index` of `layers`, and how many of its category came before."""

    shape: Shape
    index: int
    before: int

    @property
    def layers(self) -> int:
        return self.shape.layers

    @property
    def falcon(self) -> bool:
        return self.shape.architecture == "FalconForCausalLM"

    @property
    def eight(self) -> bool:
        return self.shape.experts == _EIGHT_EXPERTS

    @property
    def shared(self) -> bool:
        return self.shape.heads // self.shape.kv_heads >= _MANY_SHARED

    @property
    def dear(self) -> bool:
        """Whether it is in the first or last eighth, or each third layer (`use_more_bits`)."""
        index, eighth = self.index, self.layers // 8
        return index < eighth or index >= 7 * self.layers // 8 or (index - eighth) % 3 == 2  # noqa: PLR2004

    def first(self, part: int) -> bool:
        """Whether it is in the first of this many equal parts of the layers."""
        return self.index < self.layers // part


def predict_bytes(shape: Shape, tokenizer: TokenizerFacts, kind: GgufType) -> int:
    """Return the size of the file of this type.

    It is within 2 % of what llama.cpp writes for an architecture of the table. For other
    architectures it uses the bits per weight of Llama 3.1 8B.
    """
    return weight_bytes(shape, kind) + _GENERAL_BYTES + _vocabulary_bytes(shape, tokenizer)


@lru_cache(maxsize=256)  # planning is repeated many times to find alternatives that fit
def weight_bytes(shape: Shape, kind: GgufType) -> int:
    """Return the bytes of the tensors alone, with their entries in the header."""
    chosen = choose_types(shape, kind)
    if not chosen:
        return round(shape.parameters * file_type(kind).bits_per_weight / 8)
    matrices = sum(sum(_sizes(tensor, name)) for tensor, name in chosen)
    vectors = 4 * count_vector_weights(shape)
    return matrices + vectors + _VECTOR_ENTRY_BYTES * (_VECTORS * shape.layers + 1)


def _sizes(tensor: Tensor, name: str) -> Iterator[int]:
    """Yield the bytes of a tensor's entry in the header and of its data."""
    yield _ENTRY_BYTES + len(tensor.name) + len(_SUFFIX)
    size = tensor_bytes(name, tensor.weights)
    yield size + -size % _ALIGNMENT


def _vocabulary_bytes(shape: Shape, tokenizer: TokenizerFacts) -> int:
    """Return the bytes of tokens, scores, merges and chat template, with padding tokens."""
    known = tokenizer.gguf_bytes
    if known is None:
        known = round(tokenizer.vocabulary_tokens * header_bytes_per_token(tokenizer.family))
    return known + _PADDING_TOKEN_BYTES * max(0, shape.vocab - tokenizer.vocabulary_tokens)


def choose_types(shape: Shape, kind: GgufType) -> tuple[tuple[Tensor, str], ...]:
    """Return each matrix of the model with its type in a file of this kind."""
    default = file_type(kind).tensor
    counts: Counter[Category] = Counter()
    chosen = []
    for tensor in list_tensors(shape):
        if tensor.kept:
            chosen.append((tensor, "F32"))
            continue
        before = counts[tensor.category]
        counts[tensor.category] += 1
        place = _Place(
            shape=shape, index=tensor.layer if shape.experts > 1 else before, before=before
        )
        chosen.append((tensor, _choose(kind, default, tensor, place)))
    return tuple(chosen)


def falls_back(tensor: Tensor, kind: GgufType) -> bool:
    """Whether the rows of this matrix are too narrow for the blocks of the file's own type."""
    return not tensor.kept and tensor.columns % block_weights(file_type(kind).tensor) != 0


def _choose(kind: GgufType, default: str, tensor: Tensor, place: _Place) -> str:
    if default in _UNQUANTIZED:
        return default
    if tensor.category == "output" or (
        tensor.category == "embedding" and not has_head(place.shape)
    ):
        return _fitting(_output(kind, default, tensor, place), tensor)
    if tensor.category == "embedding":
        return _fitting(_EMBEDDING.get(kind, default), tensor)
    if kind in _LOWEST:
        return _fitting(_lowest(kind, tensor, place) or default, tensor)
    choice = _CHOICES.get(tensor.category)
    return _fitting((choice and choice(kind, place, default)) or default, tensor)


def _fitting(wanted: str, tensor: Tensor) -> str:
    """Return another type if a row is not a multiple of the block (`tensor_type_fallback`)."""
    if tensor.columns % block_weights(wanted) == 0:
        return wanted
    other = _FALLBACKS.get(wanted, wanted)
    return "F16" if tensor.columns % block_weights(other) else other


def _output(kind: GgufType, default: str, tensor: Tensor, place: _Place) -> str:
    if place.falcon or tensor.columns % block_weights(default):
        return "Q8_0"
    if kind in _LOWEST or kind == "IQ3_XXS":
        return "Q5_K"
    return default if default == "Q8_0" else "Q6_K"


def _lowest(kind: GgufType, tensor: Tensor, place: _Place) -> str | None:
    """Return the type of a tensor in a file of less than three bits."""
    better = "IQ3_S" if kind in _TWO_BITS_UP else "Q2_K"
    if tensor.category == "value":
        many = place.shared or place.shape.experts >= _MANY_SHARED
        return "Q4_K" if many else better
    if tensor.category == "key" and place.eight:
        return "Q4_K"
    if tensor.category == "down":
        return better if place.before < place.layers // 8 else None
    if tensor.category != "attention":
        return None
    if place.eight:
        return "Q5_K"
    if kind in {"IQ1_S", "IQ1_M"}:
        return "IQ2_XXS"
    return "IQ3_S" if kind in _TWO_BITS_UP else None


def _value(kind: GgufType, place: _Place, default: str) -> str | None:
    if place.eight:
        return "Q8_0"
    chosen = _VALUE.get(kind, (None, None))[place.shared]
    if kind == "Q3_K_M":
        chosen = "Q5_K" if place.before < 2 else "Q4_K"  # noqa: PLR2004 - the first two
    elif kind in {"Q4_K_M", "Q5_K_M"} and _first_dear(place):
        chosen = "Q6_K"
    elif kind == "Q4_K_S" and place.before < 4:  # noqa: PLR2004 - the first four
        chosen = "Q5_K"
    large = place.shape.architecture in _LARGE and place.layers == _LARGE_LAYERS
    several = place.shape.model_type == "qwen2" or place.shape.heads != place.shape.kv_heads
    if large and several and (chosen or default) in {"Q3_K", "Q4_K"}:
        return "Q5_K"
    return chosen


def _first_dear(place: _Place) -> bool:
    return _Place(shape=place.shape, index=place.before, before=place.before).dear


def _key(kind: GgufType, place: _Place, _default: str) -> str | None:
    return "Q8_0" if place.eight else _QUERY.get(kind)


def _query(kind: GgufType, _place: _Place, _default: str) -> str | None:
    return _QUERY.get(kind)


def _attention(kind: GgufType, place: _Place, _default: str) -> str | None:
    if place.falcon:
        return "Q4_K" if kind == "Q3_K_L" else None
    if place.eight:
        return "Q5_K" if kind in _ATTENTION_OF_EIGHT else None
    return _ATTENTION.get(kind)


def _down(kind: GgufType, place: _Place, _default: str) -> str | None:
    if place.falcon and kind in {"Q3_K_M", "Q3_K_L", "Q4_K_M", "Q4_K_S"}:
        return _down_of_falcon(kind, place)
    match kind:
        case "Q2_K":
            return "Q3_K"
        case "Q2_K_S":
            return "Q4_K" if place.first(8) else None
        case "Q3_K_M":
            return "Q5_K" if place.first(16) else "Q4_K"
        case "Q3_K_L":
            return "Q5_K"
        case "IQ3_M":
            return "Q4_K" if place.first(8) or (place.eight and place.dear) else None
        case "Q4_K_M" | "Q5_K_M":
            return "Q6_K" if place.dear else None
        case "Q4_K_S":
            return "Q5_K" if place.first(8) else None
        case _:
            return None


def _down_of_falcon(kind: GgufType, place: _Place) -> str | None:
    if kind == "Q4_K_M":
        return "Q6_K" if place.first(16) else "Q5_K" if place.dear else "Q4_K"
    if kind == "Q3_K_M":
        return "Q5_K" if place.first(16) else "Q4_K" if place.dear else "Q3_K"
    return "Q4_K" if kind == "Q3_K_L" else None


def _up(kind: GgufType, place: _Place, _default: str) -> str | None:
    middle = not place.first(8) and place.index < 7 * place.layers // 8
    return "IQ3_XXS" if kind == "IQ3_XS" and middle else None


_CHOICES: Final[Mapping[Category, Callable[[GgufType, _Place, str], str | None]]] = {
    "value": _value,
    "key": _key,
    "query": _query,
    "attention": _attention,
    "down": _down,
    "gate": _up,
    "up": _up,
}
