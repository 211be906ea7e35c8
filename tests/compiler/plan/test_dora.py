"""What DoRA keeps for its backward pass: the plan against PEFT's own layers on a real Llama."""

from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.phases import parts_of_phases
from ftc.compiler.plan.method.adapter import adapter_parameters

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 128,
    "intermediate_size": 320,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 64,
    "tie_word_embeddings": False,
}
# PEFT asks transformers by an old name
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing")
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def kept_bytes(layers: int, tokens: int, *, dora: bool, dropout: float) -> int:
    """Return the bytes of all that autograd saves in a forward pass, parameters apart."""
    torch = pytest.importorskip("torch")
    transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")
    sizes = {key: value for key, value in CONFIG.items() if key != "architectures"}
    config = transformers.LlamaConfig(num_hidden_layers=layers, **sizes)
    adapter = peft.LoraConfig(
        r=8, lora_dropout=dropout, target_modules=list(TARGETS), use_dora=dora
    )
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config).to(torch.bfloat16), adapter)
    model.train()
    model.enable_input_require_grads()
    own = {tensor.untyped_storage().data_ptr() for tensor in model.parameters()}
    saved: dict[int, int] = {}
    held = []  # so that no address is used twice

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)
        return tensor

    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
    ):
        model.base_model.model.model(input_ids=torch.zeros(1, tokens, dtype=torch.long))
    return sum(saved.values())


def shape_of(layers: int) -> Shape:
    """Return the shape of such a Llama."""
    shape = read_shape({**CONFIG, "num_hidden_layers": layers})
    assert shape is not None
    return shape


def planned(shape: Shape, tokens: int, *, dora: bool, dropout: float = 0.0) -> dict[str, int]:
    """Return what the plan has while the loss is computed."""
    job = Job(
        shape=shape,
        full=False,
        trainable=adapter_parameters(shape, TARGETS, 8, dora=dora),
        targets=TARGETS,
        rank=8,
        dropout=dropout,
        dora=dora,
        load_bytes=2,
        compute_bytes=2,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=1,
        accumulation=1,
        length_tokens=tokens,
        checkpointing=False,
        gpu=True,
    )
    return parts_of_phases(job)["loss"]


def per_layer(tokens: int, *, dora: bool, dropout: float = 0.0) -> int:
    """Return what one layer more keeps."""
    two, one = (kept_bytes(n, tokens, dora=dora, dropout=dropout) for n in (2, 1))
    return two - one


def test_dora_keeps_two_outputs_of_each_module() -> None:
    """Of base and of adapter, per token; what the norm of the weights takes is no token's."""
    more = {
        tokens: per_layer(tokens, dora=True) - per_layer(tokens, dora=False) for tokens in (64, 128)
    }
    plan = {dora: planned(shape_of(1), 64, dora=dora)["activations"] for dora in (False, True)}
    assert more[128] - more[64] == plan[True] - plan[False]


def test_with_dropout_dora_keeps_its_weights() -> None:
    """A copy of each adapted weight in 16 bits."""
    with_norm = per_layer(64, dora=True) - per_layer(64, dora=False)
    kept = per_layer(64, dora=True, dropout=0.1) - per_layer(64, dora=False, dropout=0.1)
    assert kept - with_norm == planned(shape_of(1), 64, dora=True, dropout=0.1)["copies"]
