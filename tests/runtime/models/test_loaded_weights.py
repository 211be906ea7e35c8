"""A stage stops if weights of the base model are missing; a newly added head may be missing."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402 - it needs torch

from ftc.runtime.models.loaded_weights import require_weights  # noqa: E402

HEAD = "lm_head.weight"


@pytest.fixture(name="saved")
def _saved(tmp_path: Path) -> Path:
    """Return a folder with a small Llama whose head is not tied to the embeddings."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, intermediate_size=32, pad_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    return tmp_path


def rename(folder: Path, *, prefix: str = "", without: str = "-") -> None:
    """Rewrite the weights with a prefix before each name, or without some of them."""
    path = folder / "model.safetensors"
    tensors = {prefix + k: v for k, v in load_file(path).items() if not k.endswith(without)}
    save_file(tensors, path, metadata={"format": "pt"})


def load(folder: Path, kind: str = "AutoModelForCausalLM") -> tuple[Any, Any]:
    """Return a model and the loading report of transformers."""
    found: tuple[Any, Any] = getattr(transformers, kind).from_pretrained(
        folder, output_loading_info=True
    )
    return found


def test_whole_weights_pass(saved: Path) -> None:
    """Both as saved whole, and as the inner model is saved if the head is tied."""
    require_weights(*load(saved))
    rename(saved, without=HEAD)
    config = saved / "config.json"
    config.write_text(json.dumps(json.loads(config.read_bytes()) | {"tie_word_embeddings": True}))
    require_weights(*load(saved))


def test_other_names_end_the_stage(saved: Path) -> None:
    """The message names a missing tensor and one that the file has."""
    rename(saved, prefix="_orig_mod.")
    with pytest.raises(SystemExit, match=r"no `model\..*names such as `_orig_mod\."):
        require_weights(*load(saved))


def test_an_absent_head_ends_the_stage(saved: Path) -> None:
    """Its logits would be random."""
    rename(saved, without=HEAD)
    with pytest.raises(SystemExit, match=rf"no `{HEAD}`, and 1 such tensors"):
        require_weights(*load(saved))


def test_a_norm_begins_as_ones(saved: Path) -> None:
    """A norm that is missing has the same values as in a new model."""
    rename(saved, without="norm.weight")
    require_weights(*load(saved))


def test_a_head_for_labels_is_new(saved: Path) -> None:
    """With a new head, the layers are still checked."""
    kind = "AutoModelForSequenceClassification"
    require_weights(*load(saved, kind), head=False)
    rename(saved, without="q_proj.weight")
    with pytest.raises(SystemExit, match=r"q_proj\.weight"):
        require_weights(*load(saved, kind), head=False)


def test_other_processes_leave_it_to_the_first(saved: Path, monkeypatch: Any) -> None:
    """Under FSDP the other processes receive the weights from the first and read no file."""
    rename(saved, prefix="module.")
    monkeypatch.setenv("LOCAL_RANK", "1")
    require_weights(*load(saved))
