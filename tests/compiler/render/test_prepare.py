"""prepare.py of bundles whose rows come in many ways: what it imports and how long it is."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from tests.compiler.conftest import BuildKnown
from tests.compiler.resolve.local_hub import COMMIT

FORMATS = ("jsonl", "csv", "parquet")


def streamed(kind: str, **more: Any) -> dict[str, Any]:
    """Return the facts of a source that is streamed."""
    return {
        "source": f"owner/{kind}",
        "origin": "hub",
        "path": None,
        "revision": COMMIT,
        "files": [f"train-0.{kind}"],
        "format": kind,
        "streamed_rows": 90_000,
        **more,
    }


def render(build_known: BuildKnown, folder: Path, edits: Mapping[str, Any]) -> Path:
    """Write the bundle of some facts."""
    spec, facts = build_known(edits)
    parts = facts.data.sources
    source = BundleSource(
        spec=spec,
        written={},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path=facts.data.path,
        data_paths=tuple(part.path for part in parts),
        model_path=None,
        chat_template=None,
    )
    for file in render_bundle(source):
        (folder / file.name).parent.mkdir(exist_ok=True)
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return folder


def mix(*parts: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """Return the edits that make a mixture of some facts; what is streamed has a limit."""
    sources = [
        {"source": part["source"], "streaming": True, "max_rows": 400}
        if "streamed_rows" in part
        else part["source"]
        for part in parts
    ]
    return {
        "/spec/data/source": None,
        "/spec/data/sources": sources,
        "/facts/data/sources": list(parts),
        **{f"/spec/data/{name}": value for name, value in spec.items()},
    }


def alone(kind: str, **spec: Any) -> dict[str, Any]:
    """Return the edits that make one streamed source."""
    said = {"streaming": True, "max_rows": 400, **spec}
    return {
        **{f"/facts/data/{name}": value for name, value in streamed(kind).items()},
        **{f"/spec/data/{name}": value for name, value in said.items()},
    }


OWN = {"source": "own.csv", "path": "own.csv", "format": "csv"}
FETCHED = {name: value for name, value in streamed("csv").items() if name != "streamed_rows"}
LINTED = {
    **{kind: alone(kind) for kind in FORMATS},
    "all": mix(*map(streamed, FORMATS)),
    "file": mix(OWN, streamed("jsonl")),
    "downloaded": mix(FETCHED, streamed("parquet")),
    "both": mix(OWN, FETCHED, streamed("csv"), max_rows=300),
    "copies": mix(streamed("csv"), **{"cleaning/drop_duplicates": False}),
    "all-copies": alone("csv", **{"cleaning/drop_duplicates": False}),
}


@pytest.mark.parametrize("name", LINTED)
def test_what_is_rendered_is_linted(build_known: BuildKnown, tmp_path: Path, name: str) -> None:
    """However rows come: nothing is imported or named that this bundle does not use."""
    bundle = render(build_known, tmp_path, LINTED[name])
    rules = ["--select", "E,F,W,I,B,UP", "--line-length", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", *rules, "."],
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )
    text = (bundle / "prepare.py").read_text(encoding="utf-8")

    assert done.returncode == 0, done.stdout
    assert ("def find_files" in text) == (name in {"file", "downloaded", "both"})
    assert ("hub_files" in text) == (name in {"downloaded", "both"})
