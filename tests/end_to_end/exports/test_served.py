"""Folders for vLLM from a whole bundle: all types pass, a wrong scale fails, publish.py has them.

One small model stands for a trained one: the quickstart's, its head made louder so that it is sure
of its words.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import write_table
from tests.end_to_end.exports.test_quantize import write_loud
from tests.end_to_end.process import Ended, compile_spec, read_json, run

pytestmark = pytest.mark.prove

TYPES = ["FP8", "FP8_DYNAMIC", "W4A16", "NVFP4A16", "NVFP4"]
STAGES = Path(__file__).parents[1] / "run_stages.py"
SPOILER = Path(__file__).with_name("spoil_scales.py")
SPEC: dict[str, Any] = {
    "name": "triage",
    "model": "./model",
    "data": "tickets.csv",
    "hardware": "cpu",
    "method": "full",
    "training": {"max_steps": 5, "global_batch": 16},
    "export": {"vllm": TYPES, "verify": {"tokens": 1024}},
    "publish": {"repo": "acme/triage", "licence": "apache-2.0", "what": ["vllm"]},
}


@pytest.fixture(scope="module")
def finished(
    tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]
) -> tuple[Path, Ended]:
    """Return a bundle after its export, and what that said; one process runs all stages."""
    pytest.importorskip("compressed_tensors")
    folder = tmp_path_factory.mktemp("served")
    (folder / "model").symlink_to(model)
    write_table(folder / "tickets.csv", tickets[:161])
    bundle = compile_spec(folder, SPEC)
    (bundle / "run").mkdir()
    write_loud(model, bundle / "run" / "train" / "model")
    stages = [f"{bundle}/{stage}" for stage in ("prepare.py", "export.py:--merge", "evaluate.py")]
    ended = run(sys.executable, "-m", "tests.end_to_end.run_stages", *stages, cwd=STAGES.parents[2])
    assert ended.code == 0, ended.said
    return bundle, run(sys.executable, "export.py", cwd=bundle)


def test_every_type_is_written_and_verified(finished: tuple[Path, Ended]) -> None:
    """Each folder has its planned size, and a divergence below its bound; the report has them."""
    bundle, ended = finished
    assert ended.code == 0, ended.said
    assert "differs from the planned one" not in ended.out
    entries = read_json(bundle / "run/vllm/quality.json")["files"]

    assert [entry["type"] for entry in entries] == TYPES
    for entry in entries:
        assert entry["fault"] is None
        assert 0 < entry["divergence"] < entry["bounds"]["max_divergence"]
        assert 0.3 < entry["divergence"] / entry["expected_divergence"] < 2.5
        assert entry["metric_drop"] <= entry["bounds"]["max_metric_drop"]
        said = read_json(bundle / "run/vllm" / entry["file"] / "config.json")
        assert said["quantization_config"]["quant_method"] == "compressed-tensors"
        assert said["quantization_config"]["ignore"] == ["lm_head"]
        assert (bundle / "run/vllm" / entry["file"] / "tokenizer.model").is_file()
    report = (bundle / "run/report.md").read_text(encoding="utf-8")
    assert "Folders for vLLM and SGLang" in report
    assert "triage-NVFP4" in report
    assert "not GPTQ" in (bundle / "README.md").read_text(encoding="utf-8")
    assert "compressed-tensors==0.17.0" in (bundle / "requirements.txt").read_text("utf-8")


def test_a_wrong_scale_fails_the_export(finished: tuple[Path, Ended], tmp_path: Path) -> None:
    """Of inputs or of weights: the fault names the matrix, and no folder is left as sound."""
    bundle = tmp_path / "triage"
    (tmp_path / "model").symlink_to((finished[0].parent / "model").resolve())
    left_out = shutil.ignore_patterns("vllm.json", "*.lock")
    shutil.copytree(finished[0], bundle, ignore=left_out)
    shutil.rmtree(bundle / "run/vllm")
    script = bundle / "export.py"
    text = script.read_text(encoding="utf-8")
    few = text.replace('["FP8", "FP8_DYNAMIC", "W4A16", "NVFP4A16", "NVFP4"]', '["FP8", "W4A16"]')
    assert few != text
    script.write_text(few, encoding="utf-8")

    ended = run(sys.executable, SPOILER, cwd=bundle)

    assert ended.code == 1, ended.said
    assert "export.py: FP8 differs too much from the trained model" in ended.err
    assert "Traceback" not in ended.err
    inputs, weights = read_json(bundle / "run/vllm/quality.json")["files"]
    assert "scale of the inputs of its model.layers.1.mlp.down_proj.weight" in inputs["fault"]
    assert "its model.layers.1.mlp.down_proj.weight has a relative error" in weights["fault"]
    assert [path.name for path in sorted((bundle / "run/vllm").iterdir())] == [
        "quality.json",
        "triage-FP8.failed",
        "triage-W4A16.failed",
    ]
    assert not (bundle / "run/done/vllm.json").exists()
