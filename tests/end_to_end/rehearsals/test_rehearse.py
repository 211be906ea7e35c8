"""`ftc rehearse` on models of which only the published config and a tokenizer are at hand.

They have no weights and their specs are for GPUs that are not here: the rehearsal makes the
miniature, runs the bundle, and is held to its word that what is broken stops it.
"""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.rehearsals import Family, read_families, write_family
from ftc.compiler.rehearse.rehearsal import MOST_DIVERGENCE
from tests.end_to_end.process import Ended, children_seconds, read_json, run, write_json

pytestmark = pytest.mark.prove

LIMIT_SECONDS: Final = 2 * 180  # of two processors
FAMILIES: Final[Mapping[str, Family]] = {family.name: family for family in read_families()}
#: An 8B Llama with its real tokenizer of 128,256 tokens, and one whose tokenizer is a sentencepiece
#: model, with windows of attention, norms of its own and rows that 256 does not divide.
LLAMA: Final = "llama-3.1"
GEMMA: Final = "gemma-3"
STAGES: Final = (
    *("compile", "miniature", "prepare", "train", "resume", "merge", "evaluate"),
    *("convert", "tokens", "quantize", "adapter", "report", "compare", "answer"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """A rehearsal that was kept: what the command said, its processor seconds, its files."""

    ended: Ended
    seconds: float
    data: Mapping[str, Any]
    folder: Path

    @property
    def bundle(self) -> Path:
        """The folder of its bundle."""
        return self.folder / "bundle"


def rehearse(folder: Path, sdist: Path, *arguments: str, cold: bool = False) -> Ended:
    """Rehearse the spec of a folder, by the command line."""
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist), "TMPDIR": str(folder)}
    return run("ftc", "rehearse", "spec.json", *arguments, cwd=folder, extra=extra, cold=cold)


def keep(name: str, folder: Path, sdist: Path, *, cold: bool = False) -> Rehearsed:
    """Rehearse a family and keep its files; cold, its seconds are those that users spend."""
    write_family(FAMILIES[name], folder, sdist=sdist)
    spec = read_json(folder / "spec.json")
    write_json(folder / "spec.json", {**spec, "export": {"types": spec["export"], "adapter": True}})
    began = children_seconds()
    ended = rehearse(folder, sdist, "--keep", "kept", "--format", "json", cold=cold)
    seconds = children_seconds() - began
    assert ended.code == 0, ended.said
    return Rehearsed(
        ended=ended, seconds=seconds, data=json.loads(ended.out), folder=folder / "kept"
    )


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory, sdist: Path) -> Rehearsed:
    """Rehearse the Llama once."""
    return keep(LLAMA, tmp_path_factory.mktemp("llama"), sdist, cold=True)


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory, sdist: Path) -> Rehearsed:
    """Rehearse the Gemma once."""
    return keep(GEMMA, tmp_path_factory.mktemp("gemma"), sdist)


def test_every_stage_ends_well_in_time(llama: Rehearsed) -> None:
    """Every stage in its order, with less work than two cores do in three minutes."""
    stages = llama.data["stages"]
    assert tuple(stage["name"] for stage in stages) == STAGES
    assert {stage["status"] for stage in stages} == {"ok"}
    assert llama.data["passed"] is True
    assert llama.seconds < LIMIT_SECONDS
    told = [line.split()[0] for line in llama.ended.err.splitlines()]
    assert told == list(STAGES), "each stage is told when it ends"


def test_it_was_the_bundle_that_ran(llama: Rehearsed) -> None:
    """The scripts of a bundle, killed at a checkpoint, gone on, with the model's own switches."""
    log = llama.folder / "rehearsal.log"
    assert (llama.bundle / "run" / "report.md").is_file()
    assert "resuming from run/train/checkpoints/checkpoint-2" in log.read_text(encoding="utf-8")
    config = read_json(llama.bundle / "run" / "merged" / "config.json")
    assert config["num_attention_heads"] // config["num_key_value_heads"] == 4
    assert "llama3" in json.dumps(config), "the rotation is scaled as in the model"
    assert (config["hidden_size"], config["vocab_size"]) == (256, 128_256)
    assert not (llama.folder.parent / "model" / "model.safetensors").exists()
    for path in llama.bundle.glob("*.py"):
        assert "rehears" not in path.read_text(encoding="utf-8"), path.name


