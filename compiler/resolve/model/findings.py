"""The findings about models that cannot be used or found: what is wrong and what to do."""

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import find_unfit_keys
from ftc.compiler.knowledge.architectures.causal_types import has_causal_class
from ftc.compiler.knowledge.well_known.model_names import is_closed
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.hub.cache import has_repository
from ftc.compiler.resolve.hub.client import Trouble
from ftc.compiler.resolve.local_paths import (
    LfsPointer,
    has_variable,
    is_file,
    is_folder,
    looks_like_path,
)
from ftc.compiler.resolve.model.chain import name_bundle
from ftc.compiler.resolve.model.code import list_code
from ftc.compiler.resolve.model.config import Config, gguf_finding
from ftc.compiler.resolve.model.no_causal import is_only_code, is_unknown
from ftc.compiler.resolve.model.similar import (
    find_converted,
    find_family,
    find_meant,
    find_original,
    list_alike,
)
from ftc.compiler.resolve.model.weight_files.weights import (
    INDEX_FILE,
    Infinite,
    Truncated,
    Weights,
)
from ftc.compiler.resolve.patches import patch_field
from ftc.spec.findings.finding import Finding
from ftc.spec.message import reason_of
from ftc.spec.sections import Spec
from ftc.spec.values.hub_page import find_repository

#: Open models of this size are offered in place of a closed one: they train on one GPU.
_USUAL_PARAMETERS: Final = 8_000_000_000
#: The endings of the names of GGUF files, and of repositories that have nothing else; and the tags
#: by which llama.cpp, Ollama and LM Studio choose a file of one.
_GGUF: Final = re.compile(
    r"(?:[-_.]gguf(?::[\w.-]+)?|:(?:[\w.]+-)*(?:ud-)?i?q\d\w*)$", re.IGNORECASE
)


#: A revision after an id, in pip's notation for repositories.
_REVISED: Final = re.compile(r"([A-Za-z0-9][\w.-]*/[\w.-]+)@([\w./-]+)")


def folder_fault(spec: Spec, path: Path) -> Finding | None:
    """Return why a path is not the folder of a model, before its config is read."""
    name = spec.model.id
    if path.suffix.lower() == ".gguf":
        return gguf_finding(name)
    if is_file(path):
        return explanations.MODEL_FOLDER.finding(message="file", help="file", name=name)
    if is_folder(path):
        return None
    if (repository := find_repository(name)) is not None:
        return explanations.MODEL_FOLDER.finding(
            message="address",
            help="address",
            fix=patch_field(spec, "model", "id", repository),
            name=name,
            id=repository,
        )
    if not looks_like_path(name) and is_closed(name):
        return _closed(name)
    if (revised := _REVISED.fullmatch(name)) is not None:
        return _revised(spec, *revised.groups())
    if not looks_like_path(name) and _GGUF.search(name):
        return _converted(spec)
    near = get_close_matches(path.name, _folder_names(path.parent), n=1)
    meant = () if near or looks_like_path(name) else find_meant(name) or find_converted(name)
    others = [name.removesuffix(path.name) + each for each in near] or list(meant)
    finding = explanations.MODEL_FOLDER.finding(
        help="variable" if has_variable(name) else "near" if near else "said" if meant else "",
        fix=patch_field(spec, "model", "id", others[0]) if len(others) == 1 else (),
        name=name,
        near=others,
    )
    return replace(finding, fix_safety="unsafe")  # a name is guessed


def _revised(spec: Spec, repository: str, revision: str) -> Finding:
    """Return the finding for a revision that was appended to the id."""
    (step,) = patch_field(spec, "model", "revision", revision)
    section = {**step["value"], "id": repository}
    return explanations.MODEL_FOLDER.finding(
        help="revision",
        fix=({**step, "value": section},),
        name=spec.model.id,
        id=repository,
        revision=revision,
    )


def pointed(name: str, pointers: Sequence[LfsPointer]) -> Finding:
    """Return the finding that files of the model are pointers of git-lfs; the first is named."""
    first, more = pointers[0], len(pointers) - 1
    return explanations.LFS_POINTER.finding(
        message="more" if more else "",
        pointer="/model/id",
        name=name,
        file=first.name,
        actual=first.actual_bytes,
        expected=first.expected_bytes,
        more=more,
    )


def truncated(name: str, found: Truncated) -> Finding:
    """Return the finding that a file of weights has other bytes than its header says."""
    return explanations.DAMAGED_WEIGHTS.finding(
        message="longer" if found.actual_bytes > found.expected_bytes else "",
        name=name,
        file=found.name,
        actual=found.actual_bytes,
        expected=found.expected_bytes,
    )


