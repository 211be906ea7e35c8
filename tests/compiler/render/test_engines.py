"""The files for Kubernetes and SkyPilot are read by those engines' own classes."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ftc.compiler.knowledge.hardware.skypilot import skypilot_names
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec
from tests.compiler.render.test_launch import NODES, render

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ftc" / "launchers"
PYTHON = Path(os.environ.get("FTC_LAUNCHERS", CACHE)) / "bin" / "python"
READER = Path(__file__).parents[2] / "engines.py"
pytestmark = [
    pytest.mark.prove,
    pytest.mark.skipif(
        not PYTHON.is_file(), reason="the engines are not installed: run .ci/launchers"
    ),
]
POD = {
    "/spec/launch/type": "kubernetes",
    "/spec/launch/image": "registry.example/train:1",
    "/spec/launch/volume": "work",
}


def read(kind: str, *arguments: str, cwd: Path) -> Any:
    """Return what an engine made of a file."""
    done = subprocess.run(
        [PYTHON, READER, kind, *arguments],
        cwd=cwd,
        env={**os.environ, "HOME": str(cwd), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "edits",
    [
        {**NODES, **POD},
        {**POD, "/spec/launch/secret": "hub", "/spec/launch/namespace": "research"},
        {**POD, "/facts/hardware/kind": "cpu", "/facts/hardware/name": "cpu"},
        {
            **POD,
            "/facts/hardware/count": 2,
            "/spec/distribution/offload": "optimizer",
            "/spec/distribution/nvme_path": "/local_nvme",
        },
    ],
    ids=["two nodes", "one with a secret", "cpu", "a disk of the node"],
)
def test_kubeflow_reads_the_whole_job(
    build_known: BuildKnown, edits: Mapping[str, Any], tmp_path: Path
) -> None:
    """Its models (of the CRD's OpenAPI) know every key: what they write again is what was there."""
    file = render(build_known, edits)["k8s.yaml"]
    (tmp_path / "k8s.yaml").write_text(file.text, encoding="utf-8")

    assert read("trainjob", "k8s.yaml", cwd=tmp_path) == yaml.safe_load(file.text)


def test_skypilot_reads_the_task(build_known: BuildKnown, tmp_path: Path) -> None:
    """Its loader takes accelerators, spot, the codes of recovery, mounts and commands."""
    (tmp_path / "rows.csv").write_text("a,b\n")
    edits = {
        "/spec/launch/type": "skypilot",
        "/spec/launch/spot": True,
        "/spec/launch/bucket": "s3://my-runs/triage",
        "/spec/launch/image": "registry.example/train:1",
        "/facts/hardware/name": "A100-SXM4-80GB",
        "/facts/hardware/count": 8,
    }
    file = render(build_known, edits, "rows.csv")["sky.yaml"]
    (tmp_path / "sky.yaml").write_text(file.text, encoding="utf-8")

    task = read("task", "sky.yaml", cwd=tmp_path)

    assert task["accelerators"] == {"A100-80GB": 8}
    assert task["spot"] is True
    assert task["recovery"]["recover_on_exit_codes"] == [75]
    assert "docker:registry.example/train:1" in task["image"].values()
    assert task["files"] == {"~/ftc-data.csv": "rows.csv"}
    assert task["buckets"] == {"~/sky_workdir/run": "s3://my-runs/triage"}
    assert task["run"] == "./run.sh --data ~/ftc-data.csv\n"


def test_skypilot_knows_the_names(tmp_path: Path) -> None:
    """Every name of the table is one that its own sources write."""
    names = sorted(set(skypilot_names().values()))

    assert read("names", *names, cwd=tmp_path) == names
