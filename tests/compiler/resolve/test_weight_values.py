"""What the bytes and types of weights say: NaN, and floats of 8 bits with and without scales."""

from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.weight_files.weights import read_weights
from tests.compiler.resolve.test_model import write_safetensors

_INNER = "model.layers.0.self_attn.q_proj.weight"
_TABLE = "model.embed_tokens.weight"
_HEAD = "lm_head.weight"
_ROWS = 4000
_NAN = b"\xc0\x7f" * 8


@pytest.mark.parametrize(
    ("name", "dtype", "written", "told"),
    [
        (_INNER, "BF16", b"\xc0\x7f", f"`{_INNER}` in `model.safetensors`"),
        (_INNER, "F16", b"\x00\x7c", "holds NaN or infinity"),
        (_INNER, "F32", b"\x00\x00\xc0\xff", "holds NaN or infinity"),
        (_INNER, "F32", b"\xc0\x7f\x00\x00", ""),
        (_INNER, "BF16", b"\x00\x00", ""),
        (_INNER, "F8_E4M3", b"\x7f", ""),
        (_TABLE, "BF16", b"\xc0\x7f", f"`{_TABLE}` in `model.safetensors`"),
        (_HEAD, "F32", b"\x00\x00\x80\x7f", f"`{_HEAD}` in `model.safetensors`"),
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
    ("names", "rows", "told"),
    [
        ((_TABLE,), range(20, 30), _TABLE),  # tied: the row gives its token a chance too
        ((_TABLE, _HEAD), range(20, 30), ""),  # a token that no text may have
        ((_TABLE, _HEAD), range(_ROWS), _TABLE),
        ((_HEAD, _TABLE), range(20, 30), _HEAD),
        (("transformer.wte.weight", _HEAD), range(20, 30), ""),
        (("gpt_neox.embed_out.weight", _TABLE), range(20, 30), "gpt_neox.embed_out.weight"),
    ],
)
def test_rows_of_tables_that_are_no_numbers(
    tmp_path: Path, names: tuple[str, ...], rows: range, told: str
) -> None:
    """A row of the head or of a tied embedding makes every loss NaN, one of another table some."""
    path = tmp_path / "model.safetensors"
    write_safetensors(path, dict.fromkeys(names, ("BF16", [_ROWS, 8])))
    whole = bytearray(path.read_bytes())
    start = len(whole) - len(names) * _ROWS * len(_NAN)  # of the first one's data
    for row in rows:
        place = start + row * len(_NAN)
        whole[place : place + len(_NAN)] = _NAN
    path.write_bytes(whole)
    found = read_weights(tmp_path).infinite
    assert (found.tensor if found else "") == told


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
