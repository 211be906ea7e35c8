"""Folders for vLLM as planned, held to files that are really written, and what has none."""

from pathlib import Path
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.exports.served_types import SERVED
from ftc.compiler.plan.served import find_obstacle, predict_served_bytes
from ftc.spec.sections import ServedType

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("compressed_tensors")
from ftc.runtime.vllm import compressing  # noqa: E402 - it needs torch

pytestmark = pytest.mark.prove

KINDS: tuple[ServedType, ...] = get_args(ServedType)
SIDES: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


@pytest.mark.parametrize(
    ("name", "tied"), [("Llama", False), ("Qwen2", True), ("Phi3", False), ("Gemma2", True)]
)
def test_the_planned_size_is_that_of_the_files(tmp_path: Path, name: str, tied: bool) -> None:
    """Biases, tied heads and fused matrices included, within the 2 % that export.py accepts."""
    config = getattr(transformers, f"{name}Config")(
        **SIDES, tie_word_embeddings=tied, pad_token_id=0, head_dim=64
    )
    model = getattr(transformers, f"{name}ForCausalLM")(config).to(torch.bfloat16)
    model.save_pretrained(tmp_path / "merged")
    shape = read_shape(model.config.to_dict() | {"architectures": [f"{name}ForCausalLM"]})
    assert shape is not None
    assert find_obstacle(shape) is None
    matrices = compressing.list_matrices(model)
    extents = dict.fromkeys(matrices, compressing.Extent(weight=1.0, input=1.0))
    for kind in KINDS:
        folder = tmp_path / kind
        compressing.write_folder(tmp_path / "merged", folder, kind, extents, [])
        size = sum(path.stat().st_size for path in compressing.list_shards(folder))
        assert predict_served_bytes(shape, kind) == pytest.approx(size, rel=0.02), kind


def test_the_table_is_that_of_compressed_tensors() -> None:
    """Bits and groups are those of the presets of these names."""
    for kind in KINDS:
        args = compressing.find_scheme(kind).weights
        groups = {"tensor": 0, "channel": None}
        assert SERVED[kind].weight_bits == args.num_bits
        assert SERVED[kind].group == (args.group_size or groups[args.strategy])
