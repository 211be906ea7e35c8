"""The verified export: what is sound passes, what is damaged or broken ends in one sentence.

One small model stands for a trained one: the quickstart's, its head made louder so that it is sure
of its words. It goes through the real converter and the real llama.cpp.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime import stages
from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import ROOT, Ended, compile_spec, read_json, run, write_json

pytestmark = pytest.mark.prove

ROWS = 160
LOUDER = 8.0
VERIFY = {"tokens": 1024}
SPOILER = Path(__file__).with_name("spoil_files.py")
PNG = b"\x89PNG\r\n\x1a\n"
Broken = Callable[[Path], None]
# A converter that runs the real one, and then loses one tensor.
LOSSY = """
import subprocess, sys
subprocess.run([sys.executable, "REAL/convert_hf_to_gguf.py", *sys.argv[1:]], check=True)
from gguf import GGUFReader
tensors = GGUFReader(sys.argv[sys.argv.index("--outfile") + 1], "r+").tensors
next(each for each in tensors if each.name == "blk.1.ffn_down.weight").data[:] = 0
"""


def spec_of(**verify: float) -> dict[str, Any]:
    """Return a spec whose files have to hold these bounds."""
    return {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": "full",
        "training": {"max_steps": 5, "global_batch": 16},
        "export": {"types": ["Q8_0", "Q4_K_M"], "verify": VERIFY | verify},
    }


def documented() -> set[str]:
    """Return the fields of an entry that docs/pages/quality.md lists."""
    page = (ROOT / "docs/pages/quality.md").read_text(encoding="utf-8")
    entries = page.partition("An entry of")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", entries, re.MULTILINE))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]) -> Path:
    """Return a folder with a model, data, and a bundle that has come to its merged model."""
    folder = tmp_path_factory.mktemp("quantize")
    (folder / "model").symlink_to(model)
    write_table(folder / "tickets.csv", tickets[: ROWS + 1])
    bundle = compile_spec(folder, spec_of())
    (bundle / "run").mkdir()
    write_loud(model, bundle / "run" / "train" / "model")
    for command in (("prepare.py",), ("export.py", "--merge"), ("evaluate.py",)):
        ended = run(sys.executable, *command, cwd=bundle)
        assert ended.code == 0, ended.said
    return folder


def write_loud(model: Path, trained: Path) -> None:
    """Copy a model whose next words are far more certain than an untrained one's."""
    safetensors = pytest.importorskip("safetensors.torch")
    shutil.copytree(model, trained)
    weights = safetensors.load_file(trained / "model.safetensors")
    weights["lm_head.weight"] = weights["lm_head.weight"] * LOUDER
    safetensors.save_file(weights, trained / "model.safetensors", metadata={"format": "pt"})


@pytest.fixture(scope="module")
def finished(place: Path, sdist: Path) -> tuple[Path, Ended]:
    """Return the bundle after its export, and what that said."""
    bundle = place / "triage"
    return bundle, quantize(bundle, sdist)


@pytest.fixture
def unfinished(place: Path, tmp_path: Path) -> Path:
    """Return a copy of the bundle that has come to its merged model."""
    bundle = tmp_path / "triage"
    (tmp_path / "model").symlink_to((place / "model").resolve())
    shutil.copytree(
        place / "triage",
        bundle,
        ignore=shutil.ignore_patterns("quantize", "quantize.json", "*.lock"),
    )
    return bundle


def quantize(bundle: Path, sdist: Path, *arguments: str | Path) -> Ended:
    """Run the stage that exports."""
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    return run(sys.executable, "export.py", *arguments, cwd=bundle, extra=extra)


def hold_failed(bundle: Path, ended: Ended, *words: str) -> None:
    """Assert that the stage ended with one sentence, and left no GGUF behind."""
    assert ended.code == 1, ended.said
    assert ended.err.count("export.py: ") == 1, ended.said
    assert "Traceback" not in ended.err, ended.said
    for word in words:
        assert word in ended.err, ended.said
    assert not list((bundle / "run").rglob("*.gguf")), ended.said
    assert not (bundle / "run/done/quantize.json").exists()


