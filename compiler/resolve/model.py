"""Model facts: from a folder, the cache, the Hub, or the built-in table, in that order of trust."""

import hashlib
import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.models import Model, all_models, find_model
from ftc.compiler.resolve import pages
from ftc.compiler.resolve.config import Config, Dtype, dtype_named, gguf_finding, read_config
from ftc.compiler.resolve.facts import ModelFacts, Unknown
from ftc.compiler.resolve.hub import Repository, Trouble
from ftc.compiler.resolve.hub_cache import has_repository
from ftc.compiler.resolve.model_folder import ModelFolder, find_model_folder
from ftc.compiler.resolve.place import relative
from ftc.compiler.resolve.said import patch_field
from ftc.compiler.resolve.tokenizer_files import TokenizerFileError, read_tokenizer_config
from ftc.compiler.resolve.weights import Weights, read_weights
from ftc.spec.finding import Finding
from ftc.spec.page import Page
from ftc.spec.sections import Spec

_POINTER: Final = "/model/id"
_DTYPE_BYTES: Final[Mapping[Dtype, int]] = {"float32": 4, "float16": 2, "bfloat16": 2}


def resolve_model(spec: Spec, *, folder: Path) -> ModelFacts | Unknown:
    """Return the model's facts; the table stands in where the Hub cannot be reached."""
    name = spec.model.id
    found = find_model_folder(spec, folder=folder)
    if isinstance(found, Trouble):
        entry = find_model(name)
        if entry is not None and found.passes:
            return _from_table(entry, name)
        return Unknown(finding=_explain(spec, found))
    if found.origin == "folder" and (fault := _folder_fault(name, found.path)) is not None:
        return Unknown(finding=fault)
    if _is_gguf_only(found.repository):
        return Unknown(finding=gguf_finding(name))
    config = read_config(found.path, name)
    if isinstance(config, Finding):
        return Unknown(finding=config)
    return _from_files(name, found, config, folder)


def _from_files(
    name: str, found: ModelFolder, config: Config, folder: Path
) -> ModelFacts | Unknown:
    """Put together what config, headers and the Hub say."""
    weights = read_weights(found.path)
    dtype = config.dtype or dtype_named(weights.dtype) or "float32"
    parameters = _parameters(config, weights, found.repository, dtype)
    context = config.context_tokens or _tokenizer_limit(found.path)
    if parameters is None:
        return Unknown(finding=_uncounted(name, config, weights))
    if context is None:
        return Unknown(finding=_no_context(name))
    entry = find_model(name) if found.origin != "folder" else None
    said = found.repository
    path = relative(found.path, folder=folder) if found.origin == "folder" else None
    return ModelFacts(
        id=path if path is not None and Path(name).expanduser().is_absolute() else name,
        origin=found.origin,
        path=path,
        revision=found.commit,
        config_sha256=config.sha256,
        architecture=config.architecture,
        model_type=config.model_type,
        parameters=parameters,
        shape=config.shape,
        context_tokens=context,
        embedding_rows=config.embedding_rows,
        dtype=dtype,
        weights_bytes=weights.bytes or _listed_bytes(said),
        quantized=config.quantized,
        custom_code=config.custom_code,
        licence=said.licence if said is not None else (entry.licence if entry else None),
        gated=said.gated if said is not None else (entry is not None and entry.gated),
    )


def _from_table(entry: Model, name: str) -> ModelFacts:
    """Return the facts that ftc carries, without a revision: the run takes the newest."""
    text = json.dumps(entry.config, sort_keys=True)
    shape = entry.shape
    return ModelFacts(
        id=name,
        origin="table",
        path=None,
        revision=None,
        config_sha256=hashlib.sha256(text.encode()).hexdigest(),
        architecture=shape.architecture,
        model_type=shape.model_type,
        parameters=shape.parameters,
        shape=shape,
        context_tokens=entry.context_tokens,
        embedding_rows=shape.vocab,
        dtype=dtype_named(entry.config.get("torch_dtype")) or "bfloat16",
        weights_bytes=None,
        quantized=None,
        custom_code=False,
        licence=entry.licence,
        gated=entry.gated,
    )


def _parameters(
    config: Config, weights: Weights, said: Repository | None, dtype: Dtype
) -> int | None:
    """Count by formula, then by headers, then by the Hub's count, then by size."""
    if config.shape is not None:
        return config.shape.parameters
    if config.quantized is not None:
        return None  # packed tensors hold several weights in one number
    if weights.parameters is not None:
        return weights.parameters
    if said is not None and said.parameters is not None:
        return said.parameters
    size = weights.bytes
    return size // _DTYPE_BYTES[dtype] if size is not None and weights.missing else None


def _listed_bytes(said: Repository | None) -> int | None:
    """Add up the weight files that the Hub lists, pickles only where nothing else is there."""
    if said is None:
        return None
    for ending in (".safetensors", ".bin"):
        sizes = [size for name, size in said.files.items() if name.endswith(ending) and size]
        if sizes:
            return sum(sizes)
    return None


