"""Rewrites a spec for its bundle, with every path relative to the bundle's folder."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from ftc.compiler.plan.objective.sampling import calls_tools, find_rewards, rewarded
from ftc.compiler.plan.plan import Plan
from ftc.compiler.render.bundle import BundleSource
from ftc.compiler.render.extras import Extra
from ftc.compiler.resolve.content.rewards import RewardFileError, read_functions, read_schema
from ftc.compiler.resolve.facts import KnownFacts
from ftc.compiler.resolve.model.chain import RESULT
from ftc.compiler.resolve.regression import KINDS
from ftc.compiler.write.lock import LOCK_NAME
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.message import Message
from ftc.spec.normal import lengthen
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document

SPEC_NAME = "spec.json"
TEMPLATE_NAME = "chat_template.jinja"
FUNCTIONS_NAME = "reward_functions.py"
TOOLS_NAME = "tool_functions.py"
SCHEMA_NAME = "answer_schema.json"


def bundle_folder(document: Document, spec: Spec, output: Path | None) -> Path:
    """Return the folder of the bundle: `output`, or one named like the spec beside it.

    The spec that a bundle carries belongs to that bundle.
    """
    if output is not None:
        return output
    return document.folder if _is_carried(document) else document.folder / spec.name


def carried_name(document: Document, folder: Path) -> str | None:
    """Return the name of the spec inside the bundle in `folder`, if that one is compiled."""
    if not _is_carried(document) or document.folder.resolve() != folder.resolve():
        return None
    return SPEC_NAME


def _is_carried(document: Document) -> bool:
    path = Path(document.name)
    return path.name == SPEC_NAME and path.with_name(LOCK_NAME).is_file()


def bundle_source(
    document: Document,
    spec: Spec,
    folder: Path,
    facts: KnownFacts,
    plan: Plan,
    *,
    extras: frozenset[Extra] = frozenset(),
) -> BundleSource:
    """Return the input of render, with every path relative to the bundle in POSIX form."""
    data_path = from_folder(facts.data.path, document.folder, folder)
    data_paths = tuple(
        from_folder(part.path, document.folder, folder) for part in facts.data.sources
    )
    model_path = from_folder(facts.model.path, document.folder, folder)
    teacher = facts.teacher
    teacher_path = (
        None if teacher is None else from_folder(teacher.model.path, document.folder, folder)
    )
    template = read_template(document.folder, spec.model.chat_template, folder)
    image = place_image(spec.launch.container, document.folder, folder)
    written = _relocate(
        document.data,
        ("model", "id", _named_model(spec.model.id, model_path)),
        ("data", "source", data_path),
        ("model", "chat_template", TEMPLATE_NAME if template is not None else None),
        ("launch", "container", image),
    )
    if data_paths:
        written["data"] = {**written["data"], "sources": relocate_sources(written, data_paths)}
    functions, schema = _read_rewards(document.folder, spec, facts, folder)
    tools = _read_tools(document.folder, spec, folder)
    if functions is not None or schema is not None:
        written["objective"] = _with_own_files(written["objective"])
    if tools is not None:
        written["objective"] = {**written["objective"], "tools": TOOLS_NAME}
    if teacher_path is not None:
        written["objective"] = _with_teacher(written["objective"], spec, teacher_path)
    compared = tuple(
        None if file is None else from_folder(file.path, document.folder, folder)
        for file in facts.data.regression
    )
    if compared:
        written["training"] = relocate_checks(written["training"], compared)
    return BundleSource(
        spec=replace(spec, launch=replace(spec.launch, container=image)),
        written=written,
        facts=facts,
        plan=plan,
        data_path=data_path,
        model_path=model_path,
        chat_template=template,
        reward_functions=functions,
        tool_functions=tools,
        answer_schema=schema,
        data_paths=data_paths,
        extras=extras,
        teacher_path=teacher_path,
        compared_paths=compared,
    )


def _relocate(written: Mapping[str, Any], *places: tuple[str, str, str | None]) -> dict[str, Any]:
    """Return a document with a new path at each section's key, unless the path is None."""
    moved = dict(written)
    for section, key, path in places:
        if path is not None:
            moved[section] = _replaced(section, moved[section], key, path)
    return moved


def relocate_checks(training: Mapping[str, Any], paths: Sequence[str | None]) -> dict[str, Any]:
    """Return a section with new paths of its regression checks; None leaves a path unchanged."""
    checks = [
        {key: path if path and key in KINDS else value for key, value in check.items()}
        for check, path in zip(training["evaluation"]["regression"], paths, strict=True)
    ]
    return {**training, "evaluation": {**training["evaluation"], "regression": checks}}


