"""The importance matrix of a trained model: right numbers, and better files for them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import WholeRun
from tests.end_to_end.process import compile_spec, run

pytestmark = pytest.mark.prove

SCRIPT = Path(__file__).with_name("weigh_columns.py")
WANTED = {"name": "weighed", "export": ["IQ2_XXS"]}


def make_mixture(base: Path, folder: Path) -> None:
    """Write a mixture of two experts which are both asked, with the tokenizer of another model."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    shutil.copytree(base, folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    words = json.loads((base / "config.json").read_text())["vocab_size"]
    sizes = {"hidden_size": 256, "intermediate_size": 256, "vocab_size": words}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1}
    experts = {"num_local_experts": 2, "num_experts_per_tok": 2}
    torch.manual_seed(0)
    config = transformers.MixtralConfig(**sizes, **heads, **experts)
    transformers.MixtralForCausalLM(config).half().save_pretrained(folder)


@pytest.fixture(scope="module")
def weighed(whole_run: WholeRun, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Compile a bundle that wants a matrix, over the whole run's trained model, and look."""
    folder = tmp_path_factory.mktemp("weighed")
    for name in ("model", "tickets.csv"):
        (folder / name).symlink_to(whole_run.bundle.parent / name)
    spec = json.loads((whole_run.bundle / "spec.json").read_text())
    bundle = compile_spec(folder, {**spec, "model": "./model", "data": "tickets.csv"} | WANTED)
    (bundle / "run").symlink_to(whole_run.bundle / "run")
    make_mixture(whole_run.bundle / "run/merged", folder / "moe")
    ended = run("python", SCRIPT, folder, folder / "moe", cwd=bundle)
    assert ended.code == 0, ended.said
    found: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    return found


def test_columns_weigh_what_a_hook_sees(weighed: dict[str, Any]) -> None:
    """The sums equal those on the transformers model's own activations, the last layer's too."""
    assert len(weighed["errors"]) == 4
    assert max(weighed["errors"].values()) < 0.01


def test_experts_weigh_what_they_are_sent(weighed: dict[str, Any]) -> None:
    """Each expert that sees every token has the columns of the whole block, and is quantized."""
    assert weighed["experts"] == 2
    assert max(weighed["expert_errors"]) < 0.01
    assert weighed["unreached"] == pytest.approx([2.0, 1e-6, 1.0, 1.0])
    assert not weighed["refused"]


def test_a_matrix_makes_better_files(weighed: dict[str, Any]) -> None:
    """Types that want one lose less with it; what needs one is not to be had without."""
    found = weighed["divergences"]
    assert found["IQ1_S"]["plain"] is None
    assert found["IQ1_S"]["weighed"] < 1
    for kind in ("Q2_K", "IQ3_S", "IQ4_XS"):
        assert found[kind]["weighed"] < found[kind]["plain"], kind