def _is_gguf_only(said: Repository | None) -> bool:
    """Tell whether the Hub lists GGUF files and nothing to train on."""
    if said is None:
        return False
    gguf = any(name.endswith(".gguf") for name in said.files)
    return gguf and not any(name.endswith((".safetensors", ".bin")) for name in said.files)


def _tokenizer_limit(path: Path) -> int | None:
    try:
        return read_tokenizer_config(path).model_max_tokens
    except TokenizerFileError:
        return None


def _folder_fault(name: str, path: Path) -> Finding | None:
    """Say why a path is no model's folder, before its config is read."""
    if path.suffix.lower() == ".gguf":
        return gguf_finding(name)
    if path.is_file():
        return pages.MODEL_FOLDER.finding(
            message=f"the model `{name}` is a file",
            help="name the folder that holds `config.json` beside it",
            pointer=_POINTER,
        )
    if path.is_dir():
        return None
    near = get_close_matches(path.name, _folder_names(path.parent), n=1)
    hint = f": did you mean `{near[0]}`?" if near else ""
    return pages.MODEL_FOLDER.finding(
        message=f"there is no folder `{name}`",
        help=f"write a folder relative to the spec, or an id of the Hub such as `owner/name`{hint}",
        pointer=_POINTER,
    )


def _folder_names(parent: Path) -> list[str]:
    try:
        return sorted(path.name for path in parent.iterdir() if path.is_dir())
    except OSError:
        return []


def _uncounted(name: str, config: Config, weights: Weights) -> Finding:
    if weights.broken is not None:
        message = f"the header of `{weights.broken}` in `{name}` cannot be read"
        instead = "copy or download the file again: it is cut off or no safetensors file"
    elif config.quantized is not None:
        message = f"the parameters of `{name}` cannot be counted in `{config.quantized}` weights"
        instead = "name the model that was quantized: training starts from whole weights"
    else:
        message = f"the parameters of a `{config.architecture}` cannot be counted"
        instead = "keep its weights as safetensors in the same folder"
    return pages.UNCOUNTED.finding(message=message, help=instead, pointer=_POINTER)


def _no_context(name: str) -> Finding:
    return pages.BROKEN_CONFIG.finding(
        message=f"the `config.json` of `{name}` does not say how long a context is",
        help="add `max_position_embeddings`, as the model was trained",
        pointer=_POINTER,
    )


def _explain(spec: Spec, trouble: Trouble) -> Finding:
    """Say in one sentence why the Hub gave no facts, and what to do."""
    name, revision = spec.model.id, spec.model.revision
    if trouble.reason == "missing":
        return _not_found(spec)
    if trouble.reason == "revision":
        return pages.NO_REVISION.finding(
            message=f"`{name}` has no revision `{revision}`",
            help="write a commit hash or a tag of that repository, or leave `revision` out",
            pointer="/model/revision",
        )
    if trouble.reason == "gated":
        page, message = pages.GATED, f"`{name}` is gated: {trouble.detail}"
        instead = "accept its terms on its page on the Hub, then set HF_TOKEN to a token of yours"
    elif trouble.reason == "limited":
        page, message = pages.LIMITED, f"the Hub refuses to describe `{name}`: {trouble.detail}"
        instead = "compile again in some minutes, or set HF_TOKEN to be allowed more requests"
    elif has_repository(name, "model"):
        page, message = pages.HALF_CACHED, f"the cache holds only a part of `{name}`"
        instead = f"complete it where the Hub can be reached: `hf download {name}`"
    else:
        page, message, instead = _out_of_reach(name, trouble)
    return page.finding(message=message, help=instead, pointer=_POINTER)


def _out_of_reach(name: str, trouble: Trouble) -> tuple[Page, str, str]:
    message = f"the Hub cannot be asked for `{name}` ({trouble.detail}), and no table knows it"
    instead = "connect, name a local folder, or choose a model of the table (`ftc models`)"
    near = _similar(name)
    if near is not None:
        instead = f"did you mean `{near}`? else {instead}"
    return pages.UNREACHABLE, message, instead


def _not_found(spec: Spec) -> Finding:
    near = _similar(spec.model.id)
    instead = "write the id as its page on the Hub does, or a folder relative to the spec"
    return pages.MODEL_NOT_FOUND.finding(
        message=f"the Hub has no model `{spec.model.id}`, or it is private",
        help=f"did you mean `{near}`? else {instead}"
        if near
        else f"{instead}; for a private model set HF_TOKEN",
        pointer=_POINTER,
        fix=patch_field(spec, "model", "id", near) if near else (),
    )


def _similar(name: str) -> str | None:
    ids = {model.id.casefold(): model.id for model in all_models()}
    near = get_close_matches(name.casefold(), ids, n=1, cutoff=0.85)
    return ids[near[0]] if near else None