def test_what_a_cpu_cannot_show_is_said(llama: Rehearsed) -> None:
    """bf16 is named, and what one GPU has no use for is not."""
    named = " ".join(one["what"] for one in llama.data["not_rehearsed"])
    assert "bf16" in named
    assert "NCCL" not in named


def test_another_family_goes_the_whole_way(gemma: Rehearsed) -> None:
    """Six layers for one turn of the windows, and a file that answers although it knows nothing."""
    assert {stage["status"] for stage in gemma.data["stages"]} == {"ok"}
    config = read_json(gemma.bundle / "run" / "merged" / "config.json")
    assert config["num_hidden_layers"] == 6


def test_a_damaged_gguf_is_caught(llama: Rehearsed, tmp_path: Path) -> None:
    """One small matrix of zeros is far beyond the bound, and the sound file far below."""
    gguf = pytest.importorskip("gguf")
    made = llama.bundle / "run" / "quantize"
    files = {entry["type"]: entry for entry in read_json(made / "quality.json")["files"]}
    sound = files["F16"]
    assert sound["divergence"] < MOST_DIVERGENCE / 10
    damaged = Path(shutil.copy(made / sound["file"], tmp_path / "damaged.gguf"))
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(damaged, "r+").tensors}
    tensors["blk.1.attn_k.weight"].data[:] = 0
    done = run(sys.executable, "-m", "runtime.compare.fidelity", damaged, cwd=llama.bundle)
    assert done.code == 0, done.said
    assert json.loads(done.out)["divergence"] > MOST_DIVERGENCE


def test_a_tokenizer_that_does_not_fit_stops_it(gemma: Rehearsed, sdist: Path) -> None:
    """A `tokenizer.model` of equal scores, which every converter takes, reads other tokens."""
    pieces = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    path = gemma.bundle.parent / "model" / "tokenizer.model"  # which the merge carries over
    proto = pieces.ModelProto()
    proto.ParseFromString(path.read_bytes())
    for piece in proto.pieces[600:]:
        piece.score = 0.0
    path.write_bytes(proto.SerializeToString())
    for stage in ("prepare", "train"):  # as if the file had been so from the start
        (gemma.bundle / "run/done" / f"{stage}.json").unlink()
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    done = run(sys.executable, "export.py", cwd=gemma.bundle, extra=extra)
    assert done.code == 1, done.said
    assert "export.py: llama.cpp reads " in done.err


def test_a_template_that_rewrites_turns_stops_it(tmp_path: Path, sdist: Path) -> None:
    """What was asked is not the start of what is learned: it ends there, and only the log stays.

    Short messages are left alone, so that `ftc compile` does not see it (FTC293).
    """
    write_family(FAMILIES[GEMMA], tmp_path, sdist=sdist)
    path = tmp_path / "spec.json"
    own = {"id": "./model", "chat_template": "own.jinja"}
    write_json(path, {**read_json(path), "model": own})
    (tmp_path / "own.jinja").write_text(
        "{% for message in messages %}"
        "{% if not loop.last and message['content'] | length > 60 %}[earlier] {% endif %}"
        "{{ message['content'] }}{% endfor %}{% if not add_generation_prompt %}<eos>{% endif %}",
        encoding="utf-8",
    )
    ended = rehearse(tmp_path, sdist)
    assert ended.code == 1, ended.said
    assert "stopped at prepare: the real run would stop here too" in ended.out
    assert "prepare.py: the chat template rewrites earlier turns" in ended.out
    (left,) = tmp_path.glob("ftc-rehearse-*")
    assert [file.name for file in left.iterdir()] == ["rehearsal.log"], "only the log stays"
    assert str(left / "rehearsal.log") in ended.out
    assert "ok" not in ended.out.split("stopped at")[1].split()
