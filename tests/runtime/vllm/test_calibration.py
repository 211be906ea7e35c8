"""How large the inputs of each matrix get, and what rounding them does to a model."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("compressed_tensors")
transformers = pytest.importorskip("transformers")
from ftc.runtime.vllm import calibration  # noqa: E402 - they need torch
from ftc.runtime.vllm.compressing import find_scheme, list_matrices  # noqa: E402

ROWS = [{"ids": [3, 4, 5]}, {"ids": [6]}]


@pytest.fixture(name="model")
def _model() -> Any:
    """Return a small model of random weights."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def make_compute(model: Any) -> Callable[[Any], Any]:
    """Return what runs the model on a row."""

    def compute(row: Any) -> Any:
        with torch.inference_mode():
            return model(torch.tensor([row["ids"]])).logits

    return compute


def test_extents_are_the_largest_values_of_all_rows(model: Any) -> None:
    """Of the weights, and of what reaches them; the order of the rows is of no account."""
    seen: list[Any] = []
    name = "model.layers.1.mlp.down_proj"
    handle = model.get_submodule(name).register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0].abs().max().item())
    )
    found = calibration.find_extents(model, ROWS, make_compute(model))
    handle.remove()

    assert found.keys() == list_matrices(model).keys()
    assert found[name].input == max(seen)
    assert found[name].weight == model.get_submodule(name).weight.abs().max().item()
    assert calibration.find_extents(model, ROWS[::-1], make_compute(model)) == found


@pytest.mark.parametrize("place", [0, 1])
def test_an_input_that_is_no_number_is_not_lost(model: Any, place: int) -> None:
    """In the first row or a later one; whoever asks for the extents refuses it."""
    name = "model.layers.0.self_attn.q_proj"
    compute = make_compute(model)

    def spoil(row: Any) -> Any:
        broken = row is ROWS[place]
        norm = model.model.layers[0].input_layernorm.weight.data
        norm.fill_(float("nan") if broken else 1.0)
        return compute(row)

    found = calibration.find_extents(model, ROWS, spoil)

    assert found[name].input != found[name].input


def test_without_rows_no_input_was_seen(model: Any) -> None:
    """As of an expert that no token was sent to."""
    found = calibration.find_extents(model, [], make_compute(model))

    assert {extent.input for extent in found.values()} == {0.0}


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [("FP8", True), ("FP8_DYNAMIC", True), ("NVFP4", True), ("W4A16", False), ("NVFP4A16", False)],
)
def test_only_some_types_round_inputs(model: Any, kind: str, *, rounds: bool) -> None:
    """The outputs change a little inside of the block, and not after it."""
    assert calibration.rounds_inputs(kind) is rounds
    if not rounds or kind == "NVFP4":  # compiled when it is first rounded, which takes long
        return
    compute = make_compute(model)
    before = compute(ROWS[0])
    extents = calibration.find_extents(model, ROWS, compute)
    with calibration.rounded_inputs(model, kind, extents):
        inside = compute(ROWS[0])

    apart = (inside - before).norm() / before.norm()
    assert 0 < apart < 0.1
    assert torch.equal(compute(ROWS[0]), before)


def test_an_error_inside_leaves_no_rounding_behind(model: Any) -> None:
    """The hooks are taken off."""
    compute = make_compute(model)
    before = compute(ROWS[0])
    extents = calibration.find_extents(model, ROWS, compute)
    with (
        pytest.raises(ValueError, match="in the middle"),
        calibration.rounded_inputs(model, "FP8", extents),
    ):
        raise ValueError("in the middle")

    assert torch.equal(compute(ROWS[0]), before)


def test_a_fixed_scale_holds_up_to_the_largest_input() -> None:
    """What is larger is cut off at it, and rounding keeps what is representable."""
    args = find_scheme("FP8").input_activations
    given = torch.tensor([[0.0, 448.0, -448.0, 100.0, 900.0]])
    found = calibration.round_inputs(given, args, 448.0)

    assert found[0, :3].tolist() == [0.0, 448.0, -448.0]
    assert abs(found[0, 3].item() - 100.0) <= 100.0 * 2**-4
    assert found[0, 4].item() == 448.0
