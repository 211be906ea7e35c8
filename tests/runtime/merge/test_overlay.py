"""Trained tensors go into the base's files by their names, and into no other place."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
from ftc.runtime.merge import overlay  # noqa: E402 - it needs torch
from ftc.runtime.merge.safetensors_files import read_weights  # noqa: E402

BODY = {"embed_tokens.weight": (4, 2), "layers.0.up.weight": (3, 2), "norm.weight": (2,)}
CONFIG = {"vocab_size": 4, "eos_token_id": 1}
Tensors = Mapping[str, Any]


def make(begins: str, fill: float = 0, **more: Any) -> dict[str, Any]:
    """Return the tensors of a text model, whose names begin so."""
    body = {f"{begins}{name}": torch.full(shape, float(fill)) for name, shape in BODY.items()}
    return body | {name.replace("__", "."): tensor for name, tensor in more.items()}


def write(folder: Path, tensors: Tensors, **settings: Any) -> Path:
    """Write a folder with these tensors."""
    folder.mkdir()
    safetensors.save_file(dict(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    for name in ("config.json", "generation_config.json"):
        (folder / name).write_text(json.dumps({**CONFIG, **settings}), encoding="utf-8")
    return folder


def change(**more: Any) -> overlay.Change:
    """Return what is known of a trained model."""
    known: dict[str, Any] = {"before": CONFIG, "after": CONFIG, "dtype": "float32", "rows": 4}
    known |= {"embedding": "model.embed_tokens.weight", "head": "lm_head.weight", "is_tied": False}
    return overlay.Change(**{**known, **more})


def run(tmp_path: Path, saved: Tensors, base: Tensors, **more: Any) -> tuple[Path, tuple[int, int]]:
    """Return the folder that is written, and the counts."""
    settings = more.pop("settings", {})
    into = tmp_path / "merged"
    into.mkdir()
    folders = write(tmp_path / "saved", saved), write(tmp_path / "base", base, **settings)
    return into, overlay.overlay(*folders, into, change(**more))


@pytest.mark.parametrize(
    ("saved", "base", "head"),
    [
        ("model.", "model.", "lm_head.weight"),
        ("model.", "model.language_model.", "lm_head.weight"),
        ("model.", "language_model.model.", "language_model.lm_head.weight"),
        ("transformer.", "", "lm_head.weight"),
        ("model.language_model.", "language_model.model.", "language_model.lm_head.weight"),
    ],
)
def test_names_begin_otherwise(tmp_path: Path, saved: str, base: str, head: str) -> None:
    """A tower and a further head that have the same names keep their bytes."""
    rest = {**make("mtp.", 5), **make("tower.", 5), "tower.layers.0.up.bias": torch.ones(9)}
    old = {**make(base), head: torch.zeros(4, 2), **rest}

    into, counts = run(tmp_path, make(saved, 1, lm_head__weight=torch.ones(4, 2)), old)

    found = safetensors.load_file(into / "model.safetensors")
    assert counts == (4, len(old))
    assert {name for name in found if not torch.equal(found[name], old[name])} == {
        head,
        *make(base),
    }
    assert (into / "config.json").read_bytes() == (tmp_path / "base/config.json").read_bytes()


def test_names_that_loading_makes_equal(tmp_path: Path) -> None:
    """Transformers saves a dense layer under the names of experts, which only other layers have."""
    experts = {"model__layers__1__sparse__gate__weight": torch.ones(3, 2)}
    base = {"model__layers__0__mlp__up__weight": torch.zeros(3, 2)}
    saved = {"model__layers__0__sparse__up__weight": torch.ones(3, 2)}

    into, counts = run(
        tmp_path,
        make("model.", **saved, **experts),
        make("model.", **base, **experts),
        rename=lambda name: name.replace(".sparse.", ".mlp."),
    )

    found = safetensors.load_file(into / "model.safetensors")
    assert counts == (1, len(found))
    assert torch.equal(found["model.layers.0.mlp.up.weight"], torch.ones(3, 2))


@pytest.mark.parametrize(
    "wrong", [{"model__layers__0__gate__weight": (3, 2)}, {"model__norm__weight": (3,)}]
)
def test_a_tensor_without_a_place(tmp_path: Path, wrong: Mapping[str, Any]) -> None:
    """Neither another tensor of its shape nor its own with another shape takes it."""
    more = {name: torch.ones(shape) for name, shape in wrong.items()}
    name = next(iter(wrong)).replace("__", ".")
    with pytest.raises(overlay.NoPlaceError, match=f"^{name}$"):
        run(tmp_path, make("model.") | make("model.", **more), make("model."))


def test_more_rows(tmp_path: Path) -> None:
    """The embedding and its second name get them, and config.json says it where the words are."""
    saved = {**make("model."), "model.embed_tokens.weight": torch.ones(6, 2)}
    base = make("model.language_model.", lm_head__weight=torch.zeros(4, 2))
    text = {"before": {"text_config": CONFIG}, "rows": 6, "is_tied": True}
    now = {"text_config": {**CONFIG, "vocab_size": 6}}

    into, _ = run(tmp_path, saved, base, **text, after=now, settings={"text_config": CONFIG})

    found = safetensors.load_file(into / "model.safetensors")
    assert len(found["lm_head.weight"]) == len(found["model.language_model.embed_tokens.weight"])
    assert found["lm_head.weight"].sum() == 12
    config = json.loads((into / "config.json").read_text(encoding="utf-8"))
    assert config == {**CONFIG, "text_config": {**CONFIG, "vocab_size": 6}}


def test_types(tmp_path: Path) -> None:
    """The main type becomes the result's; a tensor of another type keeps it, and its rounding."""
    fine = {"model.gate.bias": torch.tensor([1 + 2**-20]), "model.count": torch.tensor([3])}
    base = {name: tensor.half() for name, tensor in make("model.").items()} | fine
    saved = {name: tensor.bfloat16() for name, tensor in {**make("model.", 1), **fine}.items()}

    into, counts = run(tmp_path, saved, base, dtype="bfloat16", settings={"torch_dtype": "float16"})

    found = safetensors.load_file(into / "model.safetensors")
    assert counts == (3, 5)
    assert {name: found[name].item() for name in fine} == {
        name: tensor.item() for name, tensor in fine.items()
    }
    assert {found[name].dtype for name in make("model.")} == {torch.bfloat16}
    config = json.loads((into / "config.json").read_text(encoding="utf-8"))
    assert config == {**CONFIG, "torch_dtype": "bfloat16"}


def test_a_file_without_a_change_is_the_same_file(tmp_path: Path) -> None:
    """Byte for byte, its header included."""
    into, counts = run(tmp_path, make("model."), make("model.", mtp=torch.ones(2)))

    assert counts == (0, 4)
    names = [path.name for path in into.iterdir()]
    assert len(names) == 3
    for name in names:
        assert (into / name).read_bytes() == (tmp_path / "base" / name).read_bytes()
    assert read_weights(into).main_dtype == "F32"
