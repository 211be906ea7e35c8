"""The content of a launcher's files: the words of slurm.sh, the data of k8s.yaml and sky.yaml."""

import math
from pathlib import PurePosixPath
from typing import Any, Final

from ftc.compiler.knowledge.hardware.skypilot import find_skypilot_name
from ftc.compiler.render.output.values import Word
from ftc.compiler.render.pins import install_command, requirements
from ftc.compiler.render.source import BundleSource, list_outside
from ftc.compiler.render.uses import Uses
from ftc.runtime.exit_codes import PREEMPTED

_MIB: Final = 2**20
_GIB: Final = 2**30
#: Cores per GPU: its process, and those that load data and save. Clusters have eight or more.
_CORES_PER_GPU: Final = 4
_SPARE: Final = 1.25  # a quarter more than planned: a job that exceeds its memory is killed
_WORKSPACE: Final = "/workspace"
#: The restarts after failures other than a lost machine, which SkyPilot handles itself.
_RESTARTS: Final = 5
_SAVING_SECONDS: Final = 120


def launch_words(source: BundleSource) -> dict[str, Word]:
    """Return the words of run.sh and slurm.sh; those from the spec match the schema's patterns."""
    hardware = source.facts.hardware
    processes = max(1, hardware.count)
    cores = processes * _CORES_PER_GPU if hardware.kind == "gpu" else processes
    numbers = {
        "nodes": hardware.nodes,
        "node_processes": processes,
        "node_cores": cores,
        "node_mib": math.ceil(_SPARE * source.plan.host_ram_bytes / _MIB),
    }
    words = {name: Word(str(number)) for name, number in numbers.items()}
    return {**words, "name": Word(source.spec.name)}


def job_options(source: BundleSource) -> list[tuple[Word, Word]]:
    """Return the options of `sbatch` that a spec or the hardware gives; the schema has patterns."""
    launch, hardware = source.spec.launch, source.facts.hardware
    given = {
        "gpus-per-node": max(1, hardware.count) if hardware.kind == "gpu" else None,
        "time": None if launch.hours is None else max(1, round(60 * launch.hours)),
        "partition": launch.partition,
        "account": launch.account,
        "qos": launch.qos,
    }
    return [(Word(name), Word(str(said))) for name, said in given.items() if said is not None]


def container_lines(source: BundleSource) -> str:
    """Return the image of an Apptainer container, and the paths that it needs, one a line.

    Without binds a container sees only the bundle and the user's home.
    """
    disk = source.spec.distribution.nvme_path
    paths = [*list_outside(source), *([] if disk is None else [disk])]
    return "".join(f"{line}\n" for line in (source.spec.launch.container, *paths))


