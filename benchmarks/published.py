"""Published measurements, read as jobs of the memory model: each row with its own stack.

A row is one object of `memory_cases.json`. A row that the model does not cover
gets a reason in words, so that nothing is skipped silently.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ftc.compiler.knowledge.architectures.architecture import (
    Shape,
    count_adapter_parameters,
    read_shape,
)
from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.plan.job import Job, Sharing, Storage
from ftc.compiler.plan.software import LITGPT, LITGPT_2023, PLAIN_4_48, Stack

Row = Mapping[str, Any]
Bound = Literal["plain", "fsdp", "fsdp-qlora-70b", "other"]

_WORKSPACE_BYTES: Final = 2 * 8_519_680  # cuBLAS before Hopper: 8,519,680 bytes per handle
_ZERO: Final[tuple[Sharing, ...]] = ("zero1", "zero2", "zero3")
_METHODS: Final = ("full", "lora", "qlora", "gptq-lora")
_LITGPT_NAMES: Final = {"mistral-7b": "mistral-7b-v0.1", "llama-2-7b": "llama-2-7b-hf"}
# Groups of rows that lack required facts, and the missing facts.
_UNMODELLED: Final = {
    "ms-swift": "ms-swift: reserved bytes for rows of many lengths, with default segments",
    "unsloth-2024": "Unsloth: batch and lengths are in notebooks, not on the page",
    "axolotl": "axolotl: rounded in READMEs, most with architectures that are not in the table",
    "liger": "Liger's charts: four GPUs, without the sharding or the share of each GPU",
    "peft-readme": "PEFT's README: no batch and no lengths, most are encoder-decoders",
    "peft-docs": "PEFT's FSDP pages: dashboards and ranges",
    "llamafactory-wiki": "LLaMA-Factory's wiki: whole gigabytes, no targets, no real lengths",
}
# whose FlashAttention classes repeat keys and values in transformers 4.45 (`repeat_kv`)
_REPEATING: Final = ("MistralForCausalLM", "MixtralForCausalLM")
# GPTQ checkpoints whose model card says: no group size
_UNGROUPED: Final = ("Llama-2-70B-GPTQ", "Mixtral-8x7B-Instruct-v0.1-GPTQ")
_LARGE: Final = 60_000_000_000  # parameters; FSDP-QLoRA of such a model is a separate family

# Models of published runs that are not in the table of well-known models.
_CONFIGS: Final[Mapping[str, Mapping[str, object]]] = {
    "gpt_bigcode-santacoder": {
        "architectures": ["GPTBigCodeForCausalLM"],
        "n_embd": 2048,
        "n_head": 16,
        "n_inner": 8192,
        "n_layer": 24,
        "n_positions": 2048,
        "vocab_size": 49280,
        "multi_query": True,
    },
    "powerlm-3b": {
        "architectures": ["GraniteForCausalLM"],
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 40,
        "num_attention_heads": 36,
        "num_key_value_heads": 36,
        "vocab_size": 49152,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row that the model covers: its job, its family, and the bound of the family.

    `kind` says what was measured: bytes allocated or reserved.
    """

    job: Job
    family: str
    bound: Bound
    kind: Literal["allocated", "reserved"]


def read_case(row: Row) -> Case | str:
    """Return a row as a case, or why the memory model does not cover it."""
    reason = _refuse(row)
    if reason is not None:
        return reason
    if str(row.get("group")).startswith("litgpt"):
        return _litgpt_case(row)
    shape = find_shape(str(row["model"]))
    if shape is None:
        return "the model's shape is not in the tables"
    sharding = _sharding(row)
    if sharding is None:
        return f"sharding is not modelled: {row['sharding']}"
    job = _job(row, shape, sharding)
    if isinstance(job, str):
        return job
    stack = _stack_name(row)
    place = "1 GPU" if sharding == "single" else sharding.rstrip("12").upper()
    reserved = row.get("kind") == "reserved"
    plain = stack == "plain" and sharding == "single" and not reserved and _known_versions(row)
    bound: Bound = "plain" if plain else "other"
    if sharding.startswith("fsdp"):
        large = job.storage != "plain" and shape.parameters > _LARGE
        if not reserved and _known_versions(row):
            bound = "fsdp-qlora-70b" if large else "fsdp"
        place += " (70B)" if large else ""
    method = "gptq-lora" if str(row["method"]).startswith("gptq") else str(row["method"])
    return Case(
        job=job,
        family=f"{method}, {stack}, {place}",
        bound=bound,
        kind="reserved" if reserved else "allocated",
    )


