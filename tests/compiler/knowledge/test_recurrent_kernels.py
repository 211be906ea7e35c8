"""Why flash-linear-attention is not locked, and what must change before it can be."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.locked_packages import find_closure

KERNEL = "chunk_gated_delta_rule"
PACKAGE = f"""
def {KERNEL}(query):
    return "a kernel of a GPU"
"""


def plain(query: str) -> str:
    """Stand for transformers' own operations."""
    return query


@pytest.mark.prove
def test_kernels_are_taken_on_a_cpu_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pinned transformers takes the package's functions wherever it is installed.

    A bundle's `--cpu` stages and its rehearsal then stop in Triton: with version 0.6.0 and Triton
    3.9.0, a forward pass of Qwen3-Next on a CPU ends with `0 active drivers`. What this test
    asserts must fail before the package can be pinned: either transformers asks for a GPU first, or
    every stage that runs on a CPU hides the package, as the second half does. A run on a GPU must
    then show the loss, the memory and the time with it (FTC335 says that none has).
    """
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    kernels: Any = import_module("transformers.integrations.hub_kernels")
    take = kernels.use_kernel_func_from_hub_with_fallback
    (tmp_path / "fla").mkdir()
    (tmp_path / "fla/__init__.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fla", raising=False)
    taken = take(KERNEL, "fla")(plain)

    assert taken("plain") == "a kernel of a GPU"
    monkeypatch.setitem(sys.modules, "fla", None)
    assert take(KERNEL, "fla")(plain)("plain") == "plain"


def test_where_the_classes_take_them() -> None:
    """The decorator alone decides whether linear attention uses `fla`."""
    found = find_spec("transformers")
    if found is None or found.origin is None:
        pytest.skip("transformers is not installed")
    path = Path(found.origin).parent / "models/qwen3_next/modeling_qwen3_next.py"
    decorator = f'@use_kernel_func_from_hub_with_fallback("{KERNEL}", "fla")'
    assert decorator in path.read_text(encoding="utf-8")


def test_no_requirement_has_them() -> None:
    """What FTC335 says: none of the locked packages has kernels of recurrent layers."""
    names = ("flash-linear-attention", "fla-core", "causal-conv1d", "mamba-ssm")
    assert find_closure(names) == ()
