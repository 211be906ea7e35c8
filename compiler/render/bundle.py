"""The bundle: every file of the table of artifacts, rendered."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import yaml

from ftc.compiler.render.artifacts import ARTIFACTS, Artifact
from ftc.compiler.render.context.context import make_context, neutralize
from ftc.compiler.render.localized_readme import localized_context
from ftc.compiler.render.output.comment_wrapping import wrap_comments
from ftc.compiler.render.output.environment import (
    leave_out,
    make_environment,
    make_script_environment,
)
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.render.output.joining import join_short
from ftc.compiler.render.output.json_layout import lay_out
from ftc.compiler.render.output.unused import remove_unused
from ftc.compiler.render.readme import readme_context
from ftc.compiler.render.runtime_modules import carry_modules
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses

__all__ = ["BundleSource", "render_bundle"]

_LINE_LETTERS: Final = 160  # of a JSON file

#: The parts of a report that only some bundles have, each with the choice by which evaluate.py or
#: export.py writes what it describes.
PARTS: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "answers": lambda uses: (
        uses.answered
        or uses.objective.head == "scores"
        or uses.pairs
        or uses.facts.data.form == "prompt"
    ),
    "benchmarks": lambda uses: uses.decisions.evaluation.harness is not None,
    "kept": lambda uses: bool(uses.source.compared_paths),
    "pairs": lambda uses: uses.compared,
    "pictures": lambda uses: uses.vision,
    "prompts": lambda uses: uses.facts.data.form == "prompt",
    "served": lambda uses: bool(uses.spec.export.vllm),
    "sources": lambda uses: bool(uses.facts.data.sources),
    "texts": lambda uses: uses.texts,
}


def render_bundle(source: BundleSource) -> tuple[RenderedFile, ...]:
    """Return the files of the table, in its order, then the modules that the scripts import.

    The write stage adds the lock.
    """
    uses = Uses(source)
    context = make_context(source, uses)
    artifacts = [artifact for artifact in ARTIFACTS if artifact.when(uses)]
    scripts = {
        artifact.name: _render(artifact, source, uses, context)
        for artifact in artifacts
        if artifact.language in ("python", "shell")
    }
    chosen = [f"report_parts.{name}" for name, is_chosen in PARTS.items() if is_chosen(uses)]
    if uses.facts.hardware.kind == "cpu":
        chosen.append("smaller_batch")
    if uses.spec.tracking.type != "none":
        chosen.append(f"track.tracking_{source.spec.tracking.type}")
    modules = carry_modules(scripts.values(), chosen)
    context |= readme_context(source, artifacts, list(scripts.values()), modules)
    if "readme_ca" in uses.source.extras or "readme_es" in uses.source.extras:
        context |= localized_context(source)
    rest = {
        artifact.name: _render(artifact, source, uses, context)
        for artifact in artifacts
        if artifact.name not in scripts
    }
    rendered = scripts | rest
    return (*(rendered[artifact.name] for artifact in artifacts), *modules)


def _render(
    artifact: Artifact,
    source: BundleSource,
    uses: Uses,
    context: dict[str, Any],
) -> RenderedFile:
    data = artifact.data(source) if artifact.data else None
    neutral = None
    if artifact.template:
        is_script = artifact.language == "python"
        environment = make_script_environment() if is_script else make_environment()
        template = environment.get_template(artifact.template(source))
        if artifact.absent:
            template = leave_out(artifact.template(source), tuple(artifact.absent(uses)))
        text = template.render(context)
        if is_script:
            text = wrap_comments(join_short(remove_unused(text)))
            neutral = remove_unused(template.render(neutralize(context)))
    elif artifact.text:
        text = artifact.text(source, uses)
    elif artifact.language == "yaml":
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=False)
    else:
        text = lay_out(data, width=_LINE_LETTERS, depth=1) + "\n"
    return RenderedFile(
        name=artifact.name,
        text=text,
        language=artifact.language,
        data=data,
        executable=artifact.executable,
        neutral=neutral,
    )
