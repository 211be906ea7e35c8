"""The findings of models that could not be had: one sentence each, and what to do."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.models import all_models
from ftc.compiler.resolve import pages
from ftc.compiler.resolve.config import Config, gguf_finding
from ftc.compiler.resolve.hub import Trouble
from ftc.compiler.resolve.hub_cache import has_repository
from ftc.compiler.resolve.place import is_file, is_folder
from ftc.compiler.resolve.said import patch_field
from ftc.compiler.resolve.weights import Weights
from ftc.spec.finding import Finding
from ftc.spec.page import Page
from ftc.spec.sections import Spec

_POINTER: Final = "/model/id"
_PAGE_OF_HUB: Final = re.compile(r"https?://huggingface\.co/([\w.-]+/[\w.-]+)(?:[/?#].*)?")


def folder_fault(spec: Spec, path: Path) -> Finding | None:
    """Say why a path is no model's folder, before its config is read."""
    name = spec.model.id
    if path.suffix.lower() == ".gguf":
        return gguf_finding(name)
    if is_file(path):
        return pages.MODEL_FOLDER.finding(
            message=f"the model `{name}` is a file",
            help="name the folder that holds `config.json` beside it",
            pointer=_POINTER,
        )
    if is_folder(path):
        return None
    if page := _PAGE_OF_HUB.fullmatch(name):
        return pages.MODEL_FOLDER.finding(
            message=f"the model `{name}` is the address of a page",
            help=f"write its id: `{page[1]}`",
            pointer=_POINTER,
            fix=patch_field(spec, "model", "id", page[1]),
        )
    near = get_close_matches(path.name, _folder_names(path.parent), n=1)
    hint = f": did you mean `{near[0]}`?" if near else ""
    return pages.MODEL_FOLDER.finding(
        message=f"there is no folder `{name}`",
        help=f"write a folder relative to the spec, or an id of the Hub such as `owner/name`{hint}",
        pointer=_POINTER,
    )


def no_promise(name: str) -> Finding:
    """Say that a bundle whose result is wanted does not say what it will be."""
    return pages.NO_CONFIG.finding(
        message=f"the bundle `{name}` has not run, and its lock does not say what it will make",
        help="compile it again, or run it",
        pointer=_POINTER,
    )


def _folder_names(parent: Path) -> list[str]:
    try:
        return sorted(path.name for path in parent.iterdir() if path.is_dir())
    except OSError:
        return []


def unreadable(name: str, error: OSError) -> Finding:
    """Say that a file of the model is there and this user may not read it."""
    return pages.MODEL_FOLDER.finding(
        message=f"the model `{name}` cannot be read: {(error.strerror or 'failure').lower()}",
        help="check the rights and the disk of its folder",
        pointer=_POINTER,
    )


def uncounted(name: str, config: Config, weights: Weights) -> Finding:
    """Say why neither formula nor headers give the number of parameters."""
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


def no_context(name: str) -> Finding:
    """Say that no file tells the length of a context."""
    return pages.BROKEN_CONFIG.finding(
        message=f"the `config.json` of `{name}` does not say how long a context is",
        help="add `max_position_embeddings`, as the model was trained",
        pointer=_POINTER,
    )


def explain(spec: Spec, trouble: Trouble) -> Finding:
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
    instead = "connect, or name a local folder"
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
    return ids[near[0]] if near and ids[near[0]] != name else None
