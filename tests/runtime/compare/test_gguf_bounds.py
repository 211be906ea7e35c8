"""The bounds of a GGUF file: rounding of each matrix, and the model's own response to noise."""

import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.compare import noise_response, rounding, weighed_rounding

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
torch = pytest.importorskip("torch")
pytest.importorskip("llama_cpp")

#: Relative root mean squared error of Gaussian weights after each type's rounding, as measured.
NOMINAL = {"Q8_0": 0.0054, "Q6_K": 0.0178, "Q4_K": 0.0715, "Q3_K": 0.1515, "Q2_K": 0.2961}
COLUMNS, ROWS = 512, 48


def write(path: Path, tensors: Mapping[str, Any], kind: Any) -> Path:
    """Write matrices as a GGUF file of one type."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, values in tensors.items():
        writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def weights() -> dict[str, Any]:
    """Return two matrices of Gaussian weights, and a vector that is never rounded."""
    draw = np.random.default_rng(0)
    shapes = {"token_embd.weight": (ROWS, COLUMNS), "blk.0.ffn_down_exps.weight": (2, 64, COLUMNS)}
    made = {name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return {**made, "output_norm.weight": np.ones(COLUMNS, np.float32)}


@pytest.mark.parametrize("kind", NOMINAL)
def test_the_quantizer_rounds_as_its_types_do(kind: str) -> None:
    """Each type makes its own error in Gaussian weights, a tenth less with an importance."""
    values = np.random.default_rng(0).standard_normal((64, 1024), np.float32)
    for importance in (None, np.ones(1024, np.float32)):
        after = rounding.round_rows(values, gguf.GGMLQuantizationType[kind], importance)
        error = math.sqrt(np.square(after - values).mean() / np.square(values).mean())
        assert error == pytest.approx(NOMINAL[kind], rel=0.02 if importance is None else 0.1)


def test_a_sound_file_is_what_rounding_makes(weights: dict[str, Any], tmp_path: Path) -> None:
    """The error of each matrix is the expected one, and each part has its own."""
    vector = {"output_norm.weight": weights.pop("output_norm.weight")}
    source = write(tmp_path / "source.gguf", weights | vector, gguf.GGMLQuantizationType.F32)
    sound = write(tmp_path / "sound.gguf", weights | vector, gguf.GGMLQuantizationType.Q8_0)

    found = rounding.measure(source, sound)

    assert {one["name"] for one in found} == set(weights)
    assert rounding.find_fault(found) is None
    for one in found:
        assert one["error"] == pytest.approx(one["expected"], rel=0.001)
    parts = rounding.sum_parts(found)
    assert parts == pytest.approx({"embedding": 0.0054, "layers": 0.0054}, rel=0.02)


@pytest.mark.parametrize("share", [0.5, 3.0])
def test_noise_beyond_rounding_is_named(
    weights: dict[str, Any], tmp_path: Path, share: float
) -> None:
    """Noise of half of the rounding error in one matrix raises its error by an eighth: named."""
    source = write(tmp_path / "source.gguf", weights, gguf.GGMLQuantizationType.F32)
    name = "blk.0.ffn_down_exps.weight"
    noise = np.random.default_rng(1).standard_normal(weights[name].shape, np.float32)
    spoilt = weights | {name: weights[name] + 0.0054 * share * noise}
    path = write(tmp_path / "spoilt.gguf", spoilt, gguf.GGMLQuantizationType.Q8_0)
    missing = {"token_embd.weight": weights["token_embd.weight"]}

    found = rounding.measure(source, path)

    assert name in str(rounding.find_fault(found))
    lost = write(tmp_path / "lost.gguf", missing, gguf.GGMLQuantizationType.Q8_0)
    assert name in str(rounding.find_fault(rounding.measure(source, lost)))


def test_each_expert_is_rounded_with_its_own_importance() -> None:
    """As llama.cpp's quantizer does; a weight that the matrix does not name has none."""
    kind = gguf.GGMLQuantizationType.Q4_K
    draw = np.random.default_rng(0)
    values = draw.standard_normal((4, 256), np.float32)
    own = draw.random((2, 256), np.float32) + 0.1
    tensor = SimpleNamespace(name="blk.0.ffn_up_exps.weight", tensor_type=kind, shape=(256, 8, 2))
    rows = np.array([0, 5, 8, 13])  # of eight rows of each expert

    weighed = weighed_rounding.round_weighed(
        {tensor.name.encode(): own.ravel()}, values, rows, tensor
    )

    for part, expert in ((slice(2), own[0]), (slice(2, 4), own[1])):
        assert (weighed[part] == rounding.round_rows(values[part], kind, expert)).all()
    plain = rounding.round_alike(values, rows, tensor)
    assert (weighed_rounding.round_weighed({}, values, rows, tensor) == plain).all()
    assert (weighed != plain).any()


