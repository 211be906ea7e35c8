"""Poolings: those that llama.cpp has, and those at which training does not begin."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.detail_facts import TextModules
from ftc.compiler.resolve.model.text_modules import read_text_modules
from tests.tiny_models import write_model


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


@pytest.mark.prove
def test_texts_are_padded_without_a_padding_token(tmp_path: Path) -> None:
    """The end token pads, as FTC140 says; a text has the same vector alone and in a batch."""
    transformers: Any = pytest.importorskip("transformers")
    pytest.importorskip("sentence_transformers")
    from ftc.runtime.models.vectors import QUERY, encode, load  # noqa: PLC0415 - it takes seconds

    folder = write_model(tmp_path)
    config = transformers.AutoConfig.from_pretrained(folder, dtype="float32")
    transformers.LlamaModel(config).save_pretrained(folder)
    model = load(folder, pooling="mean", dtype="float32")
    assert model.tokenizer.pad_token == model.tokenizer.eos_token
    texts = ["the order is late", "the parcel"]
    together = encode(model, texts, QUERY)
    for vector, text in zip(together, texts, strict=True):
        assert vector == pytest.approx(encode(model, [text], QUERY)[0], abs=1e-5)
