"""The names of the trained weights for PEFT and train.py: modules, tensors and layers.

The language model inside a wrapper has longer names than by itself, and the wrapper's tower has
modules of the same names: targets are then a pattern of full names.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.compiler.knowledge.architectures.module_names import ModuleNames, find_module_names
from ftc.compiler.knowledge.exports.converter import expects_drafts
from ftc.compiler.knowledge.exports.score_heads import SCORE_HEAD
from ftc.compiler.knowledge.multimodal.towers import adapted_modules, name_patterns
from ftc.compiler.knowledge.multimodal.wrappers import wrapper_named
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.training.peft_targets import is_redirected
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.method.adapter import (
    ALL_LINEAR,
    hit,
    matched,
    trains_embedding,
    trains_head,
)
from ftc.compiler.render.source import BundleSource, sees
from ftc.compiler.resolve.facts import ModelFacts

_EXPERTS: Final = ("experts.gate_up_proj", "experts.down_proj")
_BODY: Final = "model"  # where a text model has its layers and its embedding
_BESIDE_TOWER: Final = "model.language_model"  # where a model with its tower has them
#: Prefixes of the parts that see, in the models of transformers, by the kind of the tower.
_BLOCKS: Final[Mapping[str, tuple[str, ...]]] = {
    "projector": ("model.visual.merger.", "model.visual.deepstack_merger_list."),
    "vision_tower": (
        *("model.visual.patch_embed.", "model.visual.pos_embed.", "model.visual.blocks."),
    ),
}
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "projector": ("model.multi_modal_projector.",),
    "vision_tower": ("model.vision_tower.",),
}
_SEEING_NAMES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5"), _BLOCKS),
    "idefics3": {"projector": ("model.connector.",), "vision_tower": ("model.vision_model.",)},
}


def method_values(source: BundleSource) -> Mapping[str, Any]:
    """Return LoRA's targets, the modules trained in full, and the prefixes of trained names.

    For an architecture that is not in the table, names are omitted; rules reject specs that need
    them.
    """
    decided = source.plan.decisions
    targets: Any = decided.lora.lora_targets.value if decided.lora.lora_targets else ()
    if decided.method.target_pattern is not None:
        targets = decided.method.target_pattern.value
    elif targets == (ALL_LINEAR,):
        targets = ALL_LINEAR
    names = _find_names(source)
    if names is not None and keeps_tower(source) and decided.lora.lora_targets is not None:
        targets = _path_pattern(source, names, decided.lora.lora_targets.value)
        targets = "|".join([targets, *name_patterns(_adapted(source))])
    return {
        "lora_targets": targets,
        "lora_excluded": f"(?!(?:{targets})$).*",
        "lora_init": decided.method.lora_init.value if decided.method.lora_init else True,
        **(_names(source, names) if names is not None else _default_names(source)),
    }


def _default_names(source: BundleSource) -> dict[str, Any]:
    """Return the names of the experts in almost every class of transformers, where any are there.

    PEFT matches the end of a name, and stops where it finds none.
    """
    return {"expert_targets": _EXPERTS} if source.facts.model.fused_experts is not None else {}


def _names(source: BundleSource, names: ModuleNames) -> dict[str, Any]:
    spec, shape = source.spec, shape_of(source.facts.model)
    layers = source.plan.decisions.method.trained_layers
    scores = OBJECTIVES[spec.objective.type].head == "scores"
    parts = [names.embedding] if trains_embedding(spec.method, shape) else []
    if scores or (trains_head(spec, shape) and not shape.tied):
        parts.append(SCORE_HEAD if scores else names.head)
    inside = [f"{names.layers}.{layer}." for layer in layers.value] if layers else []
    if spec.method.type == "full":  # beside a tower: everything in the language model
        inside, parts = [f"{names.layers.rpartition('.')[0]}."], [names.head]
        inside += _seeing_names(source)
    trained = (*inside, *(f"{part}." for part in parts))
    if spec.method.type in ("lora", "qlora"):
        trained = (f"{names.layers}.", *(path.partition("*")[0] for path in _adapted(source)))
    return {
        "also_train": tuple(name.rpartition(".")[2] for name in parts),
        "trained_names": trained,
        "expert_targets": names.experts,
        "token_tables": token_tables(source),
    }


def _adapted(source: BundleSource) -> dict[str, tuple[str, ...]]:
    """Return the linear modules of the parts that see, by their places."""
    vision = source.facts.model.vision
    if vision is None or not sees(source):
        return {}
    return adapted_modules(vision.tower, source.spec.method.parts)


def keeps_tower(source: BundleSource) -> bool:
    """Return whether the model is loaded with a tower beside the language model."""
    wrapper = wrapper_named(source.facts.model.wrapper)
    return wrapper is not None and (wrapper.keeps_tower or sees(source))


def asks_types(source: BundleSource) -> bool:
    """Return whether a wrapper requires token type ids, which rows of text do not have."""
    wrapper = wrapper_named(source.facts.model.wrapper)
    return wrapper is not None and wrapper.asks_types and not sees(source)


def is_fenced(source: BundleSource) -> bool:
    """Return whether PEFT would adapt modules of the tower that no target means.

    It cuts a pattern for these model types to the last parts of the names that it matches.
    """
    shape = source.facts.model.shape
    adapts = source.spec.method.type in ("lora", "qlora")
    return adapts and shape is not None and keeps_tower(source) and is_redirected(shape.model_type)


def is_plain(model: ModelFacts) -> bool:
    """Return whether transformers loads every tensor of the model and saves it under its name.

    It fuses the tensors of experts, which changes their names.
    """
    shape = model.shape
    known = shape is not None and not shape.experts and not expects_drafts(model.architecture)
    return known and model.wrapper is None and model.quantized is None and not model.custom_code


def _seeing_names(source: BundleSource) -> list[str]:
    """Return the prefixes of the trained parts that see."""
    vision = source.facts.model.vision
    if vision is None or not sees(source):
        return []
    names = _SEEING_NAMES.get(vision.tower.kind, _OTHER_NAMES)
    return [name for part in source.spec.method.parts for name in names.get(part, ())]


def _find_names(source: BundleSource) -> ModuleNames | None:
    """Return the names of the modules in what train.py loads."""
    model = source.facts.model
    names = find_module_names(model.architecture)
    if names is None or not model.text_prefix:
        return names
    prefix = _BESIDE_TOWER if sees(source) else model.text_prefix
    return replace(
        names,
        layers=prefix + names.layers.removeprefix(_BODY),
        embedding=prefix + names.embedding.removeprefix(_BODY),
    )


def _path_pattern(source: BundleSource, names: ModuleNames, targets: tuple[str, ...]) -> str:
    """Return a regular expression of the full names of the targets in the language model.

    A `target_pattern` of the spec is matched with the names of the text model by itself.
    """
    spec, shape = source.spec, shape_of(source.facts.model)
    kinds = dict.fromkeys(hit(shape, targets), r"\d+")
    if spec.method.target_pattern is not None:
        layers: dict[str, list[str]] = {}
        for kind, layer in matched(shape, spec.method.target_pattern):
            layers.setdefault(kind, []).append(str(layer))
        kinds = {kind: f"(?:{'|'.join(found)})" for kind, found in layers.items()}
    by_layers: dict[str, list[str]] = {}
    for kind, numbers in kinds.items():
        by_layers.setdefault(numbers, []).append(re.escape(names.linears[kind]))
    ends = [rf"{numbers}\.(?:{'|'.join(found)})" for numbers, found in by_layers.items()]
    end = ends[0] if len(ends) == 1 else f"(?:{'|'.join(ends)})"
    return rf"{re.escape(names.layers)}\.{end}"


def token_tables(source: BundleSource) -> tuple[str, ...]:
    """Return the tables in which an adapter trains only the new tokens' rows.

    Tables that `also_train` trains in full are not included. PEFT trains a tied head with its
    table.
    """
    spec, shape = source.spec, shape_of(source.facts.model)
    names = find_module_names(source.facts.model.architecture)
    if not spec.model.new_tokens or spec.method.type not in ("lora", "qlora") or names is None:
        return ()
    tables = () if trains_embedding(spec.method, shape) else (names.embedding,)
    if not shape.tied and not trains_head(spec, shape):
        tables = (*tables, names.head)
    return tuple(name.rpartition(".")[2] for name in tables)
