"""A spec, facts and a lock for the tests of writing."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.resolve.facts import DataFacts, Facts, HardwareFacts, ModelFacts, TokenizerFacts
from ftc.compiler.write.lock import Lock, make_lock
from ftc.spec.normal import normalise
from ftc.spec.sections import Spec

COLUMNS = ("messages", "prompt", "completion", "instruction", "input", "output", "text")
WRITTEN: dict[str, Any] = {
    "name": "triage",
    "model": {"id": "org/model"},
    "data": {"source": "tickets.csv"},
    "method": {"type": "lora", "dropout": 0.0},
    "training": {"weight_decay": 0.0},
    "hardware": {"gpu": "A100-80GB", "count": 2},
    "export": {"types": ["Q4_K_M"]},
}
SPEC = {**normalise(WRITTEN), "said": ["/model/id", "/data/source"]}
MODEL: dict[str, Any] = {
    "id": "org/model",
    "origin": "hub",
    "path": None,
    "revision": "a" * 40,
    "config_sha256": "0" * 64,
    "architecture": "LlamaForCausalLM",
    "model_type": "llama",
    "parameters": 10**9,
    "shape": None,
    "context_tokens": 4096,
    "embedding_rows": 32000,
    "dtype": "bfloat16",
    "weights_bytes": None,
    "quantized": None,
    "custom_code": False,
    "licence": "apache-2.0",
    "gated": False,
    "unwritten_keys": [],
}
TOKENIZER: dict[str, Any] = {
    "exact": True,
    "sha256": "1" * 64,
    "family": "llama",
    "chars_per_token": 3.7,
    "vocabulary_tokens": 32000,
    "bos": "<s>",
    "eos": "</s>",
    "pad": None,
    "unk": None,
    "template_sha256": None,
    "template_from_spec": False,
    "closes_answer": None,
    "accepts_system": None,
    "prefix_stable": None,
    "has_sentencepiece_model": True,
    "conversion": {
        "tokenizer_class": "LlamaTokenizer",
        "byte_fallback": True,
        "pre_tokenizer_sha256": "3" * 64,
        "highest_id": 31999,
        "highest_token": "\u2581",
        "marker_id": 2,
        "marker": "</s>",
        "pieces": 32000,
        "unlisted": [],
    },
}
DATA: dict[str, Any] = {
    "source": "tickets.csv",
    "origin": "file",
    "path": "tickets.csv",
    "revision": None,
    "sha256": "2" * 64,
    "size_bytes": 1000,
    "format": "csv",
    "encoding": "utf-8",
    "columns": ["text", "caf\u00e9"],
    "form": "prompt_completion",
    **dict.fromkeys(COLUMNS),
    "rows": 100,
    "sampled_rows": 100,
    "usable_rows": 90,
    "blank_rows": 4,
    "duplicate_rows": 6,
    "misencoded_rows": 0,
    "malformed_rows": 0,
    "faults": {},
    "lost_rows": 0,
    "control_rows": 0,
    "prompts": 90,
    "largest_prompt_rows": 1,
    "conflicting_rows": 0,
    "multi_turn": False,
    "has_system": False,
    "lengths": {
        "estimate": False,
        "mean": 30.5,
        "p50": 28,
        "p90": 50,
        "p95": 60,
        "p99": 80,
        "max": 99,
        "prompt_p50": 24,
        "prompt_p95": 50,
        "prompt_max": 90,
        "answer_p50": 4,
        "answer_p95": 8,
        "answer_max": 9,
        "histogram": [[64, 80], [128, 20]],
        "prompt_histogram": [[64, 84], [128, 16]],
    },
    "languages": {"en": 0.9, "es": 0.1},
    "twins": {"probes": 80, "compared": 90, "counts": [[0, 80]], "largest": 0, "row": 0},
    "labels": [{"name": "refund", "rows": 50}],
}
HARDWARE: dict[str, Any] = {
    "name": "A100-80GB",
    "kind": "gpu",
    "origin": "spec",
    "count": 2,
    "memory_bytes": 85 * 10**9,
    "compute_capability": 8.0,
    "bf16": True,
    "flash_attention_2": True,
    "bf16_tflops": 312.0,
    "bandwidth_gb_s": 2039.0,
    "link": "nvlink",
    "host_ram_bytes": None,
    "disk_free_bytes": None,
    "cores": None,
    "also_matches": [],
}

MakeLock = Callable[..., Lock]


@pytest.fixture
def spec() -> Spec:
    """Return a small spec in the long form."""
    return msgspec.convert(SPEC, Spec)


@pytest.fixture
def facts() -> Facts:
    """Return known facts of every kind."""
    return Facts(
        model=msgspec.convert(MODEL, ModelFacts),
        tokenizer=msgspec.convert(TOKENIZER, TokenizerFacts),
        data=msgspec.convert(DATA, DataFacts),
        hardware=msgspec.convert(HARDWARE, HardwareFacts),
    )


@pytest.fixture
def lock_of(spec: Spec, facts: Facts) -> MakeLock:
    """Return a maker of locks over the given files, by this ftc or another."""

    def make(files: Sequence[RenderedFile], *, ftc: str = "0.1.0", **values: Any) -> Lock:
        decisions = {"learning_rate": 2e-4, "lora_targets": ("q_proj", "v_proj"), **values}
        return make_lock(
            ftc=ftc,
            spec=spec,
            facts=facts,
            decisions={
                name: Decision(value=value, source="derived", because=Because(key="x"))
                for name, value in decisions.items()
            },
            requirements=("torch==2.13.0", "trl==1.16.0"),
            files=files,
        )

    return make
