"""Why the locked requirements have no flash-linear-attention, and when they can."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ftc.compiler.knowledge.locked_packages import find_closure

#: Prints whether a linear attention is computed by the package, on a machine without a GPU.
PROGRAM = """
import sys
if "--without" in sys.argv:
    sys.modules["fla"] = None
import torch
from transformers.models.qwen3_next.modeling_qwen3_next import torch_chunk_gated_delta_rule as rule
rows = torch.zeros(1, 8, 2, 4)
gates = torch.zeros(1, 8, 2)
try:
    rule(rows, rows, rows, g=gates, beta=gates)
except LookupError:
    print("package")
else:
    print("torch")
"""
PACKAGE = """
def chunk_gated_delta_rule(q, k, v, g=None, beta=None, **more):
    raise LookupError("a kernel of a GPU")
def fused_recurrent_gated_delta_rule(q, k, v, g=None, beta=None, **more):
    raise LookupError("a kernel of a GPU")
"""
pytestmark = pytest.mark.prove


def computed_by(folder: Path, *arguments: str) -> str:
    """Return what computes the layers in a process that finds this folder's packages first."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.strip()


def test_kernels_are_taken_on_a_cpu_too(tmp_path: Path) -> None:
    """The pinned transformers takes the package's functions wherever it is installed.

    A bundle's `--cpu` stages, its rehearsal and its merge would then stop in Triton. What this test
    asserts must fail before the package can be pinned: either transformers asks for a GPU first, or
    every stage that runs on a CPU hides the package, as `--without` does here. A run on a GPU must
    then show the loss, the memory and the time with it (FTC335 says that none has).
    """
    pytest.importorskip("transformers")
    (tmp_path / "fla").mkdir()
    (tmp_path / "fla/__init__.py").write_text(PACKAGE, encoding="utf-8")
    assert computed_by(tmp_path) == "package"
    assert computed_by(tmp_path, "--without") == "torch"


def test_no_requirement_has_them() -> None:
    """What FTC335 says: none of the locked packages has kernels of recurrent layers."""
    names = ("flash-linear-attention", "fla-core", "causal-conv1d", "mamba-ssm")
    assert find_closure(names) == ()
