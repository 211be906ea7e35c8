"""A merged model as transformers saves it, with the keys of the base that saving leaves out."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ftc.runtime.files import read_json, write_json
from ftc.runtime.merge.saved_anew import save_anew

BASE = {
    "n_ctx": 64,
    "vocab_size": 100,
    "torch_dtype": "float32",
    "transformers_version": "4.0",
    "quantization_config": {},
    "_name_or_path": "x",
}


def test_keys_that_saving_leaves_out_are_carried(tmp_path: Path) -> None:
    """Not those of how the base was stored, and none that saving wrote itself."""
    base, folder = tmp_path / "base", tmp_path / "merged"
    job: Any = None
    write_json(base / "config.json", BASE)
    saved = {"vocab_size": 101, "dtype": "float16"}
    model = SimpleNamespace(save_pretrained=lambda into: write_json(into / "config.json", saved))

    save_anew(job, model, base, folder)

    assert read_json(folder / "config.json") == {**saved, "n_ctx": 64}
