"""The rules about several nodes and launchers (FTC345 to FTC351, 354, 450, 451)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.hardware.skypilot import find_skypilot_name
from ftc.compiler.plan.planner import plan_fitting
from ftc.compiler.resolve.facts import known

_HOUR: Final = 3600.0
_LABEL_CHARACTERS: Final = 63  # of a pod's name: `NAME-node-0-INDEX` (Kubeflow Trainer, JobSet)
_SIGNAL_SECONDS: Final = 120.0  # before its limit, slurm.sh has the checkpoint saved
_SURELY: Final = 0.5  # of the planned time to start: disks may be faster than the plan assumes
_MOSTLY: Final = 0.75  # of a job's time
_HELPS: Final = 0.95  # of one node's time: less is no gain that an estimate can show


@rule("FTC345", "nodes-without-a-launcher", "warning", reads=("hardware",))
def nodes_without_a_launcher(case: Case) -> Iterator[Problem]:
    """What it is: The run has several nodes, and nothing starts it on each of them.

    Why it matters: `run.sh` waits until it has been started on every node, in a folder that all
    nodes share, with `NODE_RANK` (0, 1, ...) and `MASTER_ADDR` (the address of the first node) in
    its environment.

    Example: {"hardware": {"gpu": "A100-80GB", "count": 8, "nodes": 2}}

    Use instead: {"hardware": {"gpu": "A100-80GB", "count": 8, "nodes": 2}, "launch": "slurm"}
    """
    nodes = case.hardware.nodes
    if nodes > 1 and case.spec.launch.type == "local":
        yield problem("/hardware/nodes", nodes=nodes)


@rule("FTC346", "kubernetes-without-an-image", "error")
def kubernetes_without_an_image(case: Case) -> Iterator[Problem]:
    """What it is: The run is for Kubernetes, and no container image is named.

    Why it matters: A pod needs an image. The default image of the training runtime has no `trl` and
    none of the versions that requirements.txt pins.

    Example: {"launch": {"type": "kubernetes", "volume": "training"}}

    Use instead: {"launch": {"type": "kubernetes", "volume": "training", "image": "train:1"}}
    """
    launch = case.spec.launch
    if launch.type == "kubernetes" and launch.image is None:
        yield problem("/launch/image")


@rule("FTC347", "kubernetes-without-a-volume", "error")
def kubernetes_without_a_volume(case: Case) -> Iterator[Problem]:
    """What it is: The run is for Kubernetes, and no volume is named.

    Why it matters: The bundle, its data and its checkpoints must exist before a pod starts and
    after it ends, and all nodes must share them. What is stored in a pod is lost with it.

    Example: {"launch": {"type": "kubernetes", "image": "train:1"}}

    Use instead: {"launch": {"type": "kubernetes", "volume": "training", "image": "train:1"}}
    """
    launch = case.spec.launch
    if launch.type == "kubernetes" and launch.volume is None:
        yield problem("/launch/volume")


@rule("FTC348", "gpu-unknown-to-skypilot", "error", reads=("hardware",))
def gpu_unknown_to_skypilot(case: Case) -> Iterator[Problem]:
    """What it is: The GPU has no name in SkyPilot's catalogs.

    Why it matters: SkyPilot would find no machine: no cloud that it knows rents out that GPU.

    Example: {"hardware": "RTX-3060", "launch": "skypilot"}

    Use instead: {"hardware": "L4", "launch": "skypilot"}
    """
    hardware = case.hardware
    if case.spec.launch.type != "skypilot" or hardware.kind == "cpu":
        return
    if find_skypilot_name(hardware.name) is None:
        yield problem("/hardware/gpu", hardware=hardware.name)


@rule("FTC349", "skypilot-on-several-nodes", "error", reads=("hardware",))
def skypilot_on_several_nodes(case: Case) -> Iterator[Problem]:
    """What it is: The run is for SkyPilot and has several nodes.

    Why it matters: Nodes need a shared folder for the data and the checkpoints. SkyPilot's machines
    share no folder in which files can be locked and renamed as on a disk.

    Example: {"hardware": {"gpu": "H100", "count": 8, "nodes": 2}, "launch": "skypilot"}

    Use instead: {"hardware": {"gpu": "H100", "count": 8}, "launch": "skypilot"}
    """
    if case.spec.launch.type == "skypilot" and case.hardware.nodes > 1:
        yield problem("/hardware/nodes")


@rule("FTC350", "spot-without-a-bucket", "warning")
def spot_without_a_bucket(case: Case) -> Iterator[Problem]:
    """What it is: The run uses a spot machine, and nothing is stored elsewhere.

    Why it matters: When the machine is preempted, its disk and the checkpoints on it are lost. The
    next machine starts from the beginning.

    Example: {"launch": {"type": "skypilot", "spot": true}}

    Use instead: {"launch": {"type": "skypilot", "spot": true, "bucket": "s3://my-runs/triage"}}
    """
    launch = case.spec.launch
    if launch.type == "skypilot" and launch.spot and launch.bucket is None:
        yield problem("/launch/spot")


@rule(
    "FTC351",
    "nodes-that-do-not-help",
    "warning",
    reads=("model", "tokenizer", "data", "hardware", "plan"),
)
def nodes_that_do_not_help(case: Case) -> Iterator[Problem]:
    """What it is: By the plan's figures, one node would train as fast as all of them.

    Why it matters: Gradients, and under ZeRO-3 also weights, are sent over the network in every
    step. With a small batch, or one GPU per node, there is little computation to hide that.

    Example: {"hardware": {"gpu": "L4", "nodes": 4}, "launch": "slurm"}

    Use instead: {"hardware": {"gpu": "L4", "count": 4}, "launch": "slurm"}
    """
    facts = known(case.facts)
    if case.hardware.nodes == 1 or facts is None or case.plan.time_seconds is None:
        return
    alone = replace(facts, hardware=replace(facts.hardware, nodes=1))
    one = plan_fitting(case.spec, alone, exports=case.plan.export_bytes)
    if one is None or one.time_seconds is None:
        return
    if one.time_seconds * _HELPS <= case.plan.time_seconds:
        ratio = case.plan.time_seconds / one.time_seconds
        gbit = case.hardware.network_gbit
        yield problem(
            "/hardware/nodes",
            message="same" if round(ratio, 1) <= 1 else "",
            help="" if gbit is None else "slow",
            nodes=case.hardware.nodes,
            ratio=ratio,
            gbit=gbit or 0,
        )


@rule("FTC354", "name-refused-by-kubernetes", "error", reads=("hardware",))
def name_refused_by_kubernetes(case: Case) -> Iterator[Problem]:
    """What it is: Kubernetes does not accept the name of the run.

    Why it matters: The TrainJob is named after the run, and its name must begin with a letter (RFC
    1035). Its pods add `-node-0-` and a number to it, and get at most 63 characters in all.

    Example: {"name": "7b-triage", "launch": {"type": "kubernetes", "image": "i:1", "volume": "v"}}

    Use instead: {"name": "triage", "launch": {"type": "kubernetes", "image": "i:1", "volume": "v"}}
    """
    name = case.spec.name
    if case.spec.launch.type != "kubernetes":
        return
    most = _LABEL_CHARACTERS - len(f"-node-0-{case.hardware.nodes - 1}")
    if not name[0].isalpha() or len(name) > most:
        yield problem("/name", name=name, most=most)


@rule("FTC450", "job-ends-before-training", "error", reads=("plan",))
def job_ends_before_training(case: Case) -> Iterator[Problem]:
    """What it is: `launch.hours` leaves a Slurm job no time to train.

    Why it matters: Each job loads the model first, and saves a checkpoint two minutes before its
    limit. A job that reaches no step in between is queued again, for ever.

    Example: {"launch": {"type": "slurm", "hours": 0.03}}

    Use instead: {"launch": {"type": "slurm", "hours": 4}}
    """
    limit, starting = _limit_seconds(case), _starting_seconds(case)
    if limit is not None and limit - _SIGNAL_SECONDS <= _SURELY * starting:
        yield problem("/launch/hours", limit=limit / 60, starting=starting / 60)


@rule("FTC451", "job-too-short-to-train", "warning", reads=("plan",))
def job_too_short_to_train(case: Case) -> Iterator[Problem]:
    """What it is: `launch.hours` is little more than the start, or too short to judge the result.

    Why it matters: The run is continued in one job after the other, and each loads the model again.
    `evaluate.py` has no checkpoints, and a job that ends before it does has judged nothing.

    Example: {"launch": {"type": "slurm", "hours": 0.1}}

    Use instead: {"launch": {"type": "slurm", "hours": 4}}
    """
    limit, starting, time = _limit_seconds(case), _starting_seconds(case), case.plan.time
    if limit is None or time is None or limit - _SIGNAL_SECONDS <= _SURELY * starting:
        return
    left = max(0.0, limit - _SIGNAL_SECONDS - starting)
    if time.judging_seconds > limit - _SIGNAL_SECONDS:
        yield problem(
            "/launch/hours", message="judging", limit=limit / 60, judging=time.judging_seconds / 60
        )
    elif time.total_seconds > limit and left < _MOSTLY * limit:
        yield problem(
            "/launch/hours", limit=limit / 60, left=left / 60, whole=time.total_seconds / 60
        )


def _limit_seconds(case: Case) -> float | None:
    """Return the limit of a Slurm job; None without one, or where the plan's time says nothing."""
    launch = case.spec.launch
    if launch.type != "slurm" or launch.hours is None or case.plan.memory.fits is False:
        return None
    return _HOUR * launch.hours


def _starting_seconds(case: Case) -> float:
    """Return the planned seconds until the first step."""
    return 0.0 if case.plan.time is None else case.plan.time.loading_seconds