def infinite(name: str, found: Infinite) -> Finding:
    """Return the finding that weights hold values with which every loss is NaN."""
    return explanations.DAMAGED_WEIGHTS.finding(
        message="infinite", help="infinite", name=name, file=found.name, tensor=found.tensor
    )


def find_missing_code(spec: Spec, folder: Path) -> Finding | None:
    """Return the finding that a folder lacks the code that it would be loaded with, or None."""
    lacking = [file for file in list_code(folder) if not (folder / file).is_file()]
    if not spec.model.trust_remote_code or not lacking:
        return None
    return explanations.BROKEN_CONFIG.finding(
        message="code", help="code", name=spec.model.id, file=lacking[0]
    )


def no_promise(name: str) -> Finding:
    """Return the finding that the lock of a bundle does not describe its result."""
    bundle = name_bundle(name)
    return explanations.NO_CONFIG.finding(message="bundle", help="bundle", name=bundle)


def _folder_names(parent: Path) -> list[str]:
    try:
        return sorted(path.name for path in parent.iterdir() if path.is_dir())
    except OSError:
        return []


def unreadable(name: str, error: OSError) -> Finding:
    """Return the finding that this user may not read a file of the model."""
    return explanations.MODEL_FOLDER.finding(
        message="unreadable", help="unreadable", name=name, reason=reason_of(error)
    )


def uncounted(name: str, config: Config, weights: Weights) -> Finding:
    """Return the finding that neither formula nor headers give the number of parameters."""
    why, keys = "", find_unfit_keys(config.data)
    if weights.broken is not None:
        why = "index" if weights.broken == INDEX_FILE else "header"
    elif keys:
        why = "keys"
    elif config.quantized is not None:
        why = "quantized"
    elif is_only_code(config.data):
        why = "code"
    elif is_unknown(config.data):
        why = "type"
    elif config.model_type and not has_causal_class(config.model_type) and not config.custom_code:
        why = "class"  # with weights it would still not be loaded
    return explanations.UNCOUNTED.finding(
        message=why,
        help=why,
        name=name,
        file=weights.broken or "",
        kind=config.quantized or "",
        architecture=config.architecture,
        keys=keys,
        type=config.model_type,
        models=list_alike(_USUAL_PARAMETERS),
    )


def no_context(name: str) -> Finding:
    """Return the finding that no file gives the length of the context."""
    return explanations.BROKEN_CONFIG.finding(message="no_context", help="no_context", name=name)


def explain(spec: Spec, trouble: Trouble) -> Finding:
    """Return the finding that says why the Hub gave no facts, and what to do."""
    name, revision = spec.model.id, spec.model.revision
    if trouble.reason not in ("gated", "revision") and is_closed(name):
        return _closed(name)
    if trouble.reason not in ("gated", "revision") and _GGUF.search(name):
        return _converted(spec)
    if trouble.reason == "missing":
        return _not_found(spec)
    if trouble.reason == "revision":
        return explanations.NO_REVISION.finding(
            pointer="/model/revision", name=name, revision=revision or ""
        )
    if trouble.reason == "gated":
        return explanations.GATED.finding(name=name, detail=trouble.detail)
    if trouble.reason == "limited":
        return explanations.LIMITED.finding(name=name, detail=trouble.detail)
    if has_repository(name, "model"):
        return explanations.HALF_CACHED.finding(name=name)
    near, family, original = find_meant(name), find_family(name), find_original(name)
    copied = "quantized" if original is not None and original.quantized else "copy"
    near = near or ((original.id,) if original is not None else ())
    finding = explanations.UNREACHABLE.finding(
        message="family" if family and not near else "",
        help=copied if original is not None and near == (original.id,) else "near" if near else "",
        fix=patch_field(spec, "model", "id", near[0]) if len(near) == 1 else (),
        name=name,
        detail=trouble.detail,
        near=near,
        family=family or "",
    )
    return replace(finding, fix_safety="unsafe")


def _converted(spec: Spec) -> Finding:
    """Return the finding that an id names a GGUF; the fix writes the model it was made from."""
    name = spec.model.id
    found, near = gguf_finding(name), find_converted(name)
    fix = patch_field(spec, "model", "id", near[0]) if len(near) == 1 else ()
    return replace(found, fix=fix, fix_safety="unsafe")


def _closed(name: str) -> Finding:
    """Return the finding that only its maker can train a model; it names open models."""
    return explanations.MODEL_NOT_FOUND.finding(
        message="closed", help="closed", name=name, models=list_alike(_USUAL_PARAMETERS)
    )


def _not_found(spec: Spec) -> Finding:
    near = find_meant(spec.model.id)
    return explanations.MODEL_NOT_FOUND.finding(
        help="near" if near else "",
        fix=patch_field(spec, "model", "id", near[0]) if len(near) == 1 else (),
        name=spec.model.id,
        near=near,
    )
