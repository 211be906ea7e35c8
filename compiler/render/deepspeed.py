"""The data of deepspeed.json: which states the processes share."""

from typing import Any

from ftc.compiler.plan.stack import PINNED
from ftc.compiler.render.source import BundleSource


def deepspeed_config(source: BundleSource) -> dict[str, Any]:
    """Return DeepSpeed's settings; "auto" takes the number that train.py gives the Trainer.

    A bucket larger than what it carries would only take memory. Without
    `stage3_gather_16bit_weights_on_model_save` ZeRO-3 cannot save a model.
    """
    bucket = min(PINNED.bucket_elements, source.plan.trainable_parameters)
    stage = 3 if source.plan.decisions.sharding.value == "zero3" else 2
    zero: dict[str, Any] = {
        "stage": stage,
        "contiguous_gradients": True,
        "overlap_comm": source.facts.hardware.kind == "gpu",
        "reduce_bucket_size": bucket,
    }
    if stage == 2:  # noqa: PLR2004 - ZeRO's own number
        zero["allgather_bucket_size"] = bucket
    else:
        zero["stage3_prefetch_bucket_size"] = "auto"
        zero["stage3_param_persistence_threshold"] = "auto"
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"},
        "fp16": {"enabled": "auto"},
        "zero_optimization": zero,
    }
