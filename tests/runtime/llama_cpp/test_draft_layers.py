"""Whether llama.cpp's converter is told that a model has no draft layers."""

import json
from pathlib import Path

import pytest

from ftc.runtime.llama_cpp.draft_layers import skip_drafts


def write_weights(folder: Path, names: list[str], *, index: bool) -> None:
    """Write the header of a model's weights, and the index of several files."""
    header = {name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for name in names}
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    content = len(text).to_bytes(8, "little") + text + bytes(4)
    if index:
        (folder / "model-00001-of-00001.safetensors").write_bytes(content)
        said = json.dumps({"weight_map": dict.fromkeys(names, "model-00001-of-00001.safetensors")})
        (folder / "model.safetensors.index.json").write_text(said, encoding="utf-8")
    else:
        (folder / "model.safetensors").write_bytes(content)


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize(
    ("names", "switch"),
    [
        (["model.embed_tokens.weight", "mtp.fc.weight"], ()),
        (["model.embed_tokens.weight"], ("--no-mtp",)),
        (["model.mtp.weight", "mtpx.weight"], ("--no-mtp",)),
        ([], ("--no-mtp",)),
    ],
)
def test_the_switch_is_for_a_model_without_such_tensors(
    tmp_path: Path, names: list[str], switch: tuple[str, ...], *, index: bool
) -> None:
    """In one file of weights and in several."""
    write_weights(tmp_path, names, index=index)

    assert skip_drafts(tmp_path) == switch
