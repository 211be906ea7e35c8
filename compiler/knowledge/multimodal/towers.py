"""The vision part of an image-text model: the sizes of its tower and its projector.

The parameter counts are formulas over `config.json`, derived (`derived_towers`) or written here;
the test of this table holds them against the classes of the pinned transformers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ftc.compiler.knowledge.multimodal.derived_towers import (
    derived_kind,
    derived_modules,
    read_derived,
)
from ftc.compiler.knowledge.tables import read_table
from ftc.spec.sections import ModelPart

Kind = Literal[
    "clip", "idefics3", "internvl", "lfm2_vl", "pixtral", "qwen2_5_vl", "qwen2_vl", "qwen3_5",
    "qwen3_vl", "siglip",
]  # fmt: skip
Sizes = Mapping[str, int]
Linear = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """A vision tower and the projector after it.

    `layers` are those that run. `patch_values` are the numbers in a patch of pixels, `merge` the
    patches per side that become one token, `out` the width of the language model, and `deepstack`
    the layers whose features the language model also reads. `derived` are the linear modules of the
    layers and of the projector, if they follow from the tower's tensors and not from its kind.
    """

    kind: Kind
    parameters: int
    projector_parameters: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    patch: int
    patch_values: int
    merge: int
    out: int
    deepstack: int = 0
    derived: tuple[Sequence[Linear], Sequence[Linear]] | None = None

    @property
    def gated(self) -> bool:
        """Whether the MLP of a layer has a gate."""
        return self.kind in ("qwen2_5_vl", "pixtral")

    @property
    def linears(self) -> tuple[Linear, ...]:
        """The linear modules of the layers: inputs, outputs and how many."""
        if self.derived is not None:
            return tuple(self.derived[0])
        wide, inner, layers = self.hidden, self.intermediate, self.layers
        joined = self.kind.startswith("qwen")
        attention = ((wide, 3 * wide, layers),) if joined else ((wide, wide, 3 * layers),)
        up = 2 * layers if self.gated else layers
        return (*attention, (wide, wide, layers), (wide, inner, up), (inner, wide, layers))

    @property
    def projector_linears(self) -> tuple[Linear, ...]:
        """The linear modules of the projector; Gemma 3 has a bare matrix instead."""
        if self.derived is not None:
            return tuple(self.derived[1])
        joined = self.hidden * self.merge**2
        if self.kind.startswith("qwen"):
            mergers = 1 + self.deepstack
            return ((joined, joined, mergers), (joined, self.out, mergers))
        if self.kind == "siglip" and self.merge > 1:
            return ()
        if self.kind == "idefics3":
            return ((joined, self.out, 1),)
        merging = ((joined, self.hidden, 1),) if self.merge > 1 else ()
        return (*merging, (self.hidden, self.out, 1), (self.out, self.out, 1))

    def modules(self, part: ModelPart) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the linear modules of a part, by their places in transformers.

        `*` stands for the number of a layer. Some names may not exist in this tower.
        """
        if part == "language_model" or not self._has_linears(part):
            return {}
        known = _table().get(self.kind)
        found = derived_modules(self.kind)[part] if known is None else known["modules"][part]
        return {
            path: tuple(names)
            for path, names in found.items()
            if self.deepstack or "deepstack" not in path
        }

    def _has_linears(self, part: ModelPart) -> bool:
        return bool(self.linears if part == "vision_tower" else self.projector_linears)


def read_tower(config: Mapping[str, Any], *, hidden: int) -> Tower | None:
    """Return the tower of an image-text model's `config.json`; None if it is unknown.

    `hidden` is the width of the language model.
    """
    vision = config.get("vision_config")
    if not isinstance(vision, dict):
        return None
    derived = derived_kind(config)
    if derived is not None:
        return _derived(derived, config, hidden)
    names = (vision.get("model_type"), config.get("model_type"))
    kind = next((kind for name in names if (kind := _kind_named(name)) is not None), None)
    if kind is None:
        return None
    sizes = _sizes(kind, config, vision, hidden)
    if any(type(size) is not int or size < 0 for size in sizes.values()):
        return None
    return _FORMS[_table()[kind]["tower"]](kind, sizes, config)


def _derived(kind: Any, config: Mapping[str, Any], hidden: int) -> Tower | None:
    """Return a tower whose tensors were derived."""
    found = read_derived(kind, config, hidden=hidden)
    if found is None:
        return None
    sizes = found.sizes
    return Tower(
        kind=kind,
        parameters=found.parameters,
        projector_parameters=found.projector_parameters,
        layers=sizes["num_hidden_layers"],
        hidden=sizes["hidden_size"],
        intermediate=sizes["intermediate_size"],
        heads=sizes["num_attention_heads"],
        patch=sizes["patch_size"],
        patch_values=sizes["num_channels"] * sizes["patch_size"] ** 2,
        merge=found.merge,
        out=hidden,
        derived=(found.linears, found.projector_linears),
    )


def adapted_modules(tower: Tower, parts: Sequence[ModelPart]) -> dict[str, tuple[str, ...]]:
    """Return the linear modules of vision parts, as `Tower.modules` does."""
    return {path: names for part in parts for path, names in tower.modules(part).items()}


