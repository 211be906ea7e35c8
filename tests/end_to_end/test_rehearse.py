"""`ftc rehearse` on an 8B Llama of which only the config and a tokenizer are at hand.

The model has no weights and the spec is for a GPU that is not here: the rehearsal makes the
miniature, runs the bundle, and is held to its word that what is broken stops it.
"""

import json
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.rehearse.rehearsal import MOST_DIVERGENCE, MOST_ERROR
from tests.end_to_end.process import QUICKSTART, ROOT, Ended, read_json, run, write_json

pytestmark = pytest.mark.prove

LIMIT_SECONDS: Final = 180
COMPARE: Final = ROOT / "compiler" / "rehearse" / "scripts" / "compare_gguf.py"
LLAMA: Final[Mapping[str, Any]] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
    },
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 2048,
    "pad_token_id": 3,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
STAGES: Final = (
    *("compile", "miniature", "prepare", "train", "resume", "merge", "evaluate"),
    *("convert", "tokens", "quantize", "report", "compare", "answer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """A rehearsal that was kept: what the command said, its seconds, its files."""

    ended: Ended
    seconds: float
    data: Mapping[str, Any]
    folder: Path


def make_spec(folder: Path, tokenizer: Path, **sections: object) -> None:
    """Write the spec, the real rows, and a model's folder without its weights."""
    (folder / "model").mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer.model", "tokenizer_config.json"):
        shutil.copy(tokenizer / name, folder / "model" / name)
    shutil.copy(tokenizer / "chat_template.jinja", folder / "model")
    write_json(folder / "model" / "config.json", LLAMA)
    shutil.copy(QUICKSTART / "tickets.csv", folder)
    spec = {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "1x A100-80GB",
        "method": "lora",
        "export": ["Q4_K_M"],
        **sections,
    }
    write_json(folder / "spec.json", spec)


def rehearse(folder: Path, sdist: Path, *arguments: str) -> Ended:
    """Rehearse the spec of a folder, by the command line."""
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist), "TMPDIR": str(folder)}
    return run("ftc", "rehearse", "spec.json", *arguments, cwd=folder, extra=extra)


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory, model: Path, sdist: Path) -> Rehearsed:
    """Rehearse a sound spec once, and keep its files."""
    folder = tmp_path_factory.mktemp("rehearsed")
    make_spec(folder, model)
    began = time.monotonic()
    ended = rehearse(folder, sdist, "--keep", "kept", "--format", "json")
    seconds = time.monotonic() - began
    assert ended.code == 0, ended.said
    return Rehearsed(
        ended=ended, seconds=seconds, data=json.loads(ended.out), folder=folder / "kept"
    )


def test_every_stage_ends_well_in_time(rehearsed: Rehearsed) -> None:
    """Every stage in its order, in less than three minutes on two cores."""
    stages = rehearsed.data["stages"]
    assert tuple(stage["name"] for stage in stages) == STAGES
    assert {stage["status"] for stage in stages} == {"ok"}
    assert rehearsed.data["passed"] is True
    assert rehearsed.seconds < LIMIT_SECONDS
    told = [line.split()[0] for line in rehearsed.ended.err.splitlines()]
    assert told == list(STAGES), "each stage is told when it ends"


def test_it_was_the_bundle_that_ran(rehearsed: Rehearsed) -> None:
    """The scripts of a bundle, killed at a checkpoint, gone on, with the model's own switches."""
    bundle, log = rehearsed.folder / "bundle", rehearsed.folder / "rehearsal.log"
    assert (bundle / "run" / "report.md").is_file()
    assert "going on from run/train/checkpoints/checkpoint-2" in log.read_text(encoding="utf-8")
    config = read_json(bundle / "run" / "merged" / "config.json")
    assert config["num_attention_heads"] // config["num_key_value_heads"] == 4
    assert "llama3" in json.dumps(config), "the rotation is scaled as in the model"
    assert config["hidden_size"] == 256
    assert not (rehearsed.folder.parent / "model" / "model.safetensors").exists()
    for path in bundle.glob("*.py"):
        assert "rehears" not in path.read_text(encoding="utf-8"), path.name


