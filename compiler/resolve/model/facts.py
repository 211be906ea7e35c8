"""Model facts: from a folder, the cache, the Hub, or the built-in table, in this order."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.knowledge.architectures.derived import UNLIMITED_TOKENS
from ftc.compiler.knowledge.architectures.dtypes import Dtype, dtype_named, said_dtype
from ftc.compiler.knowledge.architectures.encoders import reads_both_ways
from ftc.compiler.knowledge.architectures.module_names import find_module_names
from ftc.compiler.knowledge.exports.converter import layer_pattern, wanted_keys
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed
from ftc.compiler.knowledge.exports.unlike_settings import find_unlike
from ftc.compiler.knowledge.multimodal.wrappers import TEXT_CLASS_KEY, lacks_text_class
from ftc.compiler.knowledge.objectives import OBJECTIVES, Head
from ftc.compiler.knowledge.well_known.models import Model, find_model, shape_for
from ftc.compiler.resolve.detail_facts import Purpose, TextModules, VisionFacts
from ftc.compiler.resolve.facts import ModelFacts, Unknown
from ftc.compiler.resolve.hub.client import Repository, Trouble, fetch_sides
from ftc.compiler.resolve.licence import read_licence
from ftc.compiler.resolve.local_paths import relative
from ftc.compiler.resolve.model import findings as model_faults
from ftc.compiler.resolve.model.chain import find_first_run, promised_model
from ftc.compiler.resolve.model.code import list_code, needs_tokenizer_code
from ftc.compiler.resolve.model.config import (
    Config,
    gguf_finding,
    read_config,
)
from ftc.compiler.resolve.model.folder import ModelFolder, find_model_folder, find_pointers
from ftc.compiler.resolve.model.generation import find_generation_fault
from ftc.compiler.resolve.model.no_causal import not_causal
from ftc.compiler.resolve.model.text_modules import read_purpose, read_text_modules
from ftc.compiler.resolve.model.tokenizer_files import TokenizerFileError, read_tokenizer_config
from ftc.compiler.resolve.model.vision import make_vision, read_vision
from ftc.compiler.resolve.model.weight_files.misfit import count_lacking, find_absent, find_misfit
from ftc.compiler.resolve.model.weight_files.other_head import has_other_head, is_tied_inside
from ftc.compiler.resolve.model.weight_files.tensor_shape import read_tensors
from ftc.compiler.resolve.model.weight_files.weights import Weights, listed_weights, read_weights
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec

_DTYPE_BYTES: Final[Mapping[Dtype, int]] = {"float32": 4, "float16": 2, "bfloat16": 2}

#: The outputs of the table's kinds of models that compare texts.
_PURPOSES: Final[Mapping[str, Purpose]] = {"embedding": "vectors", "reranker": "relevance"}


def resolve_model(spec: Spec, *, folder: Path) -> ModelFacts | Unknown:
    """Return the model's facts; the table stands in where the Hub cannot be reached."""
    try:
        return _resolve(spec, folder)
    except OSError as error:
        return Unknown(finding=model_faults.unreadable(spec.model.id, error))


def _resolve(spec: Spec, folder: Path) -> ModelFacts | Unknown:
    """Find the files and read them, or take the table's entry."""
    name = spec.model.id
    first = find_first_run(spec.model, folder=folder)
    if first is not None and not first.has_run:
        promised = promised_model(first, name, folder=folder)
        return promised or Unknown(finding=model_faults.no_promise(name))
    found = find_model_folder(spec.model, folder=folder)
    if isinstance(found, Trouble):
        entry = find_model(name)
        if entry is not None and found.passes:
            head = OBJECTIVES[spec.objective.type].head
            if shape_for(entry, head) is None:
                return Unknown(finding=not_causal(entry.config, name, head))
            return facts_from_table(entry, name, head=head)
        return Unknown(finding=model_faults.explain(spec, found))
    if (
        found.origin == "folder"
        and (fault := model_faults.folder_fault(spec, found.path)) is not None
    ):
        return Unknown(finding=fault)
    if _is_gguf_only(found.repository):
        return Unknown(finding=gguf_finding(name))
    pointers = find_pointers(found.path) if found.origin == "folder" else ()
    if pointers:
        return Unknown(finding=model_faults.pointed(name, pointers))
    head = OBJECTIVES[spec.objective.type].head
    config = read_config(found.path, name, head=head)
    if isinstance(config, Finding):
        return Unknown(finding=config)
    if (fault := find_generation_fault(found.path, name, head=head)) is not None:
        return Unknown(finding=fault)
    if found.origin == "folder":
        fault = model_faults.find_missing_code(spec, found.path)
        if fault is not None:
            return Unknown(finding=fault)
    return _from_files(name, found, config, folder, head)