def test_a_sound_export_is_measured(finished: tuple[Path, Ended]) -> None:
    """Both types pass, closer the larger they are; every number is in quality.json."""
    bundle, ended = finished
    assert ended.code == 0, ended.said
    quality = read_json(bundle / "run/quantize/quality.json")
    large, small = quality["files"]

    assert (quality["version"], quality["judged"]) == (1, "test")
    assert large.keys() == small.keys() == documented()
    assert 0 < large["divergence"] < 0.005 < small["divergence"] < 0.25
    assert 1 >= large["agreement"] > small["agreement"] > 0.7
    assert 0 <= quality["source_divergence"] < large["divergence"]
    assert large["bytes"] > small["bytes"] > small["resident_bytes"] / 20 > 0
    assert large["logit_error"] < small["logit_error"] < 0.5
    for entry in (large, small):
        assert entry["fault"] is None
        assert entry["rounding"]["error"] == pytest.approx(entry["rounding"]["expected"], rel=0.01)
        assert entry["divergence"] < 0.75 * entry["bounds"]["max_divergence"]
        assert entry["bounds"]["max_divergence"] < 7 * entry["expected_divergence"]
        assert entry["bounds"]["max_metric_drop"] < 1
        assert 0 < entry["learned_tokens"] < entry["tokens"] <= 1024
        assert entry["perplexity_ratio"] == pytest.approx(
            entry["perplexity"] / entry["trained_perplexity"]
        )
        assert (bundle / "run/quantize" / entry["file"]).stat().st_size == entry["bytes"]
    assert (bundle / "run/quantize/quality.png").read_bytes().startswith(PNG)
    assert "sound" in ended.out


def test_the_reference_is_noted_once(finished: tuple[Path, Ended]) -> None:
    """A file is measured again without the trained model, and the numbers are the same."""
    bundle, _ = finished
    noted = run(sys.executable, "-m", "runtime.compare.fidelity", cwd=bundle)
    file = "run/quantize/triage-Q4_K_M.gguf"
    again = run(sys.executable, "-m", "runtime.compare.fidelity", file, cwd=bundle)

    assert "reference: already done" in noted.out, noted.said
    assert again.code == 0, again.said
    (before,) = [
        entry
        for entry in read_json(bundle / "run/quantize/quality.json")["files"]
        if entry["type"] == "Q4_K_M"
    ]
    assert json.loads(again.out)["divergence"] == pytest.approx(before["divergence"], abs=1e-6)


@pytest.mark.parametrize("tensor", ["blk.1.ffn_down.weight", "blk.0.attn_v.weight"])
def test_one_zeroed_tensor_is_seen(
    finished: tuple[Path, Ended], tmp_path: Path, tensor: str
) -> None:
    """A file that loads and answers, one of its tensors zeroed, is far beyond every bound."""
    bundle, _ = finished
    damaged = tmp_path / "damaged.gguf"
    shutil.copy(bundle / "run/quantize/triage-Q8_0.gguf", damaged)
    zero_tensor(damaged, tensor)

    ended = run(sys.executable, "-m", "runtime.compare.fidelity", damaged, cwd=bundle)

    assert ended.code == 0, ended.said
    bound = read_json(bundle / "run/quantize/quality.json")["files"][0]["bounds"]
    assert json.loads(ended.out)["divergence"] > 5 * bound["max_divergence"]


def zero_tensor(path: Path, name: str) -> None:
    """Overwrite one tensor of a GGUF file with zeros."""
    gguf = pytest.importorskip("gguf")
    (tensor,) = [each for each in gguf.GGUFReader(path, "r+").tensors if each.name == name]
    tensor.data[:] = 0
    tensor.data.base.flush()


