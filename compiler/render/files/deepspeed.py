"""The data of deepspeed.json: which states the processes share."""

from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.plan.memory.host import STATE_BUFFERS, SUB_GROUP, WEIGHT_BUFFERS, largest_shard
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.software import PINNED
from ftc.compiler.render.source import BundleSource

_STAGES: Final[dict[Sharding, int]] = {"zero1": 1, "zero2": 2, "zero3": 3}
_WEIGHTS_TOO: Final = 3  # the stage that shards the weights too


def deepspeed_config(source: BundleSource) -> dict[str, Any]:
    """Return DeepSpeed's settings; "auto" takes the number that train.py gives the Trainer.

    A bucket larger than its content would waste memory. Without
    `stage3_gather_16bit_weights_on_model_save` ZeRO-3 cannot save a model. An offloaded optimizer
    is torch's fused AdamW on the CPU: DeepSpeed compiles its own when training starts, which needs
    a CUDA toolkit.
    """
    bucket = min(PINNED.bucket_elements, source.plan.trainable_parameters)
    decided = source.plan.decisions
    stage = _STAGES[decided.distribution.sharding.value]
    zero: dict[str, Any] = {
        "stage": stage,
        "contiguous_gradients": True,
        "overlap_comm": source.facts.hardware.kind == "gpu",
        "reduce_bucket_size": bucket,
    }
    if stage < _WEIGHTS_TOO:
        zero["allgather_bucket_size"] = bucket
    else:
        zero["stage3_prefetch_bucket_size"] = "auto"
        zero["stage3_param_persistence_threshold"] = "auto"
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    offload = decided.distribution.offload.value
    if decided.distribution.nvme_bytes is not None and source.facts.model.shape is not None:
        zero |= _swapped(source, source.facts.model.shape)
    elif offload != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
        if offload == "parameters":
            zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    config: dict[str, Any] = {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"},
        "fp16": {"enabled": "auto"},
        "zero_optimization": zero,
    }
    if offload != "none":
        config["zero_force_ds_cpu_optimizer"] = False
    return config


def _swapped(source: BundleSource, shape: Shape) -> dict[str, Any]:
    """Return the settings that keep optimizer states, and optionally weights, on a local disk.

    Each run has its own folder, because DeepSpeed deletes what it finds there. A reuse distance of
    0 frees the buffers of weights that are used again soon. Prefetching is off: with it, DeepSpeed
    0.19 requests a matrix twice between forward and backward pass, and stops
    (`__prefetch_nvme_param_partitions`).
    """
    spec, world = source.spec, source.plan.decisions.distribution.world.value
    disk = {"device": "nvme", "nvme_path": f"{spec.distribution.nvme_path}/{spec.name}"}
    zero: dict[str, Any] = {
        "sub_group_size": SUB_GROUP,
        "offload_optimizer": {**disk, "pin_memory": True, "buffer_count": STATE_BUFFERS},
    }
    if source.plan.decisions.distribution.offload.value == "parameters":
        zero["stage3_max_reuse_distance"] = 0
        zero["stage3_prefetch_bucket_size"] = 0
        zero["offload_param"] = {
            **disk,
            "pin_memory": True,
            "buffer_count": WEIGHT_BUFFERS,
            "buffer_size": largest_shard(shape, world),
            "max_in_cpu": 0,
        }
    return zero