def _from_files(
    name: str, found: ModelFolder, config: Config, folder: Path, head: Head
) -> ModelFacts | Unknown:
    """Return the facts from config, weights and the Hub's description."""
    said = found.repository  # if known, weights on this disk are not read: they change nothing
    weights = read_weights(found.path) if said is None else listed_weights(found.path, said)
    if (fault := _find_fault(name, config, weights)) is not None:
        return Unknown(finding=fault)
    config = replace(config, quantized=config.quantized or weights.packed)
    untied = _untie(found, config, head)
    config = _with_head(found, replace(config, shape=untied or config.shape), weights, head)
    dtype = config.dtype or dtype_named(weights.dtype) or "float32"
    sides = _sides(name, config, weights, said)
    parameters = _parameters(config, weights, dtype) or sum(map(prod, sides.values())) or None
    tensors = read_tensors(config, sides) if config.shape is None else None
    context = config.context_tokens or _tokenizer_limit(found.path) or _state_limit(tensors)
    if parameters is None or context is None:
        fault = model_faults.uncounted(name, config, weights) if parameters is None else None
        return Unknown(finding=fault or model_faults.no_context(name))
    path = relative(found.path, folder=folder) if found.origin == "folder" else None
    return ModelFacts(
        id=path if path and Path(name).expanduser().is_absolute() else name,
        origin=found.origin,
        path=path,
        revision=found.commit,
        config_sha256=config.sha256,
        architecture=config.architecture,
        model_type=config.model_type,
        parameters=parameters,
        shape=_with_tower(config, weights),
        tensor_shape=None if tensors is None else replace(tensors, context_tokens=context),
        context_tokens=context,
        embedding_rows=config.embedding_rows,
        dtype=dtype,
        weights_bytes=weights.bytes,
        quantized=config.quantized,
        custom_code=config.custom_code,
        own_code=list_code(found.path),
        tokenizer_code=needs_tokenizer_code(found.path, config.model_type),
        licence=_licence(found, name),
        gated=_is_gated(found, name),
        unwritten_keys=_unwritten(config),
        pickled=_is_pickled(found, weights),
        modules=weights.modules if config.shape is None else None,
        missing_weights=weights.missing,
        unread_weights=weights.unread,
        misfit=None if config.wrapper else find_misfit(config, weights.sides),
        absent=find_absent(config, weights.names, head),
        lacking_parameters=count_lacking(config, weights, head) if said is None else 0,
        wrapper=config.wrapper,
        text_prefix=config.text_prefix,
        vision=_vision(found.path, config),
        text_modules=read_text_modules(found.path),
        purpose=read_purpose(found.path, name),
        has_other_head=untied is not None,
        reads_both_ways=config.wrapper is None and reads_both_ways(config.data),
        is_lifted=_is_lifted(config.wrapper, config.architecture, config.whole or config.data),
        unlike=None if config.wrapper else find_unlike(config.architecture, config.data),
    )


def _sides(
    name: str, config: Config, weights: Weights, said: Repository | None
) -> Mapping[str, tuple[int, ...]]:
    """Return the sides of all tensors; the Hub is queried if no table describes the model."""
    if config.shape is None and config.quantized is None and said is not None:
        return fetch_sides(name, said)
    return weights.sides


def _find_fault(name: str, config: Config, weights: Weights) -> Finding | None:
    """Return the finding about weights that cannot be read."""
    if weights.truncated is not None:
        return model_faults.truncated(name, weights.truncated)
    if weights.infinite is not None:
        return model_faults.infinite(name, weights.infinite)
    return model_faults.uncounted(name, config, weights) if weights.broken is not None else None


def _untie(found: ModelFolder, config: Config, head: Head) -> Shape | None:
    """Return the untied shape if the weights have an output head that the config ties; else None.

    Only weights on this disk can say so. The class does not tie a head that differs.
    """
    names, shape = find_module_names(config.architecture), config.shape
    if found.origin != "folder" or names is None or shape is None or not shape.tied:
        return None
    if head != "tokens" or config.wrapper is not None or config.quantized is not None:
        return None
    if not has_other_head(
        found.path, embedding=f"{names.embedding}.weight", head=f"{names.head}.weight"
    ):
        return None
    return read_shape({**config.data, "tie_word_embeddings": False})


def _with_head(found: ModelFolder, config: Config, weights: Weights, head: Head) -> Config:
    """Return the config of a multimodal model, with its head tied as in the loaded class.

    The class reads another key than that of its language model, and the weights may have a head.
    """
    shape = config.shape
    if shape is None or head != "tokens" or config.quantized is not None:
        return config
    folder = found.path if found.origin == "folder" and weights.sides else None
    tied = is_tied_inside(config, weights.names, folder)
    if tied is None or tied == shape.tied:
        return config
    return replace(config, shape=read_shape({**config.data, "tie_word_embeddings": tied}))


