"""What objectives and methods beyond supervised LoRA cost: memory, and passes of the model."""

from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import count_adapter_parameters
from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import cache_bytes
from ftc.compiler.plan.memory.passes import passes_without_gradient, scored_shape
from ftc.compiler.plan.memory.peak import measure
from ftc.compiler.plan.memory.phases import parts_of_phases, phases
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.software import LIGER
from ftc.compiler.plan.summary.headline import PARTS
from ftc.compiler.plan.time.roofline import generation_seconds, operations, passes
from ftc.compiler.plan.time.run import Mined, mining_seconds, step_seconds
from ftc.compiler.resolve.facts import HardwareFacts
from tests.compiler.conftest import BuildKnown

SHAPE = next(model.shape for model in all_models() if model.id == "Qwen/Qwen2.5-7B")
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def lora(**changes: Any) -> Job:
    """Return a LoRA of Qwen2.5-7B in bf16, two rows of 1,024 tokens."""
    job = Job(
        shape=SHAPE,
        full=False,
        trainable=count_adapter_parameters(SHAPE, TARGETS, 16),
        targets=TARGETS,
        rank=16,
        load_bytes=2,
        compute_bytes=2,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=2,
        accumulation=4,
        length_tokens=1024,
        checkpointing=True,
        gpu=True,
    )
    return replace(job, **changes)


def full(**changes: Any) -> Job:
    """Return a full fine-tune of the same, fp32 weights under autocast."""
    return lora(full=True, trainable=SHAPE.parameters, targets=(), rank=0, load_bytes=4, **changes)


def a100() -> HardwareFacts:
    """Return one A100."""
    found = find_accelerator("A100-80GB")
    assert found is not None
    card = found.accelerator
    return HardwareFacts(
        kind="gpu",
        name=card.name,
        count=1,
        memory_bytes=card.memory_bytes,
        bf16=True,
        compute_capability=8.0,
        bandwidth_gb_s=card.bandwidth_gb_s,
        bf16_tflops=card.bf16_tflops,
        link="nvlink",
        cores=None,
        host_ram_bytes=None,
        origin="spec",
        flash_attention_2=True,
        disk_free_bytes=None,
        also_matches=(),
    )


def test_the_table_agrees_with_what_the_language_knows() -> None:
    """The same kind of head."""
    for name, entry in OBJECTIVES.items():
        assert (entry.head == "tokens") == (entry.loss != "scores"), name


