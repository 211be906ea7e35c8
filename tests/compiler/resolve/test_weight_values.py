"""What the bytes and types of weights say: NaN, and floats of 8 bits with and without scales."""

from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.weight_files.weights import read_weights
from tests.compiler.resolve.test_model import write_safetensors

_INNER = "model.layers.0.self_attn.q_proj.weight"


@pytest.mark.parametrize(
    ("name", "dtype", "written", "told"),
    [
        (_INNER, "BF16", b"\xc0\x7f", f"`{_INNER}` in `model.safetensors`"),
        (_INNER, "F16", b"\x00\x7c", "holds NaN or infinity"),
        (_INNER, "F32", b"\x00\x00\xc0\xff", "holds NaN or infinity"),
        (_INNER, "F32", b"\xc0\x7f\x00\x00", ""),
        (_INNER, "BF16", b"\x00\x00", ""),
        (_INNER, "F8_E4M3", b"\x7f", ""),
        ("model.embed_tokens.weight", "BF16", b"\xc0\x7f", ""),
    ],
)
def test_weights_that_are_no_numbers(
    make_spec: Any, model_folder: Path, name: str, dtype: str, *, written: bytes, told: str
) -> None:
    """A run that diverged saves NaN, with which no training can start."""
    path = model_folder / "model.safetensors"
    write_safetensors(path, {name: (dtype, [4, 8])})
    whole = path.read_bytes()
    size = 32 * len(written)
    path.write_bytes(whole[:-size] + written * 32)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is bool(told)
    if isinstance(found, Unknown):
        assert found.finding.code == "FTC135"
        assert told in found.finding.message


@pytest.mark.parametrize(
    ("dtype", "more", "packed"),
    [
        ("F8_E4M3", {}, None),
        ("F8_E4M3", {_INNER.replace("weight", "weight_scale_inv"): ("F32", [1, 1])}, "F8_E4M3"),
        ("I8", {}, "I8"),
    ],
)
def test_small_floats_are_weights_without_scales(
    tmp_path: Path, dtype: str, more: dict[str, Any], packed: str | None
) -> None:
    """A matrix that was only cast is loaded as it is."""
    write_safetensors(tmp_path / "model.safetensors", {_INNER: (dtype, [8, 8]), **more})
    found = read_weights(tmp_path)
    assert (found.packed, _INNER in found.sides) == (packed, dtype != "I8")
