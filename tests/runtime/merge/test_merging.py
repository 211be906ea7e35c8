"""The merged folder: complete, in 16 bits, and refused if it is not the trained model."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.merge import merged_files
from ftc.runtime.run import Run
from tests.tiny_tokenizers import sentencepiece_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from ftc.runtime.merge import (  # noqa: E402 - they need torch
    language_model,
    merging,
    plain_model,
    scored_rows,
    whole_merging,
)

BASE = {"n_ctx": 64, "torch_dtype": "float32", "_name_or_path": "x", "quantization_config": {}}
Change = Callable[[Any], None]


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data), encoding="utf-8")


def read_json(path: Path) -> Any:
    """Return what a JSON file says."""
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def job(tmp_path: Path) -> merging.Job:
    """Return the merge of a tiny model that was trained as a whole."""
    run = Run(tmp_path / "bundle", stage="merge", script="export.py")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 32}
    model: Any = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads))
    model.save_pretrained(run.folder / "train/model")
    row = json.dumps({"input_ids": [1, 5, 9, 3]})
    (run.folder / "data").mkdir()
    (run.folder / "data/train.jsonl").write_text(f"{row}\n{row}\n", encoding="utf-8")
    base = tmp_path / "base"
    write_json(base / "config.json", {**read_json(run.folder / "train/model/config.json"), **BASE})
    write_json(base / "tokenizer_config.json", {"eos_token": "</s>", "chat_template": "another"})
    for name in ("chat_template.jinja", "tokenizer.model", "README.md"):
        (base / name).write_text(name, encoding="utf-8")
    shutil.copyfile(run.folder / "train/model/model.safetensors", base / "model.safetensors")
    return merging.Job(run=run, base=base, dtype="float16", kind=language_model.LANGUAGE_MODEL)


def test_the_base_s_layout_is_kept(job: merging.Job) -> None:
    """The base's files, apart from the tensors that training changed; the folder aside is gone."""
    safetensors = pytest.importorskip("safetensors.torch")
    base, merged = Path(job.base), job.run.folder / "merged"
    model = job.load(job.trained, dtype=torch.float16)
    config = read_json(base / "config.json")
    write_json(base / "config.json", {**config, "quantization_config": None, "dtype": "float16"})
    model.save_pretrained(base, max_shard_size=4000)
    tail = {"model.layers.1.mtp.weight": torch.ones(3)}
    safetensors.save_file(tail, base / "tail.safetensors", metadata={"format": "pt"})
    index = read_json(base / "model.safetensors.index.json")
    index["weight_map"]["model.layers.1.mtp.weight"] = "tail.safetensors"
    write_json(base / "model.safetensors.index.json", index)
    model.model.norm.weight.data += 1
    model.save_pretrained(job.trained)

    whole_merging.cast_weights(job)

    files = set(index["weight_map"].values()) | {"config.json"}
    assert len(files) > 3
    changed = {name for name in files if (base / name).read_bytes() != (merged / name).read_bytes()}
    assert changed == {index["weight_map"]["model.norm.weight"]}
    assert read_json(merged / "model.safetensors.index.json") == index
    assert job.load(merged, dtype="auto").model.norm.weight.mean() == 2
    assert not merged.with_name("merged.saved").exists()


