"""Freezing and the parts of an adapter: how many weights move, and what stays."""

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.memory.phases import parts_of_phases
from ftc.compiler.plan.method.adapter import decide_adapter, decide_freezing, matched
from ftc.compiler.plan.planner import make_frame, make_plan
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec
from tests.compiler.conftest import BuildKnown

FREEZE = {"/spec/method/type": "freeze"}
LAYER = 233_057_792  # of Qwen2.5-7B: all of its weights in one layer
TABLE = 152_064 * 3584


def case_of(build_known: BuildKnown, **method: object) -> tuple[Spec, KnownFacts, Shape]:
    """Return a case of which the method says this."""
    edits = {f"/spec/method/{name}": value for name, value in method.items()}
    spec, facts = build_known(edits)
    return spec, facts, shape_of(facts.model)


@pytest.mark.parametrize(
    ("method", "layers", "weights", "frozen"),
    [
        ({}, (21, 22, 23, 24, 25, 26, 27), 7 * LAYER, 21),
        ({"layers": 2}, (26, 27), 2 * LAYER, 26),
        ({"layers": (3, 27)}, (3, 27), 2 * LAYER, 3),
        ({"layers": 1, "also_train": ("head",)}, (27,), LAYER + TABLE, 27),
        ({"layers": 1, "also_train": ("embeddings",)}, (27,), LAYER + TABLE, 0),
    ],
)
def test_layers_that_are_trained(
    build_known: BuildKnown,
    method: dict[str, object],
    layers: tuple[int, ...],
    weights: int,
    frozen: int,
) -> None:
    """The last quarter by default; an embedding that is trained needs a pass through all."""
    spec, _, shape = case_of(build_known, type="freeze", **method)
    found = decide_freezing(spec, shape)

    assert found is not None
    assert (found.layers.value, found.parameters) == (layers, weights)
    assert found.frozen_layers == frozen


def test_freezing_needs_less_memory(build_known: BuildKnown) -> None:
    """Than a full fine-tune, whose gradients and states are of all weights."""
    frozen = make_plan(*build_known(FREEZE))
    full = make_plan(*build_known({"/spec/method/type": "full"}))

    assert frozen.trainable_parameters == 7 * LAYER
    assert frozen.memory.allocated_bytes < 0.6 * full.memory.allocated_bytes


def test_a_pattern_counts_the_layers_that_it_matches(build_known: BuildKnown) -> None:
    """One kind in two of 28 layers is a fourteenth of it in all."""
    spec, _, shape = case_of(build_known, target_pattern=r"model\.layers\.(3|4)\.mlp\.up_proj")
    every, _, _ = case_of(build_known, targets=("up_proj",))
    some, all_of = decide_adapter(spec, shape), decide_adapter(every, shape)

    assert some is not None
    assert all_of is not None
    assert matched(shape, r"model\.layers\.(3|4)\.mlp\.up_proj") == (("up_proj", 3), ("up_proj", 4))
    assert some.targets.value == ("up_proj",)
    assert some.parameters * 14 == all_of.parameters
    assert matched(shape, "(") == matched(shape, "up_proj") == ()


def test_a_tied_head_is_the_embedding(build_known: BuildKnown) -> None:
    """It is counted once, as it is trained once."""
    tied = {"/config/tie_word_embeddings": True, "/spec/method/also_train": ("head",)}
    plain = make_plan(*build_known({"/config/tie_word_embeddings": True}))

    assert make_plan(*build_known(tied)).trainable_parameters - plain.trainable_parameters == TABLE


def test_the_memory_model_is_told_of_all(build_known: BuildKnown) -> None:
    """Eight bits, DoRA, an optimizer and smoothing reach the job."""
    edits = {
        "/spec/method/type": "qlora",
        "/spec/method/quantization": "int8",
        "/spec/method/dora": True,
        "/spec/training/optimizer": "paged_adamw_8bit",
        "/spec/training/label_smoothing": 0.1,
    }
    job = make_frame(*build_known(edits)).job("single", checkpointing=False, micro=1)

    assert (job.storage, job.dora, job.optimizer, job.smoothed) == (
        "int8",
        True,
        "paged-adamw-8bit",
        True,
    )


@pytest.mark.parametrize(
    ("edits", "checkpointing", "frozen"),
    [
        ({"/spec/method/target_pattern": ".*layers\\.2[67]\\..*_proj"}, False, 26),
        ({"/spec/method/target_pattern": ".*layers\\.2[67]\\..*_proj"}, True, 0),
        ({}, False, 0),
        (
            {
                "/spec/method/target_pattern": ".*layers\\.27\\..*_proj",
                "/spec/method/also_train": ("embeddings",),
            },
            False,
            0,
        ),
        (
            {
                "/spec/method/target_pattern": ".*layers\\.27\\..*_proj",
                "/spec/method/type": "qlora",
            },
            False,
            0,
        ),
    ],
)
def test_an_adapter_on_the_last_layers_reaches_no_others(
    build_known: BuildKnown, edits: dict[str, object], checkpointing: bool, frozen: int
) -> None:
    """Their activations are not kept, unless something before them asks for a gradient."""
    spec, facts = build_known(edits)
    frame = make_frame(spec, facts)
    job = frame.job("ddp", checkpointing=checkpointing, micro=1)
    assert job.frozen_layers == frozen
    whole = make_frame(*build_known({})).job("ddp", checkpointing=checkpointing, micro=1)
    kept = [parts_of_phases(each)["layer_backward"]["activations"] for each in (job, whole)]
    assert (kept[0] < kept[1] / 4) == (frozen > 0)


def test_frozen_layers_stay_in_16_bits(build_known: BuildKnown) -> None:
    """Beside trained layers in fp32, unless an answer is generated or another dtype would be."""
    plan = make_plan(*build_known(FREEZE))
    answering = make_plan(*build_known({**FREEZE, "/spec/training/evaluation/samples": 2}))
    stored_wide = make_plan(*build_known({**FREEZE, "/facts/model/dtype": "float32"}))
    rounded = make_plan(*build_known({**FREEZE, "/facts/model/dtype": "float16"}))

    assert plan.decisions.compute.load_dtype.value == "bf16"
    assert plan.decisions.compute.load_dtype.because.key == "load.frozen_layers"
    assert rounded.decisions.compute.load_dtype.because.key == "load.frozen_layers.rounded"
    for other in (answering, stored_wide):
        assert other.decisions.compute.load_dtype.value == "fp32"
    frozen = 7_615_616_512 - plan.trainable_parameters
    static = [each.memory.parts["evaluation"]["static"] for each in (plan, stored_wide)]
    assert static[1] - static[0] == 2 * frozen
