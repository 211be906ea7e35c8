"""Every example loads in the classes of the libraries that will read it.

The processes, the batch and the numbers that arrive there are those of the lock. Left out, since
this machine may have no GPU: whether the GPU can do bf16 (SFTConfig is built with `use_cpu`), and
the division of a batch among processes (DeepSpeed is asked as one process).
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import ROOT, run
from tests.golden_bundles import EXAMPLES, read_decisions, write_bundle

BUNDLES = sorted(EXAMPLES)
STAGES = {"zero1": 1, "zero2": 2, "zero3": 3}
KINDS = {"single": "NO", "ddp": "MULTI_GPU", "fsdp": "FSDP", **dict.fromkeys(STAGES, "DEEPSPEED")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return what the libraries made of every example, from one process."""
    pytest.importorskip("deepspeed")
    bundles = tmp_path_factory.mktemp("bundles")
    for name in BUNDLES:
        write_bundle(name, bundles / name)
    script = Path(__file__).parents[1] / "builders/build_libraries.py"
    ended = run(
        sys.executable,
        script,
        bundles,
        cwd=ROOT,
        extra={"DS_ACCELERATOR": "cpu", "FTC_VLLM_PORTS": "8000,8001"},
    )
    assert ended.code == 0, ended.said
    made: Mapping[str, Any] = json.loads(ended.out.splitlines()[-1])
    return made


def test_there_are_goldens(built: Mapping[str, Any]) -> None:
    """One process, LoRA and ZeRO-3 are among what is proven."""
    assert sorted(built) == BUNDLES
    assert {"single", "zero3"} <= {read_decisions(name)["sharding"] for name in BUNDLES}
    assert any(bundle["adapter"] for bundle in built.values())


@pytest.mark.parametrize("name", BUNDLES)
def test_accelerate_reads_the_launch(built: Mapping[str, Any], name: str) -> None:
    """Accelerate sees the processes, the kind of run and the precision that were planned."""
    launch, values = built[name]["launch"], read_decisions(name)
    precision = {"fp32": "no"}.get(values["precision"], values["precision"])
    zero = values["sharding"] in STAGES

    assert launch["num_processes"] == values["world"]
    assert launch["distributed_type"] == KINDS[values["sharding"]]
    assert launch["mixed_precision"] == (None if zero else precision)
    assert bool(launch["deepspeed_config"]) == zero


@pytest.mark.parametrize("name", BUNDLES)
def test_the_trainer_takes_the_settings(built: Mapping[str, Any], name: str) -> None:
    """TRL and PEFT accept every argument, and keep the decided numbers."""
    settings, values = built[name]["settings"], read_decisions(name)
    micro_batch, accumulation = values["micro_batch"], values["accumulation"]
    if "pooling" in values:  # the loss divides a step's rows into passes
        micro_batch, accumulation = micro_batch * accumulation, 1
    micro_batch *= 1 + values.get("wrong_texts", 0)  # each row is a right pair and its wrong ones

    assert settings["micro_batch"] == micro_batch
    assert settings["accumulation"] == accumulation
    assert settings["learning_rate"] == values["learning_rate"]
    assert settings["bf16"] == (values["precision"] == "bf16")
    if "lora_rank" in values:
        adapter = {"r": values["lora_rank"], "lora_alpha": values["lora_alpha"]}
        assert built[name]["adapter"] == adapter
    else:
        assert built[name]["adapter"] is None


@pytest.mark.parametrize("name", BUNDLES)
def test_accelerate_makes_its_fsdp_plugin(built: Mapping[str, Any], name: str) -> None:
    """What the launcher tells its processes makes the plugin that was planned; others have none."""
    plugin, values = built[name]["fsdp"], read_decisions(name)
    if values["sharding"] != "fsdp":
        assert plugin is None
        return

    assert plugin["fsdp_version"] == 2
    assert plugin["auto_wrap_policy"] == "transformer_auto_wrap_policy"
    assert plugin["reshard_after_forward"] is True
    assert plugin["state_dict_type"] == "SHARDED_STATE_DICT"
    assert plugin["offloads"] == (values["offload"] == "parameters")
    assert plugin["cpu_ram_efficient_loading"] == ("quantization" not in values)
    assert not plugin["activation_checkpointing"]


@pytest.mark.parametrize("name", BUNDLES)
def test_deepspeed_takes_its_file(built: Mapping[str, Any], name: str) -> None:
    """DeepSpeed accepts the file once the Trainer has filled it in; other runs have none."""
    deepspeed, values = built[name]["deepspeed"], read_decisions(name)
    stage = STAGES.get(values["sharding"])
    if stage is None:
        assert deepspeed is None
        return

    assert deepspeed["stage"] == stage
    assert deepspeed["micro_batch"] == values["micro_batch"]
    assert deepspeed["accumulation"] == values["accumulation"]
    assert deepspeed["clipping"] == values["max_grad_norm"]
    assert deepspeed["bf16"] == (values["precision"] == "bf16")
    kept = {"none": [], "optimizer": ["optimizer"], "parameters": ["optimizer", "parameters"]}
    assert list(deepspeed["offloaded"]) == kept[values["offload"]]
    device = "nvme" if "nvme_bytes" in values else "cpu"
    assert {found for found, _ in deepspeed["offloaded"].values()} <= {device}
