"""The rules about several nodes and what starts a run on them (FTC345 to FTC351)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, rule
from ftc.compiler.knowledge.skypilot import find_skypilot_name
from ftc.compiler.plan.known import known
from ftc.compiler.plan.planner import plan_once

_HELPS: Final = 0.95  # of one node's time: less is no gain that an estimate can show


@rule("FTC345", "nodes-without-a-launcher", "warning", reads=("hardware",))
def nodes_without_a_launcher(case: Case) -> Iterator[Problem]:
    """What it is: Several nodes are to train, and nothing starts the run on each of them.

    Why it matters: `run.sh` then waits for the others until somebody starts it on every node, in a
    folder that all of them see, with `NODE_RANK` (0, 1, ...) and `MASTER_ADDR` (the address of the
    first one) in its environment.

    Example: {"hardware": {"gpu": "A100-80GB", "count": 8, "nodes": 2}}

    Use instead: {"hardware": {"gpu": "A100-80GB", "count": 8, "nodes": 2}, "launch": "slurm"}
    """
    nodes = case.hardware.nodes
    if nodes > 1 and case.spec.launch.type == "local":
        yield Problem(
            message=f"{nodes} nodes, and `launch` is `local`: nothing starts the other nodes",
            help="start run.sh on each with NODE_RANK and MASTER_ADDR set, or set `launch`",
            pointer="/hardware/nodes",
        )


@rule("FTC346", "kubernetes-without-an-image", "error")
def kubernetes_without_an_image(case: Case) -> Iterator[Problem]:
    """What it is: The run is to start on Kubernetes, and no container image is named.

    Why it matters: A pod runs an image. The training runtime's own has no `trl` and none of the
    versions that requirements.txt pins.

    Example: {"launch": {"type": "kubernetes", "volume": "training"}}

    Use instead: {"launch": {"type": "kubernetes", "volume": "training", "image": "train:1"}}
    """
    launch = case.spec.launch
    if launch.type == "kubernetes" and launch.image is None:
        yield Problem(
            message="`launch` is `kubernetes`, and no image is named",
            help="set `launch.image` to one with Python and what requirements.txt names",
            pointer="/launch/image",
        )


@rule("FTC347", "kubernetes-without-a-volume", "error")
def kubernetes_without_a_volume(case: Case) -> Iterator[Problem]:
    """What it is: The run is to start on Kubernetes, and no volume holds it.

    Why it matters: The bundle, its data and its checkpoints must be there before a pod starts and
    after it ends, and be the same for all nodes. What is in a pod goes with it.

    Example: {"launch": {"type": "kubernetes", "image": "train:1"}}

    Use instead: {"launch": {"type": "kubernetes", "volume": "training", "image": "train:1"}}
    """
    launch = case.spec.launch
    if launch.type == "kubernetes" and launch.volume is None:
        yield Problem(
            message="`launch` is `kubernetes`, and no volume holds the bundle",
            help="set `launch.volume` to the name of a PersistentVolumeClaim",
            pointer="/launch/volume",
        )


@rule("FTC348", "gpu-unknown-to-skypilot", "error", reads=("hardware",))
def gpu_unknown_to_skypilot(case: Case) -> Iterator[Problem]:
    """What it is: SkyPilot is to find a GPU that its catalogs have no name for.

    Why it matters: It would find no machine: no cloud that it knows rents that GPU.

    Example: {"hardware": "GTX-1080-Ti", "launch": "skypilot"}

    Use instead: {"hardware": "L4", "launch": "skypilot"}
    """
    hardware = case.hardware
    if case.spec.launch.type != "skypilot" or hardware.kind == "cpu":
        return
    if find_skypilot_name(hardware.name) is None:
        yield Problem(
            message=f"SkyPilot has no name for {hardware.name}",
            help="name a GPU that clouds rent, such as `L4`, `A100-80GB` or `H100`",
            pointer="/hardware/gpu",
        )


@rule("FTC349", "skypilot-on-several-nodes", "error", reads=("hardware",))
def skypilot_on_several_nodes(case: Case) -> Iterator[Problem]:
    """What it is: SkyPilot is to start several nodes.

    Why it matters: Nodes share a folder with the data and the checkpoints, and SkyPilot's machines
    share none that locks and renames files as a disk does.

    Example: {"hardware": {"gpu": "H100", "count": 8, "nodes": 2}, "launch": "skypilot"}

    Use instead: {"hardware": {"gpu": "H100", "count": 8}, "launch": "skypilot"}
    """
    if case.spec.launch.type == "skypilot" and case.hardware.nodes > 1:
        yield Problem(
            message="SkyPilot's machines share no folder, which several nodes need",
            help="take one node with more GPUs, or start it with `slurm` or `kubernetes`",
            pointer="/hardware/nodes",
        )


@rule("FTC350", "spot-without-a-bucket", "warning")
def spot_without_a_bucket(case: Case) -> Iterator[Problem]:
    """What it is: A machine that can be taken back trains, and nothing of it is kept elsewhere.

    Why it matters: Its disk goes with it, checkpoints included: the next machine begins anew.

    Example: {"launch": {"type": "skypilot", "spot": true}}

    Use instead: {"launch": {"type": "skypilot", "spot": true, "bucket": "s3://my-runs/triage"}}
    """
    launch = case.spec.launch
    if launch.type == "skypilot" and launch.spot and launch.bucket is None:
        yield Problem(
            message="a spot machine takes its checkpoints with it when it is taken back",
            help="set `launch.bucket` to a folder of a bucket, which is mounted as `run/`",
            pointer="/launch/spot",
        )


@rule(
    "FTC351",
    "nodes-that-do-not-help",
    "warning",
    reads=("model", "tokenizer", "data", "hardware", "plan"),
)
def nodes_that_do_not_help(case: Case) -> Iterator[Problem]:
    """What it is: By the plan's own figures one node would train as fast as all of them.

    Why it matters: Gradients, and under ZeRO-3 weights, go over the network in every step. A small
    batch, or one GPU per node, leaves little to compute beside that.

    Example: {"hardware": {"gpu": "L4", "nodes": 4}, "launch": "slurm"}

    Use instead: {"hardware": {"gpu": "L4", "count": 4}, "launch": "slurm"}
    """
    facts = known(case.facts)
    if case.hardware.nodes == 1 or facts is None or case.plan.time_seconds is None:
        return
    alone = replace(facts, hardware=replace(facts.hardware, nodes=1))
    one = plan_once(case.spec, alone, exports=case.plan.export_bytes)
    if one.memory.fits is False or one.time_seconds is None:
        return
    if one.time_seconds * _HELPS <= case.plan.time_seconds:
        ratio = case.plan.time_seconds / one.time_seconds
        yield Problem(
            message=f"{case.hardware.nodes} nodes take {ratio:.1f} times as long as one alone",
            help="leave `hardware.nodes` out, or say how fast the network is in `network_gbit`",
            pointer="/hardware/nodes",
        )