def test_what_a_cpu_cannot_show_is_said(rehearsed: Rehearsed) -> None:
    """bf16 is named, and what one GPU has no use for is not."""
    named = " ".join(one["what"] for one in rehearsed.data["not_rehearsed"])
    assert "bf16" in named
    assert "NCCL" not in named


def compare(rehearsed: Rehearsed, gguf: Path) -> Mapping[str, float]:
    """Compare a GGUF with the merged model of the rehearsal."""
    made = rehearsed.folder / "bundle" / "run"
    rows = made / "data" / "test.jsonl"
    done = run(sys.executable, COMPARE, made / "merged", gguf, rows, cwd=rehearsed.folder)
    assert done.code == 0, done.said
    found: Mapping[str, float] = json.loads(done.out.splitlines()[-1])
    return found


def test_a_damaged_gguf_is_caught(rehearsed: Rehearsed, tmp_path: Path) -> None:
    """One small matrix of zeros is far beyond both bounds, and the sound file far below."""
    gguf = pytest.importorskip("gguf")
    sound = rehearsed.folder / "bundle" / "run" / "quantize" / "triage-F16.gguf"
    found = compare(rehearsed, sound)
    assert found["divergence"] < MOST_DIVERGENCE / 10
    assert found["error"] < MOST_ERROR / 10
    damaged = Path(shutil.copy(sound, tmp_path / "damaged.gguf"))
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(damaged, "r+").tensors}
    tensors["blk.1.attn_k.weight"].data[:] = 0
    found = compare(rehearsed, damaged)
    assert found["divergence"] > MOST_DIVERGENCE
    assert found["error"] > MOST_ERROR


def test_a_tokenizer_that_does_not_fit_stops_it(tmp_path: Path, model: Path, sdist: Path) -> None:
    """A `tokenizer.model` of equal scores, which every converter takes, reads other tokens."""
    pieces = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    make_spec(tmp_path, model)
    path = tmp_path / "model" / "tokenizer.model"
    proto = pieces.ModelProto()
    proto.ParseFromString(path.read_bytes())
    for piece in proto.pieces[600:]:
        piece.score = 0.0
    path.write_bytes(proto.SerializeToString())
    ended = rehearse(tmp_path, sdist)
    assert ended.code == 1, ended.said
    assert "stopped at tokens: the GGUF would read other tokens" in ended.out
    assert "quantize.py: llama.cpp reads " in ended.out
    (left,) = tmp_path.glob("ftc-rehearse-*")
    assert [file.name for file in left.iterdir()] == ["rehearsal.log"], "only the log stays"
    assert str(left / "rehearsal.log") in ended.out
    assert "ok" not in ended.out.split("stopped at")[1].split()


def test_a_template_that_rewrites_turns_stops_it(tmp_path: Path, model: Path, sdist: Path) -> None:
    """What was asked is not the start of what is learned: nothing is trained on that."""
    own = {"id": "./model", "chat_template": "own.jinja"}
    make_spec(tmp_path, model, model=own)
    sound = (tmp_path / "model" / "chat_template.jinja").read_text(encoding="utf-8")
    role = "{{ '<|' + message['role'] + '|> ' }}"
    assert role in sound
    rewriting = sound.replace(role, role + "{% if not loop.last %}[earlier] {% endif %}")
    (tmp_path / "own.jinja").write_text(rewriting, encoding="utf-8")
    ended = rehearse(tmp_path, sdist)
    assert ended.code == 1, ended.said
    assert "stopped at prepare: the real run would stop here too" in ended.out
    assert "prepare.py: the chat template rewrites earlier turns" in ended.out