def test_a_reranker_reads_each_pair_of_a_row() -> None:
    """A row of scores is one pair, and one with three drawn texts is four."""
    scored, drawn = (phases(lora(objective="rerank", micro=4 // n, texts=n)) for n in (1, 4))
    triplet = phases(lora(objective="rerank", micro=2, texts=2))
    assert scored == drawn == triplet
    assert phases(lora(objective="rerank", micro=4, texts=4)) != drawn


def test_a_pair_is_two_rows() -> None:
    """Both answers of a pair go through the model at once, as a batch of twice the rows."""
    plain, pair = phases(lora(micro=4)), phases(lora(objective="orpo", micro=2))
    assert pair["layer_backward"] == plain["layer_backward"]
    assert pair["optimizer_step"] == plain["optimizer_step"]


def test_a_reference_copy_takes_the_weights_again() -> None:
    """A full fine-tune's DPO needs a second model; an adapter's is the base itself."""
    sft, dpo = full(), full(objective="dpo", reference="copy")
    more = phases(dpo)["optimizer_step"] - phases(replace(dpo, reference="none"))["optimizer_step"]
    assert more == 4 * SHAPE.parameters
    assert phases(sft)["load"] == phases(dpo)["load"]
    assert (
        phases(lora(objective="dpo", reference="adapter_off"))["optimizer_step"]
        == phases(lora(objective="dpo", reference="precomputed"))["optimizer_step"]
    )


def test_the_reference_is_asked_while_activations_wait() -> None:
    """DPO's pass without gradients comes on top of what the policy keeps; GRPO's before it."""
    dpo = parts_of_phases(lora(objective="dpo", reference="adapter_off"))
    scored = parts_of_phases(
        lora(objective="grpo", reference="adapter_off", micro=4, answer_tokens=256)
    )
    kept = dpo["reference"]["activations"] - scored["reference"]["activations"]
    mask = 4 * 1024 * 1024  # of the policy's pass, a byte for each pair of tokens
    assert kept == 4 * 1024 * SHAPE.layers * 2 * SHAPE.hidden + mask
    assert "reference" not in parts_of_phases(lora(objective="dpo", reference="precomputed"))


def test_passes_without_gradients() -> None:
    """KTO asks policy and reference about mismatched answers, RLOO the policy before it learns."""
    assert passes_without_gradient(lora(objective="dpo", reference="copy")) == 1
    assert passes_without_gradient(lora(objective="dpo", reference="precomputed")) == 0
    assert passes_without_gradient(lora(objective="kto", reference="adapter_off")) == 3
    assert passes_without_gradient(lora(objective="kto", reference="precomputed")) == 1
    assert passes_without_gradient(lora(objective="grpo", reference="none")) == 0
    assert passes_without_gradient(lora(objective="rloo", reference="none")) == 1
    assert passes_without_gradient(lora(objective="rloo", reference="adapter_off")) == 2
    assert passes_without_gradient(lora()) == 0


def test_a_pass_more_takes_its_time() -> None:
    """A reference's forward pass beside forward, recomputation and a backward of one."""
    asked = lora(objective="dpo", reference="adapter_off")
    alone = replace(asked, reference="precomputed")
    ratio = step_seconds(asked, a100(), 512) / step_seconds(alone, a100(), 512)
    assert ratio == pytest.approx(4 / 3, rel=0.02)


def test_scores_make_no_logits() -> None:
    """A head of three labels needs no tile and no gradient of a vocabulary."""
    scored = scored_shape(SHAPE, 3)
    job = full(objective="classification")
    job = replace(job, shape=scored, trainable=scored.parameters)
    loss = parts_of_phases(job)["loss"]["loss"]
    assert loss == 3 * 2 * 1024 * 2 * SHAPE.hidden
    assert scored.parameters == SHAPE.parameters - SHAPE.head_parameters + 3 * SHAPE.hidden
    assert loss < parts_of_phases(full())["loss"]["loss"] / 10


def test_orpo_holds_all_logits() -> None:
    """Its trainer is the only one without a fused head: 14 bytes per token and word."""
    loss = parts_of_phases(lora(objective="orpo"))["loss"]["loss"]
    assert loss > 14 * 4 * 1024 * SHAPE.vocab


def test_generation_keeps_keys_and_values_of_a_whole_step() -> None:
    """All answers of an optimizer step are generated together."""
    job = lora(objective="grpo", answer_tokens=512)
    generation = parts_of_phases(job)["generation"]
    assert generation["cache"] == cache_bytes(job) == 8 * 1024 * 29 * 2 * 4 * 128 * 2
    assert "generation" not in parts_of_phases(lora())
    half = replace(job, answer_tokens=256)
    slower = generation_seconds(job, a100()) / generation_seconds(half, a100())
    assert slower == pytest.approx(2, rel=0.1)
    assert generation_seconds(lora(), a100()) == 0


def test_layers_before_the_first_trained_one_keep_nothing() -> None:
    """Half of the layers frozen: half of the inputs kept, and the forward pass as before."""
    layer = SHAPE.largest_layer_parameters
    frozen = 14 * layer + SHAPE.embedding_parameters
    job = full(frozen_layers=14)
    job = replace(job, trainable=SHAPE.parameters - frozen)
    loss, whole = parts_of_phases(job)["loss"], parts_of_phases(full())["loss"]
    assert whole["activations"] - loss["activations"] == 14 * 2048 * 4 * SHAPE.hidden
    assert loss["static"] == 4 * frozen + 12 * (SHAPE.parameters - frozen)
    assert passes(job) == pytest.approx(1 + 3 / 2)
    assert operations(job) < operations(full())


def test_trained_modules_and_tokens_beside_an_adapter() -> None:
    """A whole embedding is trained in fp32 with its moments; a few rows cost a copy of it."""
    embedding = SHAPE.vocab * SHAPE.hidden
    job = lora()
    saved = replace(
        job,
        trainable=job.trainable + embedding,
        saved_parameters=embedding,
        trains_embedding=True,
    )
    static = parts_of_phases(saved)["loss"]["static"] - parts_of_phases(job)["loss"]["static"]
    assert static == 12 * embedding
    assert (
        parts_of_phases(saved)["loss"]["activations"] > parts_of_phases(job)["loss"]["activations"]
    )
    rows = replace(job, trained_tokens=4, trainable=job.trainable + 4 * SHAPE.hidden)
    assert parts_of_phases(rows)["layer_backward"]["copies"] == 2 * embedding


def test_a_head_that_moves_beside_an_adapter_has_an_fp32_gradient() -> None:
    """TRL's fused head adds it up in fp32, whoever trains it."""
    fixed = parts_of_phases(lora())["loss"]["loss"]
    moves = parts_of_phases(lora(trains_head=True))["loss"]["loss"]
    assert moves - fixed == 4 * SHAPE.vocab * SHAPE.hidden


def test_dora_keeps_two_outputs_and_with_dropout_the_weights() -> None:
    """Recomputing hides it: then one layer's are there at a time."""
    plain, dora = phases(lora(checkpointing=False)), phases(lora(checkpointing=False, dora=True))
    outputs = sum(SHAPE.linear_shapes[name].out_features for name in TARGETS)
    assert dora["loss"] - plain["loss"] == 2048 * 28 * 2 * 2 * outputs
    dropped = parts_of_phases(lora(checkpointing=False, dora=True, dropout=0.1))["loss"]["copies"]
    assert dropped == 2 * SHAPE.linear_parameters
    again = parts_of_phases(lora(dora=True, dropout=0.1))
    assert again["loss"]["copies"] == 0
    assert again["layer_backward"]["copies"] > 2 * SHAPE.linear_parameters // 28


def test_a_base_in_eight_bits() -> None:
    """A byte a weight, and inputs that other frozen modules do not keep."""
    eight, sixteen = lora(storage="int8"), lora()
    saved = phases(sixteen)["load"] - phases(eight)["load"]
    assert saved == pytest.approx(SHAPE.linear_parameters, rel=0.03)
    kept = parts_of_phases(replace(eight, checkpointing=False))["loss"]["activations"]
    plain = parts_of_phases(replace(sixteen, checkpointing=False))["loss"]["activations"]
    inputs = 2 * (2 * SHAPE.hidden + SHAPE.intermediate)
    assert kept - plain == 2048 * 28 * inputs


def test_liger_keeps_less_of_a_layer() -> None:
    """Norms recomputed from their input, and an MLP's activation not kept."""
    plain = phases(lora(checkpointing=False))["loss"]
    liger = phases(lora(checkpointing=False, stack=LIGER))["loss"]
    assert plain - liger > 2048 * 28 * 2 * SHAPE.intermediate


def test_label_smoothing_needs_all_logits_and_a_pass_more() -> None:
    """TRL's own head runs beside it, for the metrics."""
    job = lora(smoothed=True)
    assert parts_of_phases(job)["loss"]["loss"] > 16 * 2048 * SHAPE.vocab
    assert passes_without_gradient(job) == 1
    assert parts_of_phases(job)["extra_pass"]["activations"] > 2048 * 28 * 2 * SHAPE.hidden


def test_every_part_of_a_phase_has_its_mark_in_a_bar() -> None:
    """What a bar leaves out would be missing from its length."""
    jobs = (
        lora(objective="grpo", answer_tokens=256, reference="adapter_off"),
        full(objective="dpo", reference="copy"),
    )
    for job in jobs:
        for parts in parts_of_phases(job).values():
            assert set(parts) <= set(PARTS)


def test_what_fits_does_so_with_a_margin_beyond_what_is_expected() -> None:
    """The parts add up; one byte less than all of them is too little."""
    job = full(length_tokens=256, micro=1)
    wide = measure(job, replace(a100(), memory_bytes=400 * 2**30))
    assert wide.allocated_bytes < wide.expected_bytes
    assert wide.expected_bytes + wide.margin_bytes == wide.reserved_bytes
    assert wide.margin_bytes >= 0.05 * wide.allocated_bytes - 1
    needed = wide.device_bytes
    assert measure(job, replace(a100(), memory_bytes=needed)).fits
    short = measure(job, replace(a100(), memory_bytes=needed - 1))
    assert short.fits is False
    assert short.device_bytes == needed


def test_vectors_of_several_sizes_take_a_little_memory() -> None:
    """Each of a step's texts has its vectors in fp32, their copies and gradients."""
    job = lora(objective="embed", texts=2)
    sized = replace(job, vector_numbers=3584 + 256)
    more = phases(sized)["loss"] - phases(job)["loss"]

    assert more == 3 * 4 * (3584 + 256) * job.micro * job.accumulation * 2
    assert more < 2**20 < phases(job)["loss"]
    ranked = replace(sized, scored_pairs=True)  # the pairs of one pass only
    assert phases(ranked)["loss"] < phases(sized)["loss"]


def test_more_texts_of_a_row_take_time_and_no_memory() -> None:
    """An embedding model reads one column after the other."""
    pair, five = lora(objective="embed", texts=2), lora(objective="embed", texts=5)
    assert phases(pair) == phases(five)
    assert pair.sequences == five.sequences
    seconds = step_seconds(five, a100(), 512) / step_seconds(pair, a100(), 512)
    assert 2.3 < seconds < 2.6


def test_mining_reads_all_texts_once() -> None:
    """Twice the texts take twice the time; without a rate the time is not known."""
    job = lora(objective="embed", texts=2)
    once = mining_seconds(job, a100(), Mined(texts=32_000, row_tokens=128))
    twice = mining_seconds(job, a100(), Mined(texts=64_000, row_tokens=128))
    assert once is not None
    assert twice == pytest.approx(2 * once)
    assert 5 < once < 600
    assert mining_seconds(job, a100(), None) is None


@pytest.mark.parametrize(
    ("poolings", "expected"),
    [(["cls"], ("cls", "pooling.own")), (["mean", "max"], ("lasttoken", "pooling.causal"))],
)
def test_the_pooling_is_the_model_s_own(
    build_known: BuildKnown, poolings: list[str], expected: tuple[str, str]
) -> None:
    """What `modules.json` says takes precedence, where the spec has that pooling too."""
    edits: dict[str, Any] = {
        "/spec/objective/type": "embed",
        "/spec/export/types": [],
        "/facts/data/form": "prompt_completion",
        "/facts/model/text_modules": {"poolings": poolings},
    }
    pooling = make_plan(*build_known(edits)).decisions.vectors.pooling
    assert pooling is not None
    assert (pooling.value, pooling.because.key) == expected