def _litgpt_case(row: Row) -> Case | str:
    """Return a run of LitGPT; its layers follow its source code and a trace.

    Only Llamas, with an untied head, an adapter on query and value, and one GPU without activation
    checkpointing.
    """
    if row["gpus"] != 1:
        return "LitGPT's own FSDP units and checkpoints"
    if row["method"] == "qlora":
        return "LitGPT's QLoRA: 7 to 21% more than its source explains"
    if row["method"] == "full":
        return "LitGPT, full: some figures are smaller than the states of the stated optimizer"
    if "head" in str(row["target_modules"]):
        return "LitGPT, an adapter on the output head as well"
    name = str(row["model"]).casefold().replace(" b", "b").replace(" ", "-")
    shape = find_shape(_LITGPT_NAMES.get(name, name))
    if shape is None or shape.architecture not in ("LlamaForCausalLM", "MistralForCausalLM"):
        return "LitGPT's version of an architecture other than Llama"
    if shape.tied:
        apart = shape.vocab * shape.hidden
        shape = replace(
            shape, tied=False, parameters=shape.parameters + apart, head_parameters=apart
        )
    targets, rank = ("q_proj", "v_proj"), int(row["lora_rank"])
    job = Job(
        shape=shape,
        full=False,
        trainable=count_adapter_parameters(shape, targets, rank),
        targets=targets,
        rank=rank,
        dropout=float(row.get("lora_dropout") or 0.0),
        load_bytes=2,
        compute_bytes=2,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=int(row["micro_batch"]),
        accumulation=2,
        length_tokens=int(row["seq_len"]),
        checkpointing=False,
        gpu=True,
        workspace_bytes=_WORKSPACE_BYTES,
        stack=LITGPT if row["group"] == "litgpt-config-hub" else LITGPT_2023,
    )
    return Case(job=job, family="lora, LitGPT, 1 GPU", bound="other", kind="allocated")


def measured_bytes(row: Row) -> int | None:
    """Return a row's peak, exact if published so, or None."""
    if row.get("peak_bytes"):
        return int(row["peak_bytes"])
    return round(row["peak_gib"] * 2**30) if row.get("peak_gib") else None


def card_bytes(row: Row) -> int | None:
    """Return the memory of a row's card as reported by its driver, or None."""
    match = find_accelerator(str(row.get("gpu_type") or ""))
    return match.accelerator.memory_bytes if match is not None else None


def find_shape(name: str) -> Shape | None:
    """Return the shape of a model by the last part of its name, ignoring the owner."""
    short = name.rsplit("/", maxsplit=1)[-1].casefold().removesuffix("-gptq")
    if short in _CONFIGS:
        return read_shape(_CONFIGS[short])
    for spelt in (_plain, _untuned):
        for model in all_models():
            if spelt(model.id.rsplit("/", maxsplit=1)[-1]) == spelt(short):
                return model.shape
    return None


def _plain(name: str) -> str:
    """Return a normalised model name."""
    return re.sub(r"^meta|hf$", "", re.sub(r"[^a-z0-9.]", "", name.casefold()))


def _untuned(name: str) -> str:
    """Return the name without suffixes of tuned versions, which have the base's shape."""
    return re.sub(r"instruct|chat|base|it$|hf$", "", _plain(name))


def framework(row: Row) -> str:
    """Return the row's `framework_config`: which kernels replaced those of transformers."""
    found = re.search(r"framework_config=([\w-]+)", str(row.get("notes", "")))
    return found.group(1) if found else "none"


def _refuse(row: Row) -> str | None:
    """Return why a row cannot be predicted, independently of its model."""
    measured = measured_bytes(row) is not None
    if row.get("method") not in _METHODS:
        return f"the method is not modelled: {row.get('method')}"
    if measured and str(row.get("kind")).startswith("nvidia-smi"):
        return "only nvidia-smi's figure, which includes free cached memory"
    if measured and row.get("group") in _UNMODELLED:
        return _UNMODELLED[str(row["group"])]
    if measured and row.get("kind") == "unknown":
        return "the source does not say what it measured"
    known = {"fms-acceleration", "litgpt-config-hub", "litgpt-resource-tables"}
    if row.get("group") not in known and "transformers" not in str(row.get("versions")):
        return f"modelling code or kernels of another project: {row.get('group')}"
    if not row.get("seq_len"):
        return "the lengths of the rows are not published"
    if not row.get("micro_batch"):
        return "the micro-batch is not published"
    kernels = {"none", "foak-fast-kernels", "foak-fast-kernels-liger", "baseline-peft-bnb"}
    peft = re.fullmatch(
        r"accelerated-peft-(bnb|autogptq)(-foak)?(-liger)?(-padding-free)?", framework(row)
    )
    if framework(row) not in kernels and not peft:
        return f"kernels are not modelled: {framework(row)}"
    return None


def _sharding(row: Row) -> Sharing | None:
    said = str(row.get("sharding", "none"))
    if row.get("gpus") == 1 and said == "none":
        return "single"
    zero = re.fullmatch(r"(?:deepspeed )?zero-?([123])", said.casefold())
    if zero is not None:
        return _ZERO[int(zero.group(1)) - 1]
    if said.casefold() == "ddp":
        return "ddp"
    if said.startswith("FSDP1"):
        return "fsdp1"
    return "fsdp" if said.startswith("FSDP2") else None


def _stack_name(row: Row) -> str:
    name = framework(row)
    plain = "auto-gptq" if str(row["method"]).startswith("gptq") else "plain"
    if name.endswith("-liger"):
        return "fused kernels + Liger"
    return "fused kernels" if "foak" in name else plain