def name_patterns(modules: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a regular expression of the full names of linear modules for each of their places."""
    found = []
    for path, names in modules.items():
        place = r"\d+".join(map(re.escape, path.split("*")))
        found.append(place + r"\.(?:" + "|".join(map(re.escape, names)) + ")")
    return found


def _kind_named(name: object) -> Any:
    return next((kind for kind, entry in _table().items() if name in entry["named"]), None)


def _sizes(
    kind: str, config: Mapping[str, Any], vision: Mapping[str, Any], hidden: int
) -> dict[str, int]:
    """Return the sizes by the names of the defaults; a deepstack by its layers."""
    sizes = {name: vision.get(name, size) for name, size in _table()[kind]["defaults"].items()}
    sizes["in_channels"] = vision.get("in_chans", sizes.get("in_channels", 3))
    if "deepstack" in sizes and isinstance(vision.get("deepstack_visual_indexes"), list):
        sizes["deepstack"] = len(vision["deepstack_visual_indexes"])
    sizes["out"] = sizes.get("out_hidden_size", hidden)
    if kind == "qwen2_vl":
        sizes |= {"out": sizes["hidden_size"], "hidden_size": sizes["embed_dim"]}
        sizes["intermediate_size"] = sizes["mlp_ratio"] * sizes["embed_dim"]
    for name, default in (("scale_factor", 2), ("mm_tokens_per_image", 256)):
        sizes[name] = config.get(name, default)
    return sizes


def _count_blocks(kind: Kind, sizes: Sizes, _config: Mapping[str, Any]) -> Tower:
    """Return the tower of Qwen2-VL and its successors."""
    wide, inner, merge = (
        sizes["hidden_size"],
        sizes["intermediate_size"],
        sizes["spatial_merge_size"],
    )
    values = sizes["in_channels"] * sizes["temporal_patch_size"] * sizes["patch_size"] ** 2
    new, gated = kind in ("qwen3_vl", "qwen3_5"), kind == "qwen2_5_vl"
    norm = wide if gated else 2 * wide
    mlp = 3 * wide * inner + 2 * inner + wide if gated else 2 * wide * inner + inner + wide
    block = 2 * norm + 4 * (wide * wide + wide) + mlp
    embedded = values * wide + (wide + sizes["num_position_embeddings"] * wide if new else 0)
    joined = wide * merge**2
    merger = joined * joined + joined + joined * sizes["out"] + sizes["out"]
    stacked = sizes.get("deepstack", 0)
    return Tower(
        kind=kind,
        parameters=embedded + sizes["depth"] * block,
        projector_parameters=norm + merger + stacked * (2 * joined + merger),
        layers=sizes["depth"],
        hidden=wide,
        intermediate=inner,
        heads=sizes["num_heads"],
        patch=sizes["patch_size"],
        patch_values=values,
        merge=merge,
        out=sizes["out"],
        deepstack=stacked,
    )


def _count_layered(kind: Kind, sizes: Sizes, config: Mapping[str, Any]) -> Tower:
    """Return the tower of SigLIP, Idefics3 or CLIP."""
    wide, inner = sizes["hidden_size"], sizes["intermediate_size"]
    values = sizes["num_channels"] * sizes["patch_size"] ** 2
    places = (sizes["image_size"] // sizes["patch_size"]) ** 2
    layer = 4 * wide + 4 * (wide * wide + wide) + 2 * wide * inner + inner + wide
    if kind == "clip":
        embedded = wide + values * wide + (places + 1) * wide + 2 * wide
    else:
        embedded = values * wide + wide + places * wide
    if kind == "siglip" and config["vision_config"].get("vision_use_head", True):
        embedded += wide + layer - 2 * wide  # a probe, attention, a norm and an MLP
    merge, projector = 1, _llava_projector(wide, sizes["out"], config)
    if config.get("model_type") == "gemma3":
        side = round(places**0.5)
        merge = max(1, side // max(1, round(sizes["mm_tokens_per_image"] ** 0.5)))
        projector = wide * sizes["out"] + wide
    elif kind == "idefics3":
        merge = sizes["scale_factor"]
        projector = wide * merge**2 * sizes["out"]
    return Tower(
        kind=kind,
        parameters=embedded + sizes["num_hidden_layers"] * layer + 2 * wide,
        projector_parameters=projector,
        layers=sizes["num_hidden_layers"],
        hidden=wide,
        intermediate=inner,
        heads=sizes["num_attention_heads"],
        patch=sizes["patch_size"],
        patch_values=values,
        merge=merge,
        out=sizes["out"],
    )


def _count_rotary(kind: Kind, sizes: Sizes, config: Mapping[str, Any]) -> Tower:
    """Return the tower of Pixtral, alone behind LLaVA's projector or with that of Mistral 3."""
    wide, inner = sizes["hidden_size"], sizes["intermediate_size"]
    values = sizes["num_channels"] * sizes["patch_size"] ** 2
    layer = 2 * wide + 4 * wide * wide + 3 * wide * inner
    merge, projector = 1, _llava_projector(wide, sizes["out"], config)
    if config.get("model_type") == "mistral3":
        merge = config.get("spatial_merge_size", 2)
        projector += wide + wide * merge**2 * wide
    return Tower(
        kind=kind,
        parameters=values * wide + wide + sizes["num_hidden_layers"] * layer,
        projector_parameters=projector,
        layers=sizes["num_hidden_layers"],
        hidden=wide,
        intermediate=inner,
        heads=sizes["num_attention_heads"],
        patch=sizes["patch_size"],
        patch_values=values,
        merge=merge,
        out=sizes["out"],
    )


def _llava_projector(wide: int, out: int, config: Mapping[str, Any]) -> int:
    """Count the two linear modules of LLaVA's projector, whose input may be several layers."""
    layer = config.get("vision_feature_layer")
    read = len(layer) if isinstance(layer, list) else 1
    default = config.get("model_type") != "mistral3"
    biases = 2 * out if config.get("multimodal_projector_bias", default) else 0
    return wide * read * out + out * out + biases


_FORMS: Final[Mapping[str, Callable[[Any, Sizes, Mapping[str, Any]], Tower]]] = {
    "blocks": _count_blocks,
    "layered": _count_layered,
    "rotary": _count_rotary,
}


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "towers.json")
    return table
