"""Launch scripts: shells and shellcheck accept them, and they contain no text of a spec."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.compiler.knowledge.hardware.skypilot import skypilot_names
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.resolve.facts import KnownFacts
from ftc.compiler.verify.verifier import verify_files
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]

NODES = {"/facts/hardware/count": 8, "/facts/hardware/nodes": 2, "/spec/method/type": "full"}
CPU = {
    "/facts/hardware/kind": "cpu",
    "/facts/hardware/name": "cpu",
    "/facts/hardware/bf16": False,
    "/facts/hardware/compute_capability": None,
    "/facts/hardware/link": "none",
}
SLURM = {"/spec/launch/type": "slurm"}
EVERYTHING = {
    **SLURM,
    "/spec/launch/partition": "gpu",
    "/spec/launch/account": "nlp",
    "/spec/launch/qos": "low",
    "/spec/launch/hours": 1.5,
    "/spec/launch/modules": ["cuda/12.4", "gcc"],
    "/spec/launch/container": "docker://registry.example/train:1",
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "local": {},
    "local on two nodes": NODES,
    "local on two cpus": {**NODES, **CPU, "/facts/hardware/count": 2},
    "slurm": SLURM,
    "slurm on two nodes": {**NODES, **SLURM},
    "slurm with everything": {**EVERYTHING},
    "slurm with everything on two nodes": {**NODES, **EVERYTHING},
    "slurm on cpus": {**CPU, **SLURM},
    "kubernetes on two nodes": {
        **NODES,
        "/spec/launch/type": "kubernetes",
        "/spec/launch/image": "train:1",
        "/spec/launch/volume": "work",
        "/spec/launch/secret": "hub",
    },
    "skypilot": {"/spec/launch/type": "skypilot", "/facts/hardware/name": "L4"},
}


def render(
    build_known: BuildKnown,
    edits: Mapping[str, Any],
    data_path: str = "../rows.csv",
    teacher_path: str | None = None,
) -> dict[str, RenderedFile]:
    """Return the files of a bundle by name, verified."""
    spec, facts = build_known(edits)
    source = BundleSource(
        spec=spec,
        written={"name": spec.name},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path=data_path,
        model_path=None,
        chat_template=None,
        teacher_path=teacher_path,
    )
    files = render_bundle(source)
    assert verify_files(files) == ()
    return {file.name: file for file in files}


@pytest.mark.parametrize("variant", VARIANTS)
def test_shell_is_shell(build_known: BuildKnown, variant: str, tmp_path: Path) -> None:
    """Every shell file is parsed by bash, and by shellcheck where it is installed."""
    files = [f for f in render(build_known, VARIANTS[variant]).values() if f.language == "shell"]
    assert files
    for file in files:
        path = tmp_path / file.name
        path.write_text(file.text, encoding="utf-8")
        subprocess.run(["bash", "-n", str(path)], check=True)
        if shellcheck := shutil.which("shellcheck"):
            done = subprocess.run(
                [shellcheck, "--severity=info", str(path)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("variant", ["local", "local on two nodes"])
def test_a_script_starts_in_its_own_folder(
    build_known: BuildKnown, variant: str, tmp_path: Path
) -> None:
    """CDPATH of the caller's shell does not lead to another bundle of the same name."""
    for place in ("here", "elsewhere"):
        (tmp_path / place / "bundle").mkdir(parents=True)
    files = render(build_known, VARIANTS[variant]).values()
    scripts = [file for file in files if "BASH_SOURCE" in file.text]
    assert scripts
    for file in scripts:
        start = next(line for line in file.text.splitlines() if "BASH_SOURCE" in line)
        script = tmp_path / "here/bundle" / file.name
        script.write_text(f"{start}\npwd\n", encoding="utf-8")
        done = subprocess.run(
            ["bash", f"bundle/{file.name}"],
            cwd=tmp_path / "here",
            env={"PATH": "/usr/bin:/bin", "CDPATH": str(tmp_path / "elsewhere")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"{tmp_path}/here/bundle\n"


def options(text: str) -> dict[str, str]:
    """Return the #SBATCH options of a script."""
    return dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(.*))?$", text, re.MULTILINE))


def test_slurm_asks_for_what_the_plan_needs(build_known: BuildKnown) -> None:
    """Nodes, a task on each, GPUs, memory, time; a signal ahead of the end, the queue again."""
    found = options(render(build_known, {**NODES, **EVERYTHING})["slurm.sh"].text)

    assert found["nodes"] == "2"
    assert found["ntasks-per-node"] == "1"
    assert found["gpus-per-node"] == "8"
    assert found["time"] == "90"
    assert (found["partition"], found["account"], found["qos"]) == ("gpu", "nlp", "low")
    assert found["signal"] == "B:USR1@120"
    assert found["requeue"] == ""
    assert int(found["mem"].removesuffix("M")) > 16_000


def test_the_file_says_what_every_process_agrees_on(build_known: BuildKnown) -> None:
    """Sixteen processes on two machines; which one this is, and where they meet, is not in it."""
    config = yaml.safe_load(render(build_known, {**NODES, **SLURM})["accelerate.yaml"].text)

    assert (config["num_machines"], config["num_processes"]) == (2, 16)
    assert not {"machine_rank", "main_process_ip", "main_process_port"} & config.keys()


def test_modules_and_the_image_are_read_not_printed(build_known: BuildKnown) -> None:
    """What may hold a slash stays in files of data, that the shell reads a line of."""
    files = render(build_known, EVERYTHING)

    assert files["modules.txt"].text == "cuda/12.4\ngcc\n"
    assert files["container.txt"].text == "docker://registry.example/train:1\n../rows.csv\n"
    for file in files.values():
        if file.language == "shell":
            assert "cuda/12.4" not in file.text
            assert "registry.example" not in file.text


HOSTILE = (
    "$(id)",
    "`id`",
    "a b",
    "a;b",
    "a\nb",
    "-x",
    "a'b",
    'a"b',
    "a&b",
    "{{x}}",
    "a|b",
    "a>b",
    "",
)


def check_text(tmp_path: Path, launch: Mapping[str, Any]) -> list[str]:
    """Return the pointers that a spec with this launch is found wrong at."""
    path = tmp_path / "spec.json"
    spec = {"name": "x", "model": "m", "data": "d.csv", "launch": launch}
    path.write_text(json.dumps(spec))
    document = load_document(str(path))
    assert isinstance(document, Document)
    judged = validate(document)
    return [] if isinstance(judged, Spec) else [finding.pointer for finding in judged]


@pytest.mark.parametrize(
    ("field", "type_"),
    [
        *((field, "slurm") for field in ("partition", "account", "qos", "container")),
        *((field, "kubernetes") for field in ("image", "volume", "secret", "namespace")),
        ("bucket", "skypilot"),
    ],
)
def test_no_shell_fits_in_a_name(tmp_path: Path, field: str, type_: str) -> None:
    """The schema refuses whatever a shell could read as more than a word."""
    for text in HOSTILE:
        assert check_text(tmp_path, {"type": type_, field: text}) == [f"/launch/{field}"], text
    assert check_text(tmp_path, {"type": "slurm", "modules": ["a b"]}) == ["/launch/modules/0"]


def test_nothing_of_a_spec_is_shell_inside_yaml(build_known: BuildKnown) -> None:
    """SkyPilot's commands know fixed names alone; a pod's is a list, which no shell reads."""
    evil = "../$(touch canary); 'x'.csv"
    sky = yaml.safe_load(render(build_known, VARIANTS["skypilot"], evil)["sky.yaml"].text)
    pod = yaml.safe_load(
        render(build_known, VARIANTS["kubernetes on two nodes"], evil)["k8s.yaml"].text
    )

    assert sky["run"] == "./run.sh --data ~/ftc-data.csv\n"
    assert sky["file_mounts"] == {"~/ftc-data.csv": evil}
    trainer = pod["spec"]["trainer"]
    assert trainer["command"] == ["bash", "/workspace/case/run.sh"]
    assert trainer["args"] == ["--data", "/workspace/inputs/$$(touch canary); 'x'.csv"]


def test_a_local_teacher_goes_where_the_run_goes(build_known: BuildKnown) -> None:
    """SkyPilot copies the teacher's folder, and both launchers pass its new path to run.sh."""
    edits = {
        "/spec/objective/type": "distill",
        "/facts/teacher": {"vocabulary": "same", "model": {"weights_bytes": 40 * 2**30}},
    }

    def render_sky(teacher_path: str | None) -> Any:
        task = render(build_known, {**VARIANTS["skypilot"], **edits}, teacher_path=teacher_path)
        return yaml.safe_load(task["sky.yaml"].text)

    here, on_hub = render_sky("../teacher"), render_sky(None)
    pod = render(
        build_known, {**VARIANTS["kubernetes on two nodes"], **edits}, teacher_path="../big"
    )["k8s.yaml"]

    assert here["file_mounts"]["~/ftc-teacher"] == "../teacher"
    assert here["run"] == "./run.sh --data ~/ftc-data.csv --teacher ~/ftc-teacher\n"
    assert here["resources"]["disk_size"] - on_hub["resources"]["disk_size"] == 40
    assert "teacher" not in on_hub["run"]
    arguments = yaml.safe_load(pod.text)["spec"]["trainer"]["args"]
    assert arguments[-2:] == ["--teacher", "/workspace/inputs/big"]


@pytest.mark.parametrize(
    ("types", "flag"), [(["Q8_0"], 'CMAKE_ARGS="-DGGML_NATIVE=OFF" '), ([], "")]
)
def test_skypilot_builds_llama_cpp_for_any_processor(
    build_known: BuildKnown, types: list[str], flag: str
) -> None:
    """A native build crashes on some processors; the flag is there if llama.cpp is built."""
    files = render(build_known, {**VARIANTS["skypilot"], "/spec/export/types": types})
    lines = yaml.safe_load(files["sky.yaml"].text)["setup"].splitlines()

    assert ("llama-cpp-python" in files["requirements.txt"].text) == bool(flag)
    assert lines[-1] == f"{flag}pip install -r requirements.txt"


def test_pods_have_few_rights_and_see_the_disk(build_known: BuildKnown) -> None:
    """No capability, no new privilege, a seccomp profile; what is offloaded stays on the node."""
    edits = {
        **VARIANTS["kubernetes on two nodes"],
        "/spec/distribution/offload": "optimizer",
        "/spec/distribution/nvme_path": "/local_nvme",
    }
    job = yaml.safe_load(render(build_known, edits)["k8s.yaml"].text)
    patch = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    pod = patch["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    rights = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert container["securityContext"] == rights
    assert {"name": "offloaded", "mountPath": "/local_nvme"} in container["volumeMounts"]
    assert {"name": "offloaded", "emptyDir": {}} in pod["volumes"]


def test_a_secret_is_named_and_never_held(build_known: BuildKnown) -> None:
    """The pod takes the Hub's token from a Secret."""
    pod = yaml.safe_load(render(build_known, VARIANTS["kubernetes on two nodes"])["k8s.yaml"].text)
    reference = {"secretKeyRef": {"name": "hub", "key": "HF_TOKEN"}}

    assert pod["spec"]["trainer"]["env"] == [{"name": "HF_TOKEN", "valueFrom": reference}]


def test_skypilot_rents_the_disk_that_is_offloaded_to(build_known: BuildKnown) -> None:
    """What files hold of states and weights lies beside what the run keeps."""
    zero3 = {
        **VARIANTS["skypilot"],
        "/spec/method/type": "full",
        "/spec/distribution/strategy": "zero3",
        "/spec/distribution/offload": "parameters",
    }

    def disk(edits: Mapping[str, Any]) -> int:
        task = yaml.safe_load(render(build_known, edits)["sky.yaml"].text)
        return int(task["resources"]["disk_size"])

    spec, facts = build_known({**zero3, "/spec/distribution/nvme_path": "/local_nvme"})
    swapped = make_plan(spec, facts).decisions.distribution.nvme_bytes
    assert swapped is not None
    more = disk({**zero3, "/spec/distribution/nvme_path": "/local_nvme"}) - disk(zero3)
    assert more == pytest.approx(swapped.value / 2**30, abs=1)


def test_the_names_for_skypilot_are_of_accelerators() -> None:
    """The table is of devices that there are."""
    assert skypilot_names().keys() <= {device.name for device in all_accelerators()}
