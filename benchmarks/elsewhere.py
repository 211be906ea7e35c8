"""Compares plans with published runs of other code: other trainers, older versions, other cards.

    python -m benchmarks.elsewhere

`other_stacks.json` has 70 runs that no formula was written for. Each is planned with the losses,
dtypes and optimizers of its own code. A figure is of allocated bytes, of reserved ones, or of those
in use on the device, which is assumed where a source does not say. None is known to have used
expandable segments, so reserved and device bytes include free ones that were cached. What the plan
expects of them is compared, without its margin. Prints the errors of the memory and of the tokens
per second by family; `memory.md` discusses them.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.published import Case, Row, find_shape
from benchmarks.rates import planned_rate, read_hardware
from benchmarks.reserved import reserve, weigh
from ftc.compiler.knowledge.architectures.architecture import (
    Shape,
    count_adapter_parameters,
    read_shape,
)
from ftc.compiler.knowledge.hardware.accelerators import Accelerator, find_accelerator
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.peak import overhead_bytes, scattered_bytes, workspace_bytes
from ftc.compiler.plan.memory.phases import phases
from ftc.compiler.plan.software import GIB, LIGER, PINNED, PLAIN_4_48, Stack

ROWS: Final = Path(__file__).with_name("other_stacks.json")

# transformers 4.32 to 4.38, PEFT before 0.12 and torch 2.0: adapters are in the dtype of the base;
# 16-bit logits, their shifted copy, one in fp32 and its log-softmax; AdamW makes two copies.
_2023: Final = replace(
    PLAIN_4_48, logits_bytes=12, adapter_bytes=2, adapter_input_bytes=2, step_copies=2
)
# transformers 4.5x, torch 2.8 (`loss_utils.py` shifts the labels)
_PLAIN_2025: Final = replace(PINNED, loss="logits", logits_bytes=14)
# hidden size, layers, intermediate size and vocabulary of `QWenLMHeadModel`, which has Qwen2's
# layers, with a key per head
_QWEN: Final = {
    "Qwen-1.8B": (2048, 24, 5504, 151_936),
    "Qwen-7B": (4096, 32, 11_008, 151_936),
    "Qwen-14B": (5120, 40, 13_696, 151_936),
    "Qwen-72B": (8192, 80, 24_576, 152_064),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A run: its family, and the relative errors of its planned memory and rate, if published."""

    family: str
    memory: float
    rate: float | None


def compare(rows: Iterable[Row]) -> list[Compared]:
    """Plan each run and return its errors, positive where the plan is too high or too fast."""
    found = []
    for row in rows:
        match = find_accelerator(str(row["gpu_type"]))
        assert match is not None, row["gpu_type"]
        job = read_job(row, match.accelerator)
        family = f"{row['group']}, {row['method']}, {row['sharding']}, {row['kind']}"
        rate = row.get("tokens_per_s")
        case = Case(job=job, family=family, bound="other", kind="allocated")
        found.append(
            Compared(
                family=family,
                memory=_expect(job, row["kind"]) / (row["peak_gib"] * GIB) - 1,
                rate=planned_rate(case, match.accelerator) / rate - 1 if rate else None,
            )
        )
    return found


def _expect(job: Job, kind: str) -> int:
    """Return the bytes that the plan expects of what was measured."""
    allocated = max(phases(job).values())
    if kind == "allocated":
        return allocated
    reserved = allocated + scattered_bytes(job, allocated)
    if job.sharding == "single":
        reserved = round(weigh(*reserve(job)))
    return reserved if kind == "reserved" else reserved + overhead_bytes(job)


def read_job(row: Row, card: Accelerator) -> Job:
    """Return a run as a job."""
    shape, full = _read_shape(row["model"]), row["method"] == "full"
    said = row.get("target_modules", "")
    targets = tuple(name for name in shape.linear_shapes if said == "all" or name in said.split())
    rank = row.get("lora_rank", 0)
    whole: dict[str, Any] = {}
    trained = shape.parameters if full else count_adapter_parameters(shape, targets, rank)
    if row.get("also_trained"):
        saved = shape.embedding_parameters + shape.head_parameters
        trained += saved
        whole = {"saved_parameters": saved, "trains_embedding": True, "trains_head": True}
    return Job(
        shape=shape,
        full=full,
        trainable=trained,
        targets=targets,
        rank=rank,
        dropout=row.get("lora_dropout", 0.0),
        load_bytes=4 if full and row["sharding"] == "fsdp" else 2,
        compute_bytes=2,
        storage="nf4" if row["method"] == "qlora" else "plain",
        attention=row["attn"],
        sharding=row["sharding"],
        world=row["gpus"],
        micro=row["micro_batch"],
        accumulation=row["accumulation"],
        length_tokens=row["seq_len"],
        packed=row.get("packing", False),
        even=True,
        checkpointing=row["grad_ckpt"],
        gpu=True,
        workspace_bytes=workspace_bytes(read_hardware(card, row["gpus"])),
        stack=_read_stack(row, shape),
        **whole,
    )


def _read_shape(name: str) -> Shape:
    if name not in _QWEN:
        shape = find_shape(name)
    else:
        hidden, layers, intermediate, vocab = _QWEN[name]
        config: Mapping[str, Any] = {
            "architectures": ["Qwen2ForCausalLM"],
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "intermediate_size": intermediate,
            "num_attention_heads": hidden // 128,
            "num_key_value_heads": hidden // 128,
            "vocab_size": vocab,
        }
        shape = read_shape(config)
    assert shape is not None, name
    return shape


def _read_stack(row: Row, shape: Shape) -> Stack:
    """Return the kernels of a run. The Trainer sizes ZeRO's buckets by the hidden size ("auto")."""
    if row.get("liger"):
        stack = replace(LIGER, loss="linear")
    elif row["group"] == "ms-swift-examples":
        stack = _PLAIN_2025
    elif row["group"] == "trl-2026":
        stack = PINNED
    else:
        stack = _2023
    if row["sharding"] != "zero3":
        return stack
    return replace(stack, step_copies=0, bucket_elements=shape.hidden**2)  # DeepSpeed's FusedAdam


def describe(errors: Sequence[float]) -> str:
    """Return the number of errors, their absolute median, the largest one, and their bias."""
    if not errors:
        return f"{'':>6}{'':>9}{'':>9}{'':>9}"
    sizes = sorted(map(abs, errors))
    shares = (statistics.median(sizes), sizes[-1], statistics.fmean(errors))
    return f"{len(errors):>6}" + "".join(f"{share:>9.1%}" for share in shares)


def main() -> None:
    """Print a line per family."""
    families: dict[str, list[Compared]] = defaultdict(list)
    for each in compare(json.loads(ROWS.read_text(encoding="utf-8"))):
        families[each.family].append(each)
    columns = f"{'n':>6}{'median':>9}{'max':>9}{'bias':>9}"
    print(f"{'memory, and tokens per second':48}{columns}  |{columns}")
    for family, found in sorted(families.items()):
        rates = [each.rate for each in found if each.rate is not None]
        memory = describe([each.memory for each in found])
        print(f"{family:48}{memory}  |{describe(rates)}")


if __name__ == "__main__":
    main()
