"""Poolings: those that llama.cpp has, and those at which training does not begin."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import TextModules
from ftc.compiler.resolve.model.text_modules import read_text_modules


@pytest.mark.prove
@pytest.mark.parametrize(
    ("pooling", "converts", "named"),
    [
        ("mean", True, ""),
        ("lasttoken", True, ""),
        ("max", False, "max"),
        (["cls", "mean"], False, "cls and mean"),
    ],
)
def test_a_pooling_without_a_gguf_ends_the_stage(
    tmp_path: Path, pooling: str | list[str], named: str, *, converts: bool
) -> None:
    """The message names the pooling and the field that replaces it; ftc reads what is saved."""
    modules: Any = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    from ftc.runtime.models.vectors import require_converted  # noqa: PLC0415 - it takes seconds

    model = [modules.Pooling(8, pooling)]
    model[0].save(str(tmp_path))
    kind = {"path": "", "type": f"{type(model[0]).__module__}.Pooling"}
    (tmp_path / "modules.json").write_text(json.dumps([kind]))
    said = (pooling,) if isinstance(pooling, str) else tuple(pooling)
    assert read_text_modules(tmp_path) == TextModules(poolings=said)
    if converts:
        require_converted(model)
        return
    with pytest.raises(SystemExit, match=rf"by {named}, .* objective\.pooling"):
        require_converted(model)
