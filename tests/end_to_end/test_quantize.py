"""The verified export: what is sound passes, what is damaged or broken ends in one sentence.

One small model stands for a trained one: the quickstart's, its head made louder so that it is sure
of its words. It goes through the real converter and the real llama.cpp.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import Ended, compile_spec, read_json, run

pytestmark = pytest.mark.prove

ROWS = 160
LOUDER = 30.0
PNG = b"\x89PNG\r\n\x1a\n"
MEASURED = {
    *("type", "file", "bytes", "rows", "tokens", "learned_tokens", "divergence", "agreement"),
    *("logit_error", "perplexity", "trained_perplexity", "perplexity_ratio", "answers"),
    *("asked_rows", "accuracy", "trained_accuracy", "metric_drop", "same_answers"),
    *("prompt_tokens_per_second", "generation_tokens_per_second", "resident_bytes"),
    *("bounds", "fault", "seconds"),
}
Broken = Callable[[Path], None]


def spec_of(**verify: float) -> dict[str, Any]:
    """Return a spec whose files have to hold these bounds."""
    return {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": "full",
        "training": {"max_steps": 5, "global_batch": 16},
        "export": {"types": ["Q8_0", "Q4_K_M"], "verify": {"tokens": 1024, **verify}},
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]) -> Path:
    """Return a folder with a model, data, and a bundle that has come to its merged model."""
    folder = tmp_path_factory.mktemp("quantize")
    (folder / "model").symlink_to(model)
    write_table(folder / "tickets.csv", tickets[: ROWS + 1])
    bundle = compile_spec(folder, spec_of())
    (bundle / "run").mkdir()
    write_loud(model, bundle / "run" / "merged")
    for script in ("prepare.py", "evaluate.py"):
        ended = run(sys.executable, script, cwd=bundle)
        assert ended.code == 0, ended.said
    return folder


def write_loud(model: Path, merged: Path) -> None:
    """Copy a model whose next words are far more certain than an untrained one's."""
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    shutil.copytree(model, merged)
    weights = safetensors.load_file(merged / "model.safetensors")
    weights["lm_head.weight"] = weights["lm_head.weight"] * LOUDER
    halves = {name: weight.to(torch.float16) for name, weight in weights.items()}
    safetensors.save_file(halves, merged / "model.safetensors", metadata={"format": "pt"})


@pytest.fixture(scope="module")
def finished(place: Path, sdist: Path) -> tuple[Path, Ended]:
    """Return the bundle after its export, and what that said."""
    bundle = place / "triage"
    return bundle, quantize(bundle, sdist)


@pytest.fixture
def unfinished(place: Path, tmp_path: Path) -> Path:
    """Return a copy of the bundle that has come to its merged model."""
    bundle = tmp_path / "triage"
    shutil.copytree(place / "triage", bundle, ignore=shutil.ignore_patterns("quantize", "*.lock"))
    return bundle


def quantize(bundle: Path, sdist: Path, *arguments: str | Path) -> Ended:
    """Run the stage that exports."""
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    return run(sys.executable, "quantize.py", *arguments, cwd=bundle, extra=extra)


def hold_failed(bundle: Path, ended: Ended, *words: str) -> None:
    """Assert that the stage ended with one sentence, and left no GGUF behind."""
    assert ended.code == 1, ended.said
    assert ended.err.count("quantize.py: ") == 1, ended.said
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
    assert large.keys() == small.keys() == MEASURED
    assert 0 < large["divergence"] < 0.005 < small["divergence"] < 0.25
    assert 1 >= large["agreement"] > small["agreement"] > 0.7
    assert large["bytes"] > small["bytes"] > small["resident_bytes"] / 20 > 0
    assert large["logit_error"] < small["logit_error"] < 0.5
    for entry in (large, small):
        assert entry["fault"] is None
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
    noted = run(sys.executable, "fidelity.py", cwd=bundle)
    again = run(sys.executable, "fidelity.py", "run/quantize/triage-Q4_K_M.gguf", cwd=bundle)

    assert "reference: done already" in noted.out, noted.said
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

    ended = run(sys.executable, "fidelity.py", damaged, cwd=bundle)

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
    unfinished: Path, sdist: Path, tmp_path: Path
) -> None:
    """A converter that loses one tensor: no file is handed out, and the sentence names a bound."""
    tools = tmp_path / "llama.cpp"
    real = next((unfinished.parents[0]).rglob("run/tools/llama.cpp-*"), None)
    assert real is None or real.is_dir()
    tools.mkdir()
    (tools / "convert_hf_to_gguf.py").write_text(LOSSY, encoding="utf-8")

    ended = quantize(unfinished, sdist, "--llama-cpp", tools)

    hold_failed(unfinished, ended, "Q8_0 is not the trained model", "export.verify.max_divergence")
    kept = sorted(path.name for path in (unfinished / "run/quantize").glob("*.failed"))
    assert kept == ["triage-Q4_K_M.failed", "triage-Q8_0.failed"]