def facts_from_table(entry: Model, name: str, *, head: Head = "tokens") -> ModelFacts:
    """Return the facts that ftc carries, without a revision: the run takes the newest.

    Raises ValueError where the model's class does not have the head.
    """
    text = json.dumps(entry.config, sort_keys=True)
    shape, wrapper = shape_for(entry, head), entry.wrapper
    if shape is None:
        raise ValueError(f"{name} has no head for {head}")
    return ModelFacts(
        id=name,
        origin="table",
        path=None,
        revision=None,
        config_sha256=hashlib.sha256(text.encode()).hexdigest(),
        architecture=shape.architecture,
        model_type=shape.model_type if wrapper is None else wrapper.model_type,
        parameters=shape.parameters,
        shape=shape,
        context_tokens=entry.context_tokens,
        embedding_rows=shape.vocab,
        dtype=dtype_named(said_dtype(entry.config)[1]) or "bfloat16",
        weights_bytes=None,
        quantized=entry.quantized,
        custom_code=False,
        licence=entry.licence,
        gated=entry.gated,
        unwritten_keys=(),
        text_modules=None if entry.pooling is None else TextModules(poolings=(entry.pooling,)),
        purpose=_PURPOSES.get(entry.kind),
        wrapper=None if wrapper is None else wrapper.architecture,
        text_prefix="" if wrapper is None else wrapper.prefix,
        vision=_vision_in_table(entry),
        reads_both_ways=reads_both_ways(entry.config),
        is_lifted=_is_lifted(
            None if wrapper is None else wrapper.architecture, shape.architecture, entry.config
        ),
        unlike=None if wrapper else find_unlike(shape.architecture, entry.config),
    )


def _is_lifted(wrapper: str | None, architecture: str, config: Mapping[str, object]) -> bool:
    """Return whether the config has what the rehearsals of its class stopped for."""
    known = [find_rehearsed(name) for name in (wrapper, architecture) if name is not None]
    return any(one is not None and one.is_lifted(config) for one in known)


def _vision_in_table(entry: Model) -> VisionFacts | None:
    """Return the table's entry for a tower; None for a model without one."""
    if not entry.vision:
        return None
    config = {**entry.config, **entry.vision["config"]}
    return make_vision(config, entry.vision["processor"], {}, {}, hidden=entry.shape.hidden)


def _vision(folder: Path, config: Config) -> VisionFacts | None:
    """Return what an image-text model sees with; its language model must be known too."""
    if config.wrapper is None or config.shape is None:
        return None
    return read_vision(folder, config.whole, hidden=config.shape.hidden)


def _with_tower(config: Config, weights: Weights) -> Shape | None:
    """Return the shape with the parameters of the tower, which stay frozen in memory.

    They are what the weights have beside the language model; where only the total size is known, it
    is that of two bytes a parameter, and where nothing is, a tenth of the language model.
    """
    shape = config.shape
    if shape is None or not config.keeps_tower:
        return shape
    whole = weights.parameters or (weights.bytes or 0) // 2
    tower = whole - shape.parameters if whole else shape.parameters // 10
    return replace(shape, frozen_parameters=max(0, tower))


def _parameters(config: Config, weights: Weights, dtype: Dtype) -> int | None:
    """Return the number of parameters: by formula, else from headers or the Hub, else by size."""
    if config.shape is not None:
        return config.shape.parameters
    if config.quantized is not None:
        return None  # packed tensors hold several weights in one number
    if weights.parameters is not None:
        return weights.parameters
    size = weights.bytes
    return size // _DTYPE_BYTES[dtype] if size is not None and weights.indexed else None


def _licence(found: ModelFolder, name: str) -> str | None:
    """Return the licence that the folder names, or the Hub, else the table."""
    if found.origin == "folder":
        return read_licence(found.path)
    if found.repository is not None:
        return found.repository.licence
    entry = find_model(name)
    return entry.licence if entry is not None else None


def _is_gated(found: ModelFolder, name: str) -> bool | None:
    """Return whether terms must be accepted first, as the Hub says, else the table."""
    if found.origin == "folder":
        return False
    if found.repository is not None:
        return found.repository.gated
    entry = find_model(name)
    return entry.gated if entry is not None else None


def _unwritten(config: Config) -> tuple[str, ...]:
    """Return the keys that the converter reads and config.json lacks."""
    wanted = wanted_keys(config.architecture)
    kinds = () if config.shape is None else config.shape.kinds
    if any(kind.mlp == "dense" for kind in kinds) and (key := layer_pattern(config.architecture)):
        wanted = (*wanted, key)
    missing = [key for key in wanted if key not in config.data]
    wrapper, text = config.wrapper, config.architecture
    if wrapper is not None and lacks_text_class(config.whole, wrapper, text):
        missing.append(TEXT_CLASS_KEY)
    return tuple(missing)


def _is_pickled(found: ModelFolder, weights: Weights) -> bool | None:
    """Return whether all weights are pickles; None where only the cache is known."""
    if found.origin == "folder":
        return weights.pickled if weights.bytes is not None else None
    return weights.pickled if found.repository is not None else None


def _is_gguf_only(said: Repository | None) -> bool:
    """Return whether the Hub lists GGUF files and nothing to train on."""
    if said is None:
        return False
    gguf = any(name.endswith(".gguf") for name in said.files)
    return gguf and not any(name.endswith((".safetensors", ".bin")) for name in said.files)


def _state_limit(shape: Shape | None) -> int | None:
    """Return the context of a model without attention, which has no limit of positions."""
    return UNLIMITED_TOKENS if shape is not None and not shape.attention_layers() else None


def _tokenizer_limit(path: Path) -> int | None:
    try:
        return read_tokenizer_config(path).model_max_tokens
    except TokenizerFileError:
        return None
