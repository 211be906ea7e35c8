"""The passages of the README: each is a block of its template, with the bundles that have it."""

from collections.abc import Callable, Mapping
from typing import Final

from ftc.compiler.render.uses import Uses


def _answers(uses: Uses) -> bool:
    """Return whether the model answers questions; otherwise it continues a text."""
    return uses.gguf or uses.template or uses.form_pairs or uses.form_instruction


def _measures(uses: Uses) -> bool:
    """Return whether the model gives numbers, and no text."""
    return uses.scores or uses.texts


def _is_from_hub(uses: Uses) -> bool:
    return uses.model_hub and uses.hub_data


#: In the order of the page.
PASSAGES: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "compiler": lambda uses: uses.converted,
    "no_compiler": lambda uses: not uses.converted,
    "cuda": lambda uses: uses.gpu,
    "cpu_torch": lambda uses: uses.cpu and not (uses.vision or uses.timm),
    "cpu_torchvision": lambda uses: uses.cpu and (uses.vision or uses.timm),
    "pip_compiled": lambda uses: uses.converted,
    "pip_plain": lambda uses: not uses.converted,
    "ask_reward": lambda uses: uses.reward_model,
    "ask_label": lambda uses: uses.classes,
    "ask_texts": lambda uses: uses.texts,
    "ask_question": lambda uses: not _measures(uses) and _answers(uses) and not uses.vision,
    "ask_image": lambda uses: uses.vision,
    "ask_text": lambda uses: not _measures(uses) and not _answers(uses),
    "gated": lambda uses: uses.gated,
    "cpu_index": lambda uses: uses.cpu,
    "native": lambda uses: uses.converted,
    "cuda_gguf": lambda uses: uses.gpu,
    "lock_without_torch": lambda uses: uses.cpu,
    "lock_with_torch": lambda uses: uses.gpu,
    "lock_compiled": lambda uses: uses.converted,
    "converter": lambda uses: uses.converted,
    "slurm": lambda uses: uses.slurm,
    "slurm_logs": lambda uses: uses.nodes,
    "slurm_first_node": lambda uses: uses.nodes,
    "kubernetes": lambda uses: uses.kubernetes,
    "skypilot": lambda uses: uses.skypilot,
    "every_node": lambda uses: uses.every_node and not (uses.kubernetes or uses.skypilot),
    "pilot_slurm": lambda uses: uses.slurm,
    "pilot_here": lambda uses: not uses.slurm,
    "paths_here": lambda uses: not _is_from_hub(uses),
    "paths_hub": _is_from_hub,
    "data_folder": lambda uses: uses.mixture,
    "data_streamed": lambda uses: uses.streamed and not uses.mixture,
    "data_file": lambda uses: not uses.streamed and not uses.mixture,
    "planned": lambda uses: uses.planned_files,
    "planned_lengths": lambda uses: uses.exact_lengths,
    "planned_flag": lambda uses: uses.file_data,
    "streaming": lambda uses: uses.streamed,
    "reward_file": lambda uses: uses.reward_functions,
    "tool_file": lambda uses: uses.callable_tools,
    "stage_train": lambda uses: not uses.nodes,
    "stage_train_nodes": lambda uses: uses.nodes,
    "stage_evaluate": lambda uses: uses.test,
    "stage_quantize": lambda uses: uses.gguf,
    "stage_adapter": lambda uses: uses.adapter,
    "stage_vllm": lambda uses: uses.served,
    "served": lambda uses: uses.served,
    "deepspeed_cpu": lambda uses: uses.cpu and uses.deepspeed,
    "nvme": lambda uses: uses.nvme,
    "tensorboard": lambda uses: uses.tensorboard,
    "wandb": lambda uses: uses.wandb,
    "mlflow": lambda uses: uses.mlflow,
    "trackio": lambda uses: uses.trackio,
    "killed_gpu": lambda uses: uses.gpu,
    "killed_cpu": lambda uses: uses.cpu,
    "hung": lambda uses: uses.distributed,
    "worse": lambda uses: uses.validation and not uses.allow_worse,
}


def list_absent(uses: Uses) -> tuple[str, ...]:
    """Return the passages that the README of this bundle does not have."""
    return tuple(name for name, is_wanted in PASSAGES.items() if not is_wanted(uses))