def test_a_plain_model_keeps_the_config_of_its_base(
    job: merging.Job, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of its keys, with the type of the result; a tensor that is left out is named."""
    safetensors = pytest.importorskip("safetensors.torch")
    job = replace(job, kind=plain_model.PLAIN_MODEL)
    config = read_json(Path(job.base) / "config.json")
    del config["quantization_config"]
    write_json(Path(job.base) / "config.json", config)
    whole_merging.cast_weights(job)
    assert "warning" not in capsys.readouterr().out

    merged = job.run.folder / "merged"
    assert read_json(merged / "config.json") == {
        **config,
        "dtype": "float16",
        "torch_dtype": "float16",
    }
    assert job.load(merged, dtype="auto").dtype == torch.float16
    weights = Path(job.base) / "model.safetensors"
    tail = {"model.layers.1.mtp.weight": torch.ones(3)}
    safetensors.save_file(safetensors.load_file(weights) | tail, weights)
    whole_merging.cast_weights(job)
    assert "lacks 1 tensors of the base" in (said := capsys.readouterr().out)
    assert "model.layers.1.mtp.weight" in said


def test_a_folder_is_complete(job: merging.Job) -> None:
    """16-bit weights; files and keys of the base that saving leaves out, and no others."""
    safetensors = pytest.importorskip("safetensors.torch")
    base_weights = Path(job.base) / "model.safetensors"
    base_weights.rename(base_weights.with_name("pytorch_model.bin"))
    whole_merging.cast_weights(job)

    merged = job.run.folder / "merged"
    weights = safetensors.load_file(merged / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float16}
    config = read_json(merged / "config.json")
    assert config["n_ctx"] == 64
    assert config.keys().isdisjoint({"torch_dtype", "quantization_config", "_name_or_path"})
    assert (merged / "tokenizer.model").is_file()
    assert not (merged / "README.md").exists()
    assert not merged.with_name("merged.partial").exists()


def test_one_chat_template_remains(job: merging.Job) -> None:
    """llama.cpp's converter would take another one than transformers."""
    whole_merging.cast_weights(job)

    merged = job.run.folder / "merged"
    assert (merged / "chat_template.jinja").read_text() == "chat_template.jinja"
    assert read_json(merged / "tokenizer_config.json") == {"eos_token": "</s>"}


def to_nan(model: Any) -> None:
    """Make a weight no number."""
    model.model.norm.weight.data[0] = float("nan")


def to_other(model: Any) -> None:
    """Make another model of it."""
    model.lm_head.weight.data.mul_(50).flip(0)


@pytest.mark.parametrize(
    ("change", "words"),
    [(to_nan, "every weight is a finite number"), (to_other, "agrees with the trained one")],
)
def test_another_model_is_refused(job: merging.Job, change: Change, words: str) -> None:
    """An earlier result stays in its place."""
    whole_merging.cast_weights(job)
    before = (job.run.folder / "merged/model.safetensors").read_bytes()
    model = job.load(job.trained, dtype="auto")
    trained = job.compute(model)
    change(model)

    with pytest.raises(SystemExit, match=words):
        merging.write_folder(job, model, trained)

    assert (job.run.folder / "merged/model.safetensors").read_bytes() == before


def test_distances() -> None:
    """Nats per row of labels, per token of text, and shares of the size of rewards."""
    p, q = (torch.log_softmax(torch.tensor(x), dim=-1) for x in ([1.0, 0.0], [0.0, 0.0]))
    nats = float((p.exp() * (p - q)).sum())
    for returns, shape in ((scored_rows.LABELS, (2,)), (language_model.LANGUAGE_MODEL, (1, 2))):
        found = returns.measure([p.reshape(shape)] * 2, [q.reshape(shape)] * 2)
        assert found == pytest.approx(nats)
    assert scored_rows.REWARDS.measure([torch.tensor([3.0])], [torch.tensor([2.0])]) == 0.25


def test_what_some_folders_need(tmp_path: Path) -> None:
    """Keys that the converter or a batch needs; the other keys stay."""
    write_json(tmp_path / "config.json", {"rope_parameters": {"partial_rotary_factor": 0.25}})
    write_json(tmp_path / "tokenizer_config.json", {"eos_token": "</s>"})

    merged_files.use_one_key_head(tmp_path)
    merged_files.name_rotary_share(tmp_path)
    merged_files.pad_with_end(tmp_path)
    merged_files.leave_out_bos(tmp_path)

    assert read_json(tmp_path / "config.json") == {
        "rope_parameters": {"partial_rotary_factor": 0.25},
        "num_kv_heads": 1,
        "llm_config": {"rotary_pct": 0.25},
    }
    settings = read_json(tmp_path / "tokenizer_config.json")
    assert settings == {"eos_token": "</s>", "pad_token": "</s>", "add_bos_token": False}


def test_the_converter_reads_that_no_token_begins_a_text(tmp_path: Path) -> None:
    """It finds nothing in such a tokenizer's files before, and llama.cpp would then put one."""
    gguf: Any = pytest.importorskip("gguf")
    folder = sentencepiece_tokenizer(tmp_path)

    before = gguf.SpecialVocab(folder).add_special_token
    merged_files.leave_out_bos(folder)

    assert "bos" not in before
    assert gguf.SpecialVocab(folder).add_special_token["bos"] is False