def trainjob(source: BundleSource) -> dict[str, Any]:
    """Return the TrainJob of Kubeflow Trainer 2 (`trainer.kubeflow.org/v1alpha1`).

    The volume is mounted at /workspace. It contains the bundle in a folder with the run's name;
    local data, a local model and a local teacher are in /workspace/inputs under their own names.
    """
    spec, hardware = source.spec, source.facts.hardware
    launch = spec.launch
    metadata = {"name": spec.name, **({"namespace": launch.namespace} if launch.namespace else {})}
    memory = f"{math.ceil(_SPARE * source.plan.host_ram_bytes / _GIB)}Gi"
    requests: dict[str, Any] = {"memory": memory}
    if hardware.kind == "gpu":
        limits: dict[str, Any] = {"nvidia.com/gpu": hardware.count}
    else:
        limits = {"cpu": max(1, hardware.count)}
    trainer: dict[str, Any] = {
        "image": launch.image,
        "command": ["bash", f"{_WORKSPACE}/{spec.name}/run.sh"],
        "args": [
            *_moved_data(source),
            *_moved("--model", source.model_path),
            *_moved("--teacher", source.teacher_path),
        ],
        "numNodes": hardware.nodes,
        "numProcPerNode": max(1, hardware.count),
        "resourcesPerNode": {"requests": {**requests, **limits}, "limits": limits},
    }
    if launch.secret is not None:
        key = {"name": launch.secret, "key": "HF_TOKEN"}
        trainer["env"] = [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": key}}]
    node = {"name": "node", "template": {"spec": {"template": {"spec": _pod(source)}}}}
    patch = {"template": {"spec": {"replicatedJobs": [node]}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": trainer,
            "runtimePatches": [{"manager": "ftc.dev/compiler", "trainingRuntimeSpec": patch}],
        },
    }


def _pod(source: BundleSource) -> dict[str, Any]:
    """Return the mounts and the restricted permissions of a node's pod.

    PyTorch images run as root, so `runAsNonRoot` would reject most of them.
    """
    claim = {"claimName": source.spec.launch.volume}
    volumes: list[dict[str, Any]] = [
        {"name": "workspace", "persistentVolumeClaim": claim},
        # NCCL and the data loaders use shared memory; a pod has 64 MiB by default
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
    ]
    mounts = [
        {"name": "workspace", "mountPath": _WORKSPACE},
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - a mount
    ]
    disk = source.spec.distribution.nvme_path
    if disk is not None:  # the node's disk; its content is lost with the pod
        volumes.append({"name": "offloaded", "emptyDir": {}})
        mounts.append({"name": "offloaded", "mountPath": disk})
    return {
        "terminationGracePeriodSeconds": _SAVING_SECONDS,
        "volumes": volumes,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "node",
                "volumeMounts": mounts,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }


def _moved_data(source: BundleSource) -> list[str]:
    """Return the path in the volume of the data file, or of the folder of a mixture's files."""
    if any(source.data_paths):
        return ["--data", f"{_WORKSPACE}/inputs"]
    return _moved("--data", source.data_path)


def _moved(option: str, path: str | None) -> list[str]:
    """Return an option with the path in the volume of a local file or folder.

    Kubernetes replaces `$(NAME)` in arguments, unless the dollar sign is doubled.
    """
    if path is None:
        return []
    name = PurePosixPath(path).name.replace("$", "$$")
    return [option, f"{_WORKSPACE}/inputs/{name}"]


def sky_task(source: BundleSource) -> dict[str, Any]:
    """Return the task for SkyPilot, tested with the loader of 0.14.

    Local data, a local model and a local teacher are copied to fixed names, which are passed to the
    run. The shell commands in the task contain no text of the spec.
    """
    launch, hardware, plan = source.spec.launch, source.facts.hardware, source.plan
    swapped = (
        plan.decisions.distribution.nvme_bytes.value
        if plan.decisions.distribution.nvme_bytes is not None
        else 0
    )
    disk = plan.disk_bytes + _copied_bytes(source) + swapped
    resources: dict[str, Any] = {
        "memory": f"{math.ceil(_SPARE * plan.host_ram_bytes / _GIB)}+",
        "disk_size": math.ceil(disk / _GIB) + _SYSTEM_GIB,
        "use_spot": launch.spot,
        "job_recovery": {
            "max_restarts_on_errors": _RESTARTS,
            "recover_on_exit_codes": [PREEMPTED],
        },
    }
    if hardware.kind == "gpu":
        resources["accelerators"] = {find_skypilot_name(hardware.name): hardware.count}
    else:
        resources["cpus"] = f"{max(2, hardware.count)}+"
    if launch.image is not None:
        resources["image_id"] = f"docker:{launch.image}"
    mounts: dict[str, Any] = {}
    run = "./run.sh"
    if source.data_path is not None:
        name = f"~/ftc-data.{source.facts.data.format}"
        mounts[name] = source.data_path
        run += f" --data {name}"
    for option, path in (("model", source.model_path), ("teacher", source.teacher_path)):
        if path is not None:
            mounts[f"~/ftc-{option}"] = path
            run += f" --{option} ~/ftc-{option}"
    if launch.bucket is not None:
        mounts["~/sky_workdir/run"] = {"source": launch.bucket, "mode": "MOUNT_CACHED"}
    return {
        "name": source.spec.name,
        "workdir": ".",
        "num_nodes": 1,
        "resources": resources,
        **({"file_mounts": mounts} if mounts else {}),
        # passed on the command line for gated models: --secret HF_TOKEN
        "envs": {"HF_TOKEN": ""},
        "setup": _setup(source),
        "run": f"{run}\n",
    }


_SYSTEM_GIB: Final = 50  # disk space for the system, Python and its packages


def _setup(source: BundleSource) -> str:
    """Return the commands that install the packages into `.venv`, where run.sh looks for them."""
    install = install_command("requirements.txt", requirements(Uses(source)))
    return f"python3 -m venv --system-site-packages .venv\n. .venv/bin/activate\n{install}\n"


def _copied_bytes(source: BundleSource) -> int:
    """Return the bytes of the local models that are copied; the plan's download omits them."""
    teacher = source.facts.teacher
    copied = [source.facts.model] if source.model_path is not None else []
    if teacher is not None and source.teacher_path is not None:
        copied.append(teacher.model)
    return sum(model.weights_bytes or 0 for model in copied)
