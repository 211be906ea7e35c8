"""The bundle: every file of the table of artifacts, rendered."""

import json
from typing import Any

import yaml
from jinja2 import Environment

from ftc.compiler.render.artifacts import ARTIFACTS, Artifact
from ftc.compiler.render.context import make_context
from ftc.compiler.render.environment import make_environment
from ftc.compiler.render.file import RenderedFile
from ftc.compiler.render.layout import lay_out
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses, find_uses

__all__ = ["BundleSource", "render_bundle"]


def render_bundle(source: BundleSource) -> tuple[RenderedFile, ...]:
    """Return the files of the bundle in the table's order; the lock is the write stage's."""
    uses = find_uses(source)
    context = make_context(source, uses)
    environment = make_environment()
    return tuple(
        _render(artifact, source, uses, context, environment)
        for artifact in ARTIFACTS
        if artifact.when(uses)
    )


def _render(
    artifact: Artifact,
    source: BundleSource,
    uses: Uses,
    context: dict[str, Any],
    environment: Environment,
) -> RenderedFile:
    data = artifact.data(source) if artifact.data else None
    if artifact.template:
        text = environment.get_template(artifact.template).render(context)
        text = lay_out(text) if artifact.language == "python" else text
    elif artifact.text:
        text = artifact.text(source, uses)
    elif artifact.language == "yaml":
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=False)
    else:
        text = json.dumps(data, indent=2, ensure_ascii=True) + "\n"
    return RenderedFile(
        name=artifact.name,
        text=text,
        language=artifact.language,
        data=data,
        executable=artifact.executable,
    )
