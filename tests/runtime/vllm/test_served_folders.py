"""Folders for vLLM: sound ones pass, and one wrong scale fails them.

One small Llama stands for a trained model: its head is loud, so that it is sure of its words.
"""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.compare import reference, token_comparison
from ftc.runtime.run import Run

torch = pytest.importorskip("torch")
pytest.importorskip("compressed_tensors")
safetensors = pytest.importorskip("safetensors.torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
from ftc.runtime.vllm import compressing, served_folders  # noqa: E402 - they need torch

pytestmark = pytest.mark.prove

TYPES = ("FP8", "FP8_DYNAMIC", "W4A16", "NVFP4A16", "NVFP4")
ROUND_INPUTS = {"FP8", "FP8_DYNAMIC", "NVFP4"}
WORDS = 256
SIDES = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
Damage = Callable[[dict[str, Any]], None]


def make_rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Return rows of random tokens, the second half of which is learned."""
    draw = random.Random(seed)  # noqa: S311 - the same rows every time
    rows = [[draw.randrange(3, WORDS) for _ in range(48)] for _ in range(count)]
    return [{"input_ids": ids, "labels": [-100] * 24 + ids[24:]} for ids in rows]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as prepare.py does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_model(folder: Path) -> None:
    """Write a merged model in two files, with its tokenizer and its chat template."""
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        eos_token_id=2,
        bos_token_id=1,
    )
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    model.lm_head.weight.data.mul_(8)
    model.save_pretrained(folder, max_shard_size="400KB")
    vocabulary = {f"w{number}": number for number in range(WORDS)}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w2")
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> served_folders.Job:
    """Return the job of a bundle that has come to its merged model."""
    bundle = tmp_path_factory.mktemp("bundle")
    (bundle / "runtime" / "compare").mkdir(parents=True)
    (bundle / "runtime" / "compare" / "reference.py").write_text("", encoding="utf-8")
    (bundle / "export.py").write_text("", encoding="utf-8")
    write_model(bundle / "run" / "merged")
    write_rows(bundle / "run" / "data" / "train.jsonl", make_rows(24, 0))
    write_rows(bundle / "run" / "data" / "test.jsonl", make_rows(24, 1))
    return served_folders.Job(
        run=Run(bundle, stage="vllm", script="export.py"),
        name="tiny",
        types=TYPES,
        predicted_bytes=dict.fromkeys(TYPES, 10**6),
        bounds=dict.fromkeys(
            ("max_divergence", "min_agreement", "max_perplexity_ratio"), "measured"
        ),
        calibration_rows=bundle / "run" / "data" / "train.jsonl",
        calibration_tokens=512,
        fidelity=reference.Job(
            rows="test", tokens=512, answer_tokens=8, attention="sdpa", on_gpu=False
        ),
    )


@pytest.fixture(scope="module")
def entries(job: served_folders.Job) -> Mapping[str, dict[str, Any]]:
    """Write all folders, and return their entries in quality.json by type."""
    served_folders.write_folders(job, job.run.identify(job.merged))
    quality = json.loads((job.out / "quality.json").read_text(encoding="utf-8"))
    return {entry["type"]: entry for entry in quality["files"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The job, its entries in quality.json, and what the training rows say of each matrix."""

    job: served_folders.Job
    entries: Mapping[str, dict[str, Any]]
    extents: compressing.Extents


@pytest.fixture(scope="module")
def written(job: served_folders.Job, entries: Mapping[str, dict[str, Any]]) -> Written:
    """Return all folders as they were written."""
    return Written(job=job, entries=entries, extents=served_folders.calibrate(job).extents)


def test_every_type_is_sound(entries: Mapping[str, dict[str, Any]]) -> None:
    """The divergence of each is near the expected one, and far below its bound."""
    assert tuple(entries) == TYPES
    for kind, entry in entries.items():
        assert entry["fault"] is None, kind
        assert 0.4 < entry["divergence"] / entry["expected_divergence"] < 2, kind
        assert entry["divergence"] < 0.6 * entry["bounds"]["max_divergence"], kind
        assert entry["rounding"]["error"] == entry["rounding"]["expected"]
        assert (entry["input_divergence"] is not None) == (kind in ROUND_INPUTS)
    assert entries["FP8"]["divergence"] < entries["W4A16"]["divergence"]
    assert entries["NVFP4A16"]["divergence"] < entries["NVFP4"]["divergence"]


@pytest.mark.parametrize("kind", TYPES)
def test_a_folder_is_what_an_engine_reads(
    job: served_folders.Job, entries: Mapping[str, dict[str, Any]], kind: str
) -> None:
    """Config, tokenizer and template are there; head, embedding and norms keep 16 bits."""
    folder = job.out / entries[kind]["file"]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    said = config["quantization_config"]
    index = json.loads((folder / compressing.INDEX).read_text(encoding="utf-8"))["weight_map"]
    state = read_state(folder)

    assert (said["quant_method"], said["quantization_status"]) == (
        "compressed-tensors",
        "compressed",
    )
    assert said["ignore"] == ["lm_head"]
    assert said["config_groups"]["group_0"]["targets"] == ["Linear"]
    assert (folder / "chat_template.jinja").is_file()
    assert transformers.AutoTokenizer.from_pretrained(folder).chat_template
    assert index.keys() == state.keys()
    assert len(set(index.values())) > 1
    for name, tensor in state.items():
        if not SIDES & set(name.split(".")):
            assert tensor.dtype == torch.bfloat16, name


def test_joined_matrices_share_a_scale(
    job: served_folders.Job, entries: Mapping[str, dict[str, Any]]
) -> None:
    """Query, key and value have one scale, as an engine that joins them keeps one."""
    for kind, scale in (("FP8", "weight_scale"), ("NVFP4", "weight_global_scale")):
        state = read_state(job.out / entries[kind]["file"])
        for layer in range(2):
            names = (f"model.layers.{layer}.self_attn.{end}_proj.{scale}" for end in "qkv")
            first, *others = (state[name] for name in names)
            assert all(torch.equal(first, other) for other in others)


@pytest.mark.filterwarnings("ignore:You passed `quantization_config`")
def test_dequantizing_would_hide_the_activations(
    job: served_folders.Job, entries: Mapping[str, dict[str, Any]]
) -> None:
    """What is measured includes rounded activations, which `dequantize=True` leaves out."""
    for kind in sorted(ROUND_INPUTS):
        folder = job.out / entries[kind]["file"]
        config = transformers.CompressedTensorsConfig(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, quantization_config=config
        )
        found = compare(job, model.eval())
        assert found["divergence"] < 0.75 * entries[kind]["divergence"], kind


def scale_by(part: str, factor: float) -> Damage:
    """Return what changes one scale of one matrix."""

    def damage(state: dict[str, Any]) -> None:
        name = f"model.layers.1.mlp.down_proj.{part}"
        tensor = state[name].float()
        tensor.flatten()[:1] *= factor
        state[name] = tensor.to(state[name].dtype)

    return damage


def drop_scale(state: dict[str, Any]) -> None:
    """Leave out the scale of one matrix, which transformers would make up."""
    del state["model.layers.1.mlp.down_proj.weight_scale"]


@pytest.mark.parametrize(
    ("kind", "damage", "words"),
    [
        ("FP8", scale_by("weight_scale", 1.5), "relative error"),
        ("FP8", scale_by("input_scale", 1.5), "scale of the inputs"),
        ("FP8", drop_scale, "relative error"),
        ("FP8_DYNAMIC", scale_by("weight_scale", 100), "relative error"),
        ("W4A16", scale_by("weight_scale", 100), "relative error"),
        ("NVFP4A16", scale_by("weight_global_scale", 0.5), "relative error"),
        ("NVFP4", scale_by("input_global_scale", 0.5), "scale of the inputs"),
    ],
)
def test_one_wrong_scale_fails(
    written: Written, tmp_path: Path, kind: str, damage: Damage, words: str
) -> None:
    """The fault names the matrix."""
    job, extents = written.job, written.extents
    folder = spoil(job.out / written.entries[kind]["file"], tmp_path / "spoiled", damage)
    found = compressing.measure(job.merged, folder, kind, extents)
    fault = str(compressing.find_fault(found))
    assert words in fault
    assert "model.layers.1.mlp.down_proj.weight" in fault


@pytest.mark.parametrize(
    ("kind", "part", "factor"),
    [
        ("FP8", "weight_scale", 8.0),
        ("FP8", "input_scale", 1 / 64),
        ("W4A16", "weight_scale", 64.0),
    ],
)
def test_the_answers_show_a_wrong_scale_too(
    written: Written, tmp_path: Path, kind: str, part: str, factor: float
) -> None:
    """A scale that is far off moves the predictions beyond the measured bounds.

    Of one matrix it often does not, which is why the scales themselves are compared as well.
    """
    job, entry = written.job, written.entries[kind]
    folder = spoil(job.out / entry["file"], tmp_path / "spoiled", scale_by(part, factor))
    found = compare(job, served_folders.load(folder, job.fidelity))
    assert token_comparison.find_fault(found | {"answers": True}, entry["bounds"])


def test_a_failed_folder_is_named_so(
    job: served_folders.Job, tmp_path: Path, entries: Mapping[str, dict[str, Any]]
) -> None:
    """A bound that no file meets ends the stage, and the folder cannot be taken for a sound one."""
    assert entries
    bundle = tmp_path / "bundle"
    shutil.copytree(job.run.bundle, bundle)
    strict = replace(
        job,
        run=Run(bundle, stage="vllm", script="export.py"),
        types=("W4A16",),
        bounds={**job.bounds, "max_divergence": 1e-9},
    )
    with pytest.raises(SystemExit, match=r"W4A16 differs too much.*max_divergence is 1e-09"):
        served_folders.write_folders(strict, strict.run.identify(strict.merged))
    assert [path.name for path in sorted(strict.out.iterdir())] == [
        "quality.json",
        "tiny-W4A16.failed",
    ]


def compare(job: served_folders.Job, model: Any) -> dict[str, Any]:
    """Return how far a model is from the trained one."""
    compute = reference.make_compute(model, job.fidelity)
    return token_comparison.compare(job.run, lambda row: [compute(row).numpy()])


def read_state(folder: Path) -> dict[str, Any]:
    """Return all tensors of a folder."""
    shards = compressing.list_shards(folder)
    return {name: tensor for path in shards for name, tensor in safetensors.load_file(path).items()}


def spoil(folder: Path, copy: Path, damage: Damage) -> Path:
    """Return a copy of a folder whose tensors are damaged."""
    shutil.copytree(folder, copy)
    for path in compressing.list_shards(copy):
        state = safetensors.load_file(path)
        if any("layers.1.mlp.down_proj" in name for name in state):
            damage(state)
            safetensors.save_file(state, path, metadata={"format": "pt"})
    return copy