def test_a_damaged_conversion_fails_the_export(
    finished: tuple[Path, Ended], unfinished: Path, sdist: Path, tmp_path: Path
) -> None:
    """A converter that loses one tensor: no file is handed out, and the sentence names a bound."""
    (real,) = (finished[0] / "run/tools").glob("llama.cpp-*")
    tools = tmp_path / "llama.cpp"
    tools.mkdir()
    (tools / "convert_hf_to_gguf.py").write_text(LOSSY.replace("REAL", str(real)), encoding="utf-8")

    ended = quantize(unfinished, sdist, "--llama-cpp", tools)

    hold_failed(
        unfinished,
        ended,
        "Q8_0 differs too much from the trained model",
        "export.verify.max_divergence",
    )
    kept = sorted(path.name for path in (unfinished / "run/quantize").glob("*.failed"))
    assert kept == ["triage-Q4_K_M.failed", "triage-Q8_0.failed"]
    quality = read_json(unfinished / "run/quantize/quality.json")
    assert [entry["file"] for entry in quality["files"]] == kept[::-1]
    assert all("its divergence is" in entry["fault"] for entry in quality["files"])
    asked = run(sys.executable, "ask.py", "hello", cwd=unfinished)
    assert "triage-Q8_0.gguf is missing" in asked.err


def test_the_bound_of_the_spec_is_held(place: Path, unfinished: Path, sdist: Path) -> None:
    """A bound that no type can hold fails with the number that was said; the other is not named."""
    spec = {**spec_of(min_agreement=1.0), "name": "strict"}
    strict = compile_spec(place, spec)
    shutil.copytree(unfinished / "run", strict / "run")

    ended = quantize(strict, sdist)

    hold_failed(strict, ended, "its agreement is 0.", "and export.verify.min_agreement is 1")
    entries = read_json(strict / "run/quantize/quality.json")["files"]
    assert {entry["bounds"]["min_agreement"] for entry in entries} == {1.0}


def test_noise_in_the_weights_fails_every_type(place: Path, unfinished: Path, sdist: Path) -> None:
    """Files of eight times the divergence all fail, whatever their type, and the fault says why."""
    kinds = ["Q8_0", "Q4_K_M", "IQ3_S"]
    spec = spec_of()
    bundle = compile_spec(
        place, {**spec, "name": "spoilt", "export": {**spec["export"], "types": kinds}}
    )
    shutil.copytree(unfinished / "run", bundle / "run")

    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    ended = run(sys.executable, SPOILER, "8", cwd=bundle, extra=extra)

    assert ended.code == 1, ended.said
    entries = read_json(bundle / "run/quantize/quality.json")["files"]
    assert [entry["type"] for entry in entries] == kinds
    for entry in entries:
        assert entry["fault"] is not None
        assert entry["file"].endswith(".failed")
        assert entry["rounding"]["error"] > 2 * entry["rounding"]["expected"]
    assert sum("its divergence is" in entry["fault"] for entry in entries) >= 2


def cut_weights(bundle: Path) -> None:
    """Lose the second half of the weights, as a copy that was interrupted does."""
    weights = bundle / "run/merged/model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])


