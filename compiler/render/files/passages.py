"""The passages of the README: each is a block of its template, with the bundles that have it."""

from collections.abc import Callable, Mapping
from typing import Final

from ftc.compiler.render.uses import Uses


def _answers(uses: Uses) -> bool:
    """Return whether the model answers questions; otherwise it continues a text."""
    return (
        bool(uses.spec.export.types)
        or uses.template
        or "prompt_completion" in uses.forms
        or "instruction" in uses.forms
    )


def _measures(uses: Uses) -> bool:
    """Return whether the model gives numbers, and no text."""
    return uses.objective.head == "scores" or uses.texts


def _is_from_hub(uses: Uses) -> bool:
    return uses.source.model_path is None and uses.hub_data


#: In the order of the page.
PASSAGES: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "compiler": lambda uses: uses.converted,
    "no_compiler": lambda uses: not uses.converted,
    "cuda": lambda uses: uses.facts.hardware.kind == "gpu",
    "cpu_torch": lambda uses: uses.facts.hardware.kind == "cpu" and not (uses.vision or uses.timm),
    "cpu_torchvision": lambda uses: (
        uses.facts.hardware.kind == "cpu" and (uses.vision or uses.timm)
    ),
    "pip_compiled": lambda uses: uses.converted,
    "pip_plain": lambda uses: not uses.converted,
    "ask_reward": lambda uses: uses.spec.objective.type == "reward",
    "ask_label": lambda uses: uses.spec.objective.type == "classification",
    "ask_texts": lambda uses: uses.texts,
    "ask_question": lambda uses: not _measures(uses) and _answers(uses) and not uses.vision,
    "ask_image": lambda uses: uses.vision,
    "ask_text": lambda uses: not _measures(uses) and not _answers(uses),
    "gated": lambda uses: uses.gated,
    "flash_attention": lambda uses: uses.decisions.compute.attention.value == "flash_attention_2",
    "cpu_index": lambda uses: uses.facts.hardware.kind == "cpu",
    "native": lambda uses: uses.converted,
    "cuda_gguf": lambda uses: uses.facts.hardware.kind == "gpu",
    "lock_without_torch": lambda uses: uses.facts.hardware.kind == "cpu",
    "lock_with_torch": lambda uses: uses.facts.hardware.kind == "gpu",
    "lock_compiled": lambda uses: uses.converted,
    "converter": lambda uses: uses.converted,
    "slurm": lambda uses: uses.spec.launch.type == "slurm",
    "slurm_logs": lambda uses: uses.facts.hardware.nodes > 1,
    "slurm_first_node": lambda uses: uses.facts.hardware.nodes > 1,
    "kubernetes": lambda uses: uses.spec.launch.type == "kubernetes",
    "skypilot": lambda uses: uses.spec.launch.type == "skypilot",
    "every_node": lambda uses: (
        uses.every_node and uses.spec.launch.type not in ("kubernetes", "skypilot")
    ),
    "pilot_slurm": lambda uses: uses.spec.launch.type == "slurm",
    "pilot_here": lambda uses: uses.spec.launch.type != "slurm",
    "paths_here": lambda uses: not _is_from_hub(uses),
    "paths_hub": _is_from_hub,
    "data_folder": lambda uses: bool(uses.facts.data.sources),
    "data_streamed": lambda uses: uses.streamed and not uses.facts.data.sources,
    "data_file": lambda uses: not uses.streamed and not uses.facts.data.sources,
    "planned": lambda uses: uses.planned_files,
    "planned_lengths": lambda uses: uses.exact_lengths,
    "planned_flag": lambda uses: uses.file_data,
    "streaming": lambda uses: uses.streamed,
    "reward_file": lambda uses: uses.reward_functions,
    "tool_file": lambda uses: uses.callable_tools,
    "stage_train": lambda uses: uses.facts.hardware.nodes == 1,
    "stage_train_nodes": lambda uses: uses.facts.hardware.nodes > 1,
    "stage_evaluate": lambda uses: uses.decisions.splits.test_rows.value > 0,
    "stage_quantize": lambda uses: bool(uses.spec.export.types),
    "stage_adapter": lambda uses: uses.spec.export.adapter,
    "stage_vllm": lambda uses: bool(uses.spec.export.vllm),
    "served": lambda uses: bool(uses.spec.export.vllm),
    "deepspeed_cpu": lambda uses: uses.facts.hardware.kind == "cpu" and uses.deepspeed,
    "nvme": lambda uses: uses.decisions.distribution.nvme_bytes is not None,
    "tensorboard": lambda uses: uses.spec.tracking.type == "tensorboard",
    "wandb": lambda uses: uses.spec.tracking.type == "wandb",
    "mlflow": lambda uses: uses.spec.tracking.type == "mlflow",
    "trackio": lambda uses: uses.spec.tracking.type == "trackio",
    "killed_gpu": lambda uses: uses.facts.hardware.kind == "gpu",
    "killed_cpu": lambda uses: uses.facts.hardware.kind == "cpu",
    "hung": lambda uses: uses.distributed,
    "worse": lambda uses: (
        uses.decisions.splits.validation_rows.value > 0
        and not uses.spec.training.evaluation.allow_worse
    ),
}


def list_absent(uses: Uses) -> tuple[str, ...]:
    """Return the passages that the README of this bundle does not have."""
    return tuple(name for name, is_wanted in PASSAGES.items() if not is_wanted(uses))