@pytest.fixture(scope="module")
def noted() -> dict[str, Any]:
    """Return what noise costs a small model that was trained for a moment."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "vocab_size": 64}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads))
    ids = torch.randint(0, 64, (8, 65))
    ids[:, 1::2] = (ids[:, ::2] * 7 % 64)[:, :32]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        model(ids, labels=ids).loss.backward()
        optimizer.step()
    model.eval()
    rows = [{"ids": row.tolist(), "learned": [True] * 64} for row in ids]

    def run(row: Mapping[str, Any]) -> Any:
        with torch.inference_mode():
            return model(torch.tensor([row["ids"][:-1]])).logits[0]

    found = noise_response.measure(model, rows, run)
    assert found is not None
    return found


def test_divergence_grows_with_the_square_of_the_noise(noted: dict[str, Any]) -> None:
    """Twice a small error costs four times as much, and a large one what was noted."""
    costs = {
        error: noise_response.expect(noted, dict.fromkeys(noted["small"], error), 0.0)
        for error in (0.005, 0.01, 0.02, 0.3, 0.6)
    }
    assert costs[0.01] == pytest.approx(4 * costs[0.005], rel=0.01)
    assert costs[0.02] == pytest.approx(4 * costs[0.01], rel=0.01)
    assert costs[0.3] < costs[0.6]
    assert costs[0.6] == pytest.approx(noted["levels"][-1]["divergence"], rel=0.01)
    assert noise_response.expect(noted, dict.fromkeys(noted["small"], 0.0), 0.0) == 0


def test_a_bound_lies_little_above_what_is_expected(noted: dict[str, Any]) -> None:
    """Eight times the expected divergence never passes; agreement and metric follow."""
    found = {"tokens": 512, "learned_tokens": 512, "metric_drop": 0.0, "asked_rows": 400}
    found["changed_answers"] = 36
    last = 0.0
    for error in (0.0054, 0.0178, 0.0715, 0.17):
        errors = dict.fromkeys(noted["small"], error)
        expected, bounds = noise_response.derive(noted, errors, 1e-6, found)
        assert 2.4 * expected < bounds["max_divergence"] < 7 * expected
        assert last < bounds["max_divergence"]
        assert 0 <= bounds["min_agreement"] < 1 < bounds["max_perplexity_ratio"]
        last = bounds["max_divergence"]
    few = noise_response.derive(noted, errors, 1e-6, {**found, "asked_rows": 20})[1]
    assert few["max_metric_drop"] > bounds["max_metric_drop"]


def test_nine_points_are_too_many_of_four_hundred_rows(noted: dict[str, Any]) -> None:
    """36 lost answers of 400 are beyond chance for a type that costs next to no tokens."""
    found = {"tokens": 512, "learned_tokens": 512, "metric_drop": 0.09, "asked_rows": 400}
    errors = dict.fromkeys(noted["small"], 0.0178)
    bounds = noise_response.derive(noted, errors, 0.0, {**found, "changed_answers": 36})[1]
    assert bounds["max_metric_drop"] < 0.089


def test_a_divergence_below_nothing_is_nothing(noted: dict[str, Any]) -> None:
    """The estimate for a file in 16 bits can be a little negative; its bounds are numbers."""
    found = {"tokens": 512, "learned_tokens": 512}
    errors = dict.fromkeys(noted["small"], 0.0)
    expected, bounds = noise_response.derive(noted, errors, -9.5e-09, found)
    assert (expected, bounds["max_divergence"]) == (0.0, 0.0)
    assert bounds["max_perplexity_ratio"] >= 1