def lose_shard(bundle: Path) -> None:
    """Name two files in the index, of which one is there."""
    merged = bundle / "run/merged"
    (merged / "model.safetensors").rename(merged / "model-00001-of-00002.safetensors")
    names = {
        "model.embed_tokens.weight": "model-00001-of-00002.safetensors",
        "lm_head.weight": "model-00002-of-00002.safetensors",
    }
    index = {"metadata": {}, "weight_map": names}
    (merged / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def leave_adapter(bundle: Path) -> None:
    """Put an adapter where the merged model should be."""
    merged = bundle / "run/merged"
    (merged / "model.safetensors").rename(merged / "adapter_model.safetensors")
    (merged / "adapter_config.json").write_text('{"peft_type": "LORA"}', encoding="utf-8")
    (merged / "config.json").unlink()


def swap_tokenizer(bundle: Path) -> None:
    """Put other scores into the tokenizer: the same words, cut into other tokens."""
    protobuf = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    path = bundle / "run/merged/tokenizer.model"
    pieces = protobuf.ModelProto.FromString(path.read_bytes())
    for piece in pieces.pieces:
        piece.score = 0.0
    path.write_bytes(pieces.SerializeToString())


def lose_tokenizer(bundle: Path) -> None:
    """Leave out the file that the base model's folder had, as saving a model does."""
    (bundle / "run/merged/tokenizer.model").unlink()


def name_unknown(bundle: Path) -> None:
    """Name an architecture that the converter does not have."""
    path = bundle / "run/merged/config.json"
    path.write_text(path.read_text(encoding="utf-8").replace("LlamaFor", "UnheardOfFor"))


def accept_merged(bundle: Path) -> None:
    """Record run/merged as it is now, as if the merge had written it so."""
    path = bundle / "run/done/merge.json"
    files = stages.list_files(bundle, bundle / "run/merged")
    write_json(path, {**read_json(path), "outputs": stages.digest_files(bundle, files)})


def test_a_damaged_merge_is_repeated(unfinished: Path) -> None:
    """What is not as the merge wrote it is written again, to the same bits."""
    merged = unfinished / "run/merged"
    before = (merged / "model.safetensors").read_bytes()
    cut_weights(unfinished)
    (merged / "tokenizer.model").unlink()

    ended = run(sys.executable, "export.py", "--merge", cwd=unfinished)

    assert ended.code == 0, ended.said
    assert "merge: runs again, because run/merged/" in ended.out
    assert (merged / "model.safetensors").read_bytes() == before
    assert (merged / "tokenizer.model").is_file()


@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (cut_weights, "llama.cpp's converter failed"),
        (lose_shard, "llama.cpp's converter failed"),
        (leave_adapter, "llama.cpp's converter failed"),
        (swap_tokenizer, "rows as other tokens than the model was trained on"),
        (lose_tokenizer, "rows as other tokens than the model was trained on"),
        (name_unknown, "ERROR:hf-to-gguf:Model UnheardOfForCausalLM is not supported"),
    ],
)
def test_a_broken_input_ends_in_a_sentence(
    unfinished: Path, sdist: Path, breaking: Broken, words: str
) -> None:
    """What is wrong with the folder is said, and nothing half-written is left."""
    breaking(unfinished)
    accept_merged(unfinished)
    hold_failed(unfinished, quantize(unfinished, sdist), words)


@pytest.mark.parametrize(
    ("mebibytes", "words"),
    [(3, "llama.cpp's converter failed"), (7, "llama.cpp could not quantize to Q8_0")],
)
def test_a_full_disk_ends_in_a_sentence(
    unfinished: Path, sdist: Path, mebibytes: int, words: str
) -> None:
    """A disk that has room for half of the conversion, or for the conversion alone."""
    enter = ("unshare", "--map-root-user", "--mount")
    if run(*enter, "true", cwd=unfinished).code:
        pytest.skip("this machine lends no mount of its own")
    (unfinished / "run/quantize").mkdir()
    mount = f"mount -t tmpfs -o size={mebibytes}m tmpfs run/quantize"
    look = "find run/quantize -type f -name '*.gguf'"
    command = f"{mount} && {sys.executable} export.py; code=$?; {look}; exit $code"

    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    ended = run(*enter, "bash", "-c", command, cwd=unfinished, extra=extra)

    hold_failed(unfinished, ended, words, "MiB of disk are free")
    assert ".gguf" not in ended.out


def test_a_file_that_is_none_ends_in_a_sentence(
    finished: tuple[Path, Ended], tmp_path: Path
) -> None:
    """What is no GGUF file, or half of one, is said to be that."""
    bundle, _ = finished
    half = tmp_path / "half.gguf"
    whole = (bundle / "run/quantize/triage-Q8_0.gguf").read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    for path, words in ((half, "llama.cpp cannot open it"), (tmp_path / "none", "does not exist")):
        ended = run(sys.executable, "-m", "runtime.compare.fidelity", path, cwd=bundle)
        assert ended.code == 1
        assert words in ended.err
        assert "Traceback" not in ended.err, ended.said
