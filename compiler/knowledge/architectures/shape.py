"""The properties of a model's layers that the formulas for memory and time need."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["KEYLESS", "RECURRENT", "LayerKind", "LinearShape", "Shape", "is_router"]

#: Mixers with a state from token to token, instead of or in addition to keys and values.
RECURRENT: Final = frozenset({"linear_attention", "state_space", "conv", "parallel"})
#: Mixers that cache no keys and values per token; those of `cross_attention` are for images.
KEYLESS: Final = RECURRENT - {"parallel"} | {"none", "cross_attention"}

_ROUTER: Final = re.compile(r"(?:.*\.)?(?:gate|router)(?:\.\w+)*")


def is_router(name: str) -> bool:
    """Return whether a module or tensor of a mixture-of-experts layer belongs to its router."""
    return _ROUTER.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearShape:
    """One kind of linear module: its weight's sides, and the number of such modules in the model.

    If modules of the same name have different sizes, the sides are the largest ones, and `sides` is
    the sum of both sides over all modules; otherwise it is None. `path` is the module's name in its
    layer if no table has it.
    """

    in_features: int
    out_features: int
    count: int
    sides: int | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """Layers with the same tensors: their token mixer and their MLP.

    `mixer` is transformers' name of the layer type: `full_attention`, `sliding_attention`,
    `linear_attention`, `state_space`, `conv`, `parallel` (attention beside a state space) and
    others, or `none`. `mlp` is `dense`, `sparse` (experts) or `none`. `parameters` are those of one
    layer; `linears` are the keys of the shape's linear modules that the layer has.
    """

    mixer: str
    mlp: str
    count: int
    parameters: int
    linears: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The properties of a model for the memory formulas; all counts are parameters, not bytes.

    `parameters` is the exact total with tied weights counted once. `embedding_parameters` holds
    the token table and learned positions, `head_parameters` the output head (0 when tied).
    `expert_parameters` are the fused expert tensors and routers, which are not linear modules.
    A key of `linear_shapes` is the shortest LoRA target that matches only that module.
    `kinds` is empty where all layers are equal and have attention; `order` then is, too. Otherwise
    `order` has the place in `kinds` of each layer. `frozen_parameters` are those of a multimodal
    model's tower and projector, which are in memory, never trained, and not among `parameters`.
    `cached` are the numbers that one layer of each kind, or each layer where all are equal, caches
    of a token; it is empty where these are the keys and values of `kv_heads`.
    A token goes through each layer `passes` times, on average over the layers.
    `expert_modules` are the rows and columns of the linear modules of one expert, where these are
    no fused tensors.
    In `window_layers` of the layers a token reads the `window_tokens` before it; 0 for none.
    """

    architecture: str
    model_type: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    context_tokens: int
    tied: bool
    attention_bias: bool
    norm: Literal["rms", "layer"]
    gated_mlp: bool
    experts: int
    experts_per_token: int
    expert_intermediate: int
    parameters: int
    embedding_parameters: int
    head_parameters: int
    expert_parameters: int
    linear_parameters: int
    largest_layer_parameters: int
    linear_shapes: Mapping[str, LinearShape] = field(hash=False)
    kinds: tuple[LayerKind, ...] = ()
    order: tuple[int, ...] = ()
    frozen_parameters: int = 0
    window_tokens: int = 0
    window_layers: int = 0
    cached: tuple[int, ...] = ()
    passes: float = 1.0
    expert_modules: tuple[tuple[int, int], ...] = ()

    def cached_numbers(self) -> int:
        """Return the numbers that all layers cache per token: keys, values, latent vectors.

        A layer caches those of each pass.
        """
        counts = [kind.count for kind in self.kinds] or [self.layers]
        if self.cached:
            numbers = sum(n * count for n, count in zip(self.cached, counts, strict=True))
        else:
            numbers = self.attention_layers() * self.most_cached()
        return round(self.passes * numbers)

    def repeated_parameters(self) -> float:
        """Return the parameters of all layers, counted once per pass after the first."""
        outside = self.embedding_parameters + self.head_parameters
        return (self.passes - 1) * (self.parameters - outside)

    def most_cached(self) -> int:
        """Return the numbers per token in the layer that caches the most."""
        return max(self.cached, default=2 * self.kv_heads * self.head_dim)

    def attention_layers(self) -> int:
        """Return the number of layers with attention; windows count as full attention."""
        if not self.kinds:
            return self.layers
        return sum(kind.count for kind in self.kinds if kind.mixer not in KEYLESS)

    def recurrent_layers(self) -> int:
        """Return the number of layers with a state from token to token."""
        return sum(kind.count for kind in self.kinds if kind.mixer in RECURRENT)

    def scanned_layers(self) -> int:
        """Return the number of layers that compute a state per token, which needs a kernel.

        A short convolution reads only a few earlier tokens, and is one operation of PyTorch.
        """
        scanned = RECURRENT - {"conv"}
        return sum(kind.count for kind in self.kinds if kind.mixer in scanned)

    def sparse_layers(self) -> int:
        """Return the number of layers with experts."""
        if not self.experts:
            return 0
        if not self.kinds:
            return self.layers
        return sum(kind.count for kind in self.kinds if kind.mlp == "sparse")

    def has_linear(self, name: str, layer: int) -> bool:
        """Return whether the layer with this number has the linear module."""
        return not self.kinds or name in self.kinds[self.order[layer]].linears