def relocate_sources(written: Mapping[str, Any], paths: Sequence[str | None]) -> list[Any]:
    """Return the sources of a written spec with new paths; None leaves a path unchanged."""
    sources = []
    for item, path in zip(written["data"]["sources"], paths, strict=True):
        new = item
        if path is not None:
            new = {**item, "source": path} if isinstance(item, Mapping) else path
        sources.append(new)
    return sources


def _read_rewards(
    spec_folder: Path, spec: Spec, facts: KnownFacts, bundle: Path
) -> tuple[str | None, Mapping[str, Any] | None]:
    """Return the text of the functions and the JSON Schema that rewards name, or None."""
    functions, schema = None, None
    for reward in find_rewards(spec.objective, facts.data) if rewarded(spec.objective) else ():
        try:
            if reward.functions is not None:
                places = (spec_folder / reward.functions, bundle / FUNCTIONS_NAME)
                functions = read_functions(first_file(places))
            elif isinstance(reward.json_schema, str):
                places = (spec_folder / reward.json_schema, bundle / SCHEMA_NAME)
                schema = read_schema(reward.json_schema, first_file(places))
            elif reward.json_schema is not None:
                schema = reward.json_schema
        except RewardFileError as error:
            raise _fail(error) from error
    return functions, schema


def _read_tools(spec_folder: Path, spec: Spec, bundle: Path) -> str | None:
    """Return the text of the tools that the model may call, or None."""
    written = spec.objective.tools
    if written is None or not calls_tools(spec.objective):
        return None
    try:
        return read_functions(first_file((spec_folder / written, bundle / TOOLS_NAME)))
    except RewardFileError as error:
        raise _fail(error) from error


def _fail(error: RewardFileError) -> EnvironmentFailure:
    """Return the failure for a file that existed when the spec was checked."""
    return EnvironmentFailure(
        message=Message("failure.reward.message", {"reason": Message(error.key, error.values)}),
        help=Message("failure.reward.help"),
    )


def first_file(places: tuple[Path, ...]) -> Path:
    """Return the first path that exists, or the first path if none does."""
    return next((place for place in places if place.is_file()), places[0])


def _with_own_files(objective: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section with the files of its rewards named as the bundle names its copies."""
    rewards = []
    for written in objective["rewards"]:
        reward = written
        if isinstance(written, Mapping):
            reward = dict(written)
            if "functions" in reward:
                reward["functions"] = FUNCTIONS_NAME
            if isinstance(reward.get("json_schema"), str):
                reward["json_schema"] = SCHEMA_NAME
        rewards.append(reward)
    return {**objective, "rewards": rewards}


def _with_teacher(objective: Mapping[str, Any], spec: Spec, path: str) -> dict[str, Any]:
    """Return the section with the teacher's path relative to the bundle."""
    named = _named_model(spec.objective.teacher.id or "", path)
    written = objective["teacher"]
    return {
        **objective,
        "teacher": {**written, "id": named} if isinstance(written, Mapping) else named,
    }


def _named_model(name: str, model_path: str | None) -> str | None:
    """Return the path of a model in the bundle's spec; another bundle is named by its folder."""
    if model_path is None or name.rstrip("/").endswith(RESULT):
        return model_path
    return model_path.removesuffix(f"/{RESULT}")


def _replaced(section: str, value: Any, key: str, new: str) -> Any:
    """Return a section with one key replaced; a short form stays short if possible."""
    long = dict(value) if isinstance(value, Mapping) else lengthen(section, value)
    long[key] = new
    return new if not isinstance(value, Mapping) and len(long) == 1 else long


def from_folder(path: str | None, start: Path, end: Path) -> str | None:
    """Return a path relative to one folder as relative to another, or absolute if impossible.

    Links on the way to the two folders are resolved, as `..` does; links in `path` are kept.
    """
    if path is None:
        return None
    target = start.resolve() / path
    try:
        return PurePath(os.path.relpath(target, end.resolve())).as_posix()
    except ValueError:  # another drive on Windows
        return target.resolve().as_posix()


def place_image(image: str | None, start: Path, end: Path) -> str | None:
    """Return an Apptainer image relative to `end`; only a relative path changes."""
    is_relative = image is not None and not image.startswith("/") and ":" not in image
    return from_folder(image, start, end) if is_relative else image


def read_template(spec_folder: Path, path: str | None, bundle: Path) -> str | None:
    """Return the text of the spec's chat template, or of the bundle's copy of it."""
    if path is None:
        return None
    for candidate in (spec_folder / path, bundle / TEMPLATE_NAME):
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8").replace("\r\n", "\n")
    raise EnvironmentFailure(
        message=Message("failure.no_template.message", {"path": path}),
        help=Message("failure.no_template.help"),
    )
