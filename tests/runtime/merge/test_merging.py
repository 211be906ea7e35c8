"""The merged folder: complete, in 16 bits, and refused if it is not the trained model."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.merge import merged_files
from ftc.runtime.run import Run
from tests.tiny_tokenizers import sentencepiece_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from ftc.runtime.language_models import find_class  # noqa: E402 - they need torch
from ftc.runtime.merge import (  # noqa: E402
    adapter_merging,
    language_model,
    merging,
    plain_model,
    quantized_base,
    scored_rows,
    seen_rows,
    trained_config,
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
    return make_job(tmp_path)


def make_job(tmp_path: Path, width: int = 16) -> merging.Job:
    """Return the merge job of a model of the given width."""
    run = Run(tmp_path / "bundle", stage="merge", script="export.py")
    torch.manual_seed(0)
    sizes = {"hidden_size": width, "intermediate_size": width, "num_hidden_layers": 1}
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


@pytest.mark.parametrize("own", [False, True])
def test_named_chat_templates_remain(job: merging.Job, tmp_path: Path, *, own: bool) -> None:
    """Conversations with tools are rendered by one; a template of the spec has no others."""
    (tmp_path / "own.jinja").write_text("own", encoding="utf-8")
    named = Path(job.base) / "additional_chat_templates/tool_use.jinja"
    named.parent.mkdir()
    named.write_text("tools", encoding="utf-8")

    whole_merging.cast_weights(replace(job, chat_template=tmp_path / "own.jinja" if own else None))

    merged = job.run.folder / "merged"
    assert (merged / "additional_chat_templates/tool_use.jinja").is_file() is not own


def to_nan(model: Any) -> None:
    """Make a weight no number."""
    model.model.norm.weight.data[0] = float("nan")


def to_large(model: Any) -> None:
    """Make finite weights whose products are too large for 16 bits."""
    model.half()
    model.model.layers[0].mlp.up_proj.weight.data.mul_(100_000)
    model.model.layers[0].mlp.gate_proj.weight.data.mul_(100_000)


def to_other(model: Any) -> None:
    """Make another model of it."""
    model.lm_head.weight.data.mul_(50).flip(0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (to_nan, "every weight is a finite number"),
        (to_large, "numbers above 65504, where float16 ends: train again with"),
        (to_other, "agrees with the trained one"),
    ],
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
    merged_files.name_class(tmp_path, name="MPTForCausalLM")

    assert read_json(tmp_path / "config.json") == {
        "architectures": ["MPTForCausalLM"],
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


# -----------------------------------------------------------------------------
# Adapters


@pytest.fixture
def _own_peft(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo afterwards what a merge replaces in PEFT, in a process that does nothing else."""
    replaced = pytest.importorskip("peft.utils.transformers_weight_conversion")
    name = "convert_peft_adapter_state_dict_for_transformers"
    monkeypatch.setattr(replaced, name, getattr(replaced, name))


def train_adapter(job: merging.Job, *, changed: bool = True) -> None:
    """Save an adapter of the base in the place of the trained model."""
    peft = pytest.importorskip("peft")
    shutil.rmtree(job.trained)
    base = Path(job.base)
    config = read_json(base / "config.json")
    del config["quantization_config"]
    write_json(base / "config.json", config)
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
    for name, weight in adapted.named_parameters():
        if changed and "lora_B" in name:
            weight.data.normal_()
    adapted.save_pretrained(job.trained)


@pytest.mark.usefixtures("_own_peft")
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_is_merged_into_its_base(job: merging.Job) -> None:
    """The result computes what the adapter does, and only matrices that it changes are new."""
    safetensors = pytest.importorskip("safetensors.torch")
    train_adapter(job)
    adapter_merging.merge_adapter(job)

    merged, base = job.run.folder / "merged", Path(job.base)
    before = safetensors.load_file(base / "model.safetensors")
    after = safetensors.load_file(merged / "model.safetensors")
    changed = {n for n in after if not torch.equal(after[n].float(), before[n].half().float())}
    assert changed == {f"model.layers.0.self_attn.{end}_proj.weight" for end in "qv"}
    assert not (merged / "adapter_config.json").exists()


@pytest.mark.usefixtures("_own_peft")
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_without_an_effect_is_refused(job: merging.Job) -> None:
    """As PEFT begins: its second matrix is zero."""
    train_adapter(job, changed=False)

    with pytest.raises(SystemExit, match="merging changed the weights of the base"):
        adapter_merging.merge_adapter(job)


