"""The names of the trained weights for PEFT and train.py: modules, tensors and layers."""

from collections.abc import Mapping
from typing import Any

from ftc.compiler.knowledge.module_names import ModuleNames, find_module_names
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.score_heads import SCORE_HEAD
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.method.adapter import ALL_LINEAR, trains_embedding, trains_head
from ftc.compiler.render.source import BundleSource


def method_values(source: BundleSource) -> Mapping[str, Any]:
    """Return LoRA's targets, the modules trained in full, and the prefixes of trained names.

    For an architecture that is not in the table, names are omitted; rules reject specs that need
    them.
    """
    decided = source.plan.decisions
    targets: Any = decided.lora_targets.value if decided.lora_targets else ()
    if decided.target_pattern is not None:
        targets = decided.target_pattern.value
    elif targets == (ALL_LINEAR,):
        targets = ALL_LINEAR
    names = find_module_names(source.facts.model.architecture)
    return {
        "lora_targets": targets,
        "lora_init": decided.lora_init.value if decided.lora_init else True,
        **(_names(source, names) if names is not None else {}),
    }


def _names(source: BundleSource, names: ModuleNames) -> dict[str, Any]:
    spec, shape = source.spec, shape_of(source.facts.model)
    layers = source.plan.decisions.trained_layers
    scores = OBJECTIVES[spec.objective.type].head == "scores"
    parts = [names.embedding] if trains_embedding(spec, shape) else []
    if scores or (trains_head(spec, shape) and not shape.tied):
        parts.append(SCORE_HEAD if scores else names.head)
    inside = [f"{names.layers}.{layer}." for layer in layers.value] if layers else []
    return {
        "also_train": tuple(name.rpartition(".")[2] for name in parts),
        "trained_names": (*inside, *(f"{part}." for part in parts)),
        "expert_targets": names.experts,
        "token_tables": token_tables(source),
    }


def token_tables(source: BundleSource) -> tuple[str, ...]:
    """Return the tables of which an adapter trains only the new tokens' rows.

    Tables that `also_train` trains in full are not included. PEFT trains a tied head with its
    table.
    """
    spec, shape = source.spec, shape_of(source.facts.model)
    names = find_module_names(source.facts.model.architecture)
    if not spec.model.new_tokens or spec.method.type not in ("lora", "qlora") or names is None:
        return ()
    tables = () if trains_embedding(spec, shape) else (names.embedding,)
    if not shape.tied and not trains_head(spec, shape):
        tables = (*tables, names.head)
    return tuple(name.rpartition(".")[2] for name in tables)