def _autocast(row: Row) -> bool:
    """Whether the Trainer computed in a 16-bit autocast (its `bf16` or `fp16`)."""
    return " mixed" in str(row.get("precision")).replace("mixed precision: none", "")


def _storage(row: Row) -> Storage:
    if str(row["method"]).startswith("gptq"):
        name = str(row["model"]).rpartition("/")[2]
        return "gptq-4-row" if name in _UNGROUPED else "gptq-4"
    if row["method"] != "qlora":
        return "plain"
    return "nf4-double" if "double" in str(row.get("quant")) else "nf4"


def _targets(row: Row, shape: Shape) -> tuple[str, ...]:
    """Return the given adapter targets that this architecture has."""
    said = row.get("target_modules") or ""
    words = said.split() if isinstance(said, str) else list(said)
    return tuple(name for name in shape.linear_shapes if name in words)


def _job(row: Row, shape: Shape, sharding: Sharing) -> Job | str:
    full = row["method"] == "full"
    targets = () if full else _targets(row, shape)
    rank = int(row.get("lora_rank") or 0)
    if not full and not (targets and rank):
        return "the adapter is not published"
    # accelerate >= 0.30 under FSDP makes trained weights fp32 when mixed precision is on
    upcast = full and sharding != "single" and _autocast(row)
    return Job(
        shape=shape,
        full=full,
        trainable=shape.parameters if full else count_adapter_parameters(shape, targets, rank),
        targets=targets,
        rank=rank,
        dropout=float(row.get("lora_dropout") or 0.0),
        load_bytes=4 if upcast else 2,
        compute_bytes=2,
        storage=_storage(row),
        optimizer="adamw-8bit" if "8bit" in str(row.get("optimizer")) else "adamw",
        attention="eager" if row.get("attn") == "eager" else _attention(row),
        sharding=sharding,
        world=int(row["gpus"]),
        micro=int(row["micro_batch"]),
        accumulation=_accumulation(row),
        length_tokens=int(row["seq_len"]),
        checkpointing=bool(row.get("grad_ckpt")),
        gpu=True,
        workspace_bytes=_WORKSPACE_BYTES,
        stack=_stack(row, shape, sharding),
    )


def _accumulation(row: Row) -> int:
    """Return the micro-batches per step from the notes, or 1."""
    found = re.search(r"grad\w*[ _]accum\w*[ =:]+(\d+)", str(row.get("notes", "")))
    return int(found.group(1)) if found else 1


def _version(row: Row, package: str) -> tuple[int, ...]:
    """Return the version of a package in the row, or ()."""
    found = re.search(rf"\b{package}[ =]+(\d+(?:\.\d+)*)", str(row.get("versions", "")))
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


def _known_versions(row: Row) -> bool:
    """Whether the row's transformers is one whose kernels were read: 4.45 to 4.48."""
    return (4, 45) <= _version(row, "transformers")[:2] <= (4, 48)


def _attention(row: Row) -> Literal["sdpa", "flash_attention_2"]:
    return "flash_attention_2" if "flash" in str(row.get("attn")) else "sdpa"


def _stack(row: Row, shape: Shape, sharding: Sharing) -> Stack:
    """Return the kernels of a row: its transformers, its loss, its fused kernels.

    transformers 4.45 frees the 16-bit logits (12 bytes per entry, 4.48: 14). fms' kernels work on
    the log-softmax in place (four bytes fewer) and keep one hidden state less. GPT-BigCode has its
    own loss, without the upcast: 16-bit logits, a shifted copy, log-softmax and its gradient, and
    under autocast fp32 copies and layer norms. Granite scales its embedding: one hidden more.
    """
    old, fused = "transformers 4.45" in str(row.get("versions")), "foak" in framework(row)
    logits, hidden = (12 if old else 14) - (4 if fused else 0), 2 if fused else 3
    if shape.architecture == "GPTBigCodeForCausalLM":
        logits, hidden = (18, 8) if _autocast(row) else (8, 5)
        logits -= (4 if _autocast(row) else 2) if fused else 0
    if shape.architecture == "GraniteForCausalLM":
        hidden += 1
    quantized = _storage(row) != "plain"
    fused_adamw = _version(row, "torch")[:2] >= (2, 8)  # transformers' default since then
    one_by_one = not shape.architecture.startswith("GraniteMoe")  # has always had fused ones
    return replace(
        PLAIN_4_48,
        step_copies=0 if fused_adamw else 1,
        looped_experts=one_by_one and _version(row, "transformers") < (5,),
        loss="linear" if framework(row).endswith("-liger") else "logits",
        logits_bytes=logits,
        hidden_copies=hidden,
        adapter_input_bytes=2 if _autocast(row) else 4,
        adapter_bytes=2 if quantized and sharding != "single" else 4,
        upcast_norms=framework(row) == "baseline-peft-bnb" and sharding == "single",
        fused_norms=fused,
        fused_adapters=fused and quantized,
        repeated_keys=old and shape.architecture in _REPEATING,
        whole_adapters=quantized,
    )
