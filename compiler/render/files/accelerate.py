"""The data of accelerate.yaml: the processes, their devices and how they share the model."""

from typing import Any

from ftc.compiler.render.source import BundleSource


def accelerate_config(source: BundleSource) -> dict[str, Any]:
    """Return what `accelerate launch --config_file` reads.

    Several processes on a CPU are MULTI_GPU with `use_cpu`: MULTI_CPU would start only one. The
    rank of the node and the address of the first node are only known when the run starts, so
    run.sh or node.sh passes them on the command line.
    """
    decided = source.plan.decisions
    sharding = decided.distribution.sharding.value
    kinds = {"single": "NO", "ddp": "MULTI_GPU", "fsdp": "FSDP"}
    kind = kinds.get(sharding, "DEEPSPEED")
    nodes = source.facts.hardware.nodes
    config: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": kind,
        **({"machine_rank": 0} if nodes == 1 else {}),
        "main_training_function": "main",
        "num_machines": nodes,
        "num_processes": decided.distribution.world.value,
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": source.facts.hardware.kind == "cpu",
    }
    if kind == "DEEPSPEED":
        config["deepspeed_config"] = {
            "deepspeed_config_file": "deepspeed.json",
            "zero3_init_flag": sharding == "zero3",
            # otherwise DeepSpeed's launcher would use ssh to reach the other nodes
            **({"deepspeed_multinode_launcher": "standard"} if nodes > 1 else {}),
        }
    else:
        precision = decided.compute.precision.value
        config["mixed_precision"] = "no" if precision == "fp32" else precision
    if kind == "FSDP":
        config["fsdp_config"] = _fsdp_config(source)
    return config


def _fsdp_config(source: BundleSource) -> dict[str, Any]:
    """Return the settings of accelerate's FSDP plugin (1.15, `FullyShardedDataParallelPlugin`).

    Each decoder layer is one unit, according to the model's list of layers that are not split. One
    process reads the weights and sends the others their shards. A 4-bit base is an exception:
    accelerate shards it from each process's own copy. Activation checkpointing uses the Trainer's
    setting, because FSDP's renames modules, and PEFT 0.21 then saves an empty adapter. Checkpoints
    have one file per process; train.py gathers the result.
    """
    offload = source.plan.decisions.distribution.offload.value
    return {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_reshard_after_forward": True,
        "fsdp_state_dict_type": "SHARDED_STATE_DICT",
        "fsdp_cpu_ram_efficient_loading": source.spec.method.type != "qlora",
        "fsdp_offload_params": offload == "parameters",
    }