@pytest.mark.usefixtures("_own_peft")
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_of_a_quantized_base_is_compared_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is merged into the original weights; how far these are from the rounded ones is told."""
    pytest.importorskip("bitsandbytes")
    job = make_job(tmp_path, width=128)  # blocks of 4 bits are not smaller
    train_adapter(job)
    rounding = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    rounded = partial(quantized_base.compute, quantization=rounding)
    adapter_merging.merge_adapter(job, compute_rounded=rounded)

    said = capsys.readouterr().out
    assert "and from the adapter on the quantized base by " in said
    apart = float(said.partition("on the quantized base by ")[2].split()[0])
    assert 0 < apart < 1


def test_a_row_with_images_is_read_whole() -> None:
    """Its tokens belong to the pixels; everything else is as for a language model."""
    row = {"input_ids": list(range(merging.ROW_TOKENS + 9)), "images": "[]"}
    read: list[Any] = []

    def read_for(model: Any, rows: Any, ids: Any) -> Any:
        read.append((model, rows, ids))
        return {"pixel_values": 1}

    kind = seen_rows.see_with(SimpleNamespace(read_for=read_for))

    assert kind.read("model", row) == (row["input_ids"], {"pixel_values": 1})
    assert read == [("model", [row], [row["input_ids"]])]
    assert kind.find_class("any") is transformers.AutoModelForImageTextToText
    assert (kind.save, kind.unit) == (language_model.save, "nats per token")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("llama", "AutoModelForCausalLM"),
        ("llava", "AutoModelForImageTextToText"),
        ("gemma3", "AutoModelForCausalLM"),
    ],
)
def test_a_wrapper_is_loaded_whole(tmp_path: Path, kind: str, name: str) -> None:
    """By the class that keeps its tower, where the one of language models would lose it."""
    transformers.AutoConfig.for_model(kind).save_pretrained(tmp_path)

    assert find_class(tmp_path).__name__ == name


@pytest.mark.parametrize(
    ("base", "is_cast", "written"),
    [
        ({"vocab_size": 9, "x": 1}, False, {"vocab_size": 11, "x": 1}),
        ({"vocab_size": 9}, True, {"vocab_size": 11, "dtype": "float16"}),
        ({"torch_dtype": "float32"}, True, {"torch_dtype": "float16", "vocab_size": 11}),
        (
            {"text_config": {"dtype": "float32"}},
            True,
            {
                "text_config": {"dtype": "float16", "eos_token_id": 3},
                "vocab_size": 11,
                "dtype": "float16",
            },
        ),
    ],
)
def test_a_config_is_the_base_s_apart_from_what_training_changed(
    tmp_path: Path, base: dict[str, Any], written: dict[str, Any], *, is_cast: bool
) -> None:
    """Sizes, markers and the type, at the place where the base has them."""
    write_json(tmp_path / "base" / "config.json", base)
    (tmp_path / "new").mkdir()
    before = {"vocab_size": 9, "text_config": {"eos_token_id": 2}}
    after = {"vocab_size": 11, "text_config": {"eos_token_id": 3}}
    trained_config.write_config(
        tmp_path / "base", tmp_path / "new", before, after, dtype="float16", is_cast=is_cast
    )

    assert read_json(tmp_path / "new" / "config.json") == written


# -----------------------------------------------------------------------------
# New tokens


def test_new_tokens_are_in_every_file(tmp_path: Path) -> None:
    """Each program reads another one; tokens that the base had added stay."""
    for listed in (True, False):
        folder = tmp_path / str(listed)
        old = ("<old>",)
        base = sentencepiece_tokenizer(folder / "base", added=old, listed=listed)
        write_json(base / "added_tokens.json", {"<old>": 300})
        tokenizer = transformers.AutoTokenizer.from_pretrained(base)
        tokenizer.add_tokens(["<à>", "<b>"])
        tokenizer.save_pretrained(folder / "trained")
        ids = tokenizer.convert_tokens_to_ids(["<à>", "<b>"])
        merged_files.carry_tokens(base, trained=folder / "trained", tokens=["<à>", "<b>"])

        read = transformers.AutoTokenizer.from_pretrained(base)
        assert read.convert_tokens_to_ids(["<à>", "<b>"]) == ids
        assert read("<b>the<à>").input_ids == tokenizer("<b>the<à>").input_ids
        assert read_json(base / "added_tokens.json") == {"<old>": 300, "<à>": ids[0], "<b>": ids[1]}
        settings = read_json(base / "tokenizer_config.json")
        assert ("added_tokens_decoder" in settings) == listed
        if listed:
            entries = settings["added_tokens_decoder"]
            assert entries[str(ids[0])]["content"] == "<à>"
            assert entries[str(ids[1])]["special"] is False
            assert {entry["content"] for entry in entries.values()} >= {"<old>", "<s>"}
