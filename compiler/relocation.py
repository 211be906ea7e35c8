"""A spec seen from its bundle: the folder it compiles to, every path relative to that folder."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Plan
from ftc.compiler.render.bundle import BundleSource
from ftc.compiler.write.lock import LOCK_NAME
from ftc.spec.document import Document
from ftc.spec.finding import EnvironmentFailure
from ftc.spec.normal import lengthen
from ftc.spec.sections import Spec

SPEC_NAME = "spec.json"
TEMPLATE_NAME = "chat_template.jinja"


def bundle_folder(document: Document, spec: Spec, output: Path | None) -> Path:
    """Return the folder of the bundle: `output`, or one named like the spec beside it.

    The spec that a bundle carries belongs to that bundle.
    """
    if output is not None:
        return output
    return document.folder if _is_carried(document) else document.folder / spec.name


def carried_name(document: Document, folder: Path) -> str | None:
    """Return the name of the spec in the bundle in `folder`, where that one is compiled."""
    if not _is_carried(document) or document.folder.resolve() != folder.resolve():
        return None
    return SPEC_NAME


def _is_carried(document: Document) -> bool:
    path = Path(document.name)
    return path.name == SPEC_NAME and path.with_name(LOCK_NAME).is_file()


def bundle_source(
    document: Document, spec: Spec, folder: Path, facts: KnownFacts, plan: Plan
) -> BundleSource:
    """Return what render needs, with every path relative to the bundle in POSIX form."""
    data_path = _from_bundle(facts.data.path, document.folder, folder)
    model_path = _from_bundle(facts.model.path, document.folder, folder)
    template = _read_template(document.folder, spec.model.chat_template, folder)
    written: dict[str, Any] = dict(document.data)
    for section, key, value in (
        ("model", "id", model_path),
        ("data", "source", data_path),
        ("model", "chat_template", TEMPLATE_NAME if template is not None else None),
    ):
        if value is not None:
            written[section] = _replaced(section, written[section], key, value)
    return BundleSource(
        spec=spec,
        written=written,
        facts=facts,
        plan=plan,
        data_path=data_path,
        model_path=model_path,
        chat_template=template,
    )


def _replaced(section: str, value: Any, key: str, new: str) -> Any:
    """Return a section with one of its keys replaced; a short form stays one where it can."""
    long = dict(value) if isinstance(value, Mapping) else lengthen(section, value)
    long[key] = new
    return new if not isinstance(value, Mapping) and len(long) == 1 else long


def _from_bundle(path: str | None, spec_folder: Path, bundle: Path) -> str | None:
    """Return a path of the spec relative to the bundle; absolute where no relative one exists.

    Links on the way to the two folders are followed, since `..` does; those of `path` are kept.
    """
    if path is None:
        return None
    target = spec_folder.resolve() / path
    try:
        return PurePath(os.path.relpath(target, bundle.resolve())).as_posix()
    except ValueError:  # another drive on Windows
        return target.resolve().as_posix()


def _read_template(spec_folder: Path, path: str | None, bundle: Path) -> str | None:
    """Return the text of the spec's chat template, or of the bundle's copy of it."""
    if path is None:
        return None
    for candidate in (spec_folder / path, bundle / TEMPLATE_NAME):
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8").replace("\r\n", "\n")
    raise EnvironmentFailure(
        message=f"the chat template `{path}` cannot be read",
        help="write the path relative to the spec",
    )
