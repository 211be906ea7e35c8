"""The plan's activations compared with those of transformers' classes."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def trace(*names: str) -> subprocess.CompletedProcess[str]:
    """Run the trace of these architectures."""
    command = [sys.executable, "-m", "benchmarks.trace", *names]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.prove
def test_the_plan_meets_the_trace_within_two_percent() -> None:
    """Plain, with norms of query and key, with four norms, with fused modules, with experts."""
    pytest.importorskip("transformers")
    names = ("LlamaForCausalLM", "Qwen3ForCausalLM", "Gemma3ForCausalLM", "Phi3ForCausalLM")
    done = trace(*names, "MixtralForCausalLM", "GPTNeoXForCausalLM")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = done.stdout.splitlines()[-1]
    assert verdict == "6 of 6 architectures traced, 0 held figures off by more than 2%"


@pytest.mark.prove_all
def test_what_has_no_sdpa_is_traced_in_its_eager_form() -> None:
    """Three kinds of attention scores: plain, capped, and with sinks (and experts)."""
    pytest.importorskip("transformers")
    names = ("BloomForCausalLM", "GPTJForCausalLM", "GPTNeoForCausalLM")
    done = trace(*names, "Gemma2ForCausalLM", "GptOssForCausalLM")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = done.stdout.splitlines()[-1]
    assert verdict == "5 of 5 architectures traced, 0 held figures off by more than 2%"


@pytest.mark.prove
def test_shared_keys_and_many_experts_are_traced_as_they_are() -> None:
    """One key head for SDPA to repeat, one for it to broadcast, and a router of 32 experts."""
    pytest.importorskip("transformers")
    done = trace("GPTBigCodeForCausalLM", "FalconForCausalLM", "Qwen3MoeForCausalLM")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = done.stdout.splitlines()[-1]
    assert verdict == "3 of 3 architectures traced, 0 held figures off by more than 2%"


def test_an_architecture_that_cannot_be_traced_is_named() -> None:
    """An unknown architecture is an error; a run that traces nothing fails."""
    pytest.importorskip("transformers")
    done = trace("NobodysForCausalLM")
    assert done.returncode == 1
    assert (
        "NobodysForCausalLM            not traced: no formula describes its layers" in done.stdout
    )
