"""The catalogue of reasons and the planner name the same keys."""

import ast
from pathlib import Path

import pytest

import ftc.compiler.plan
from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.reasons import CATALOGUE, sentence

# Keys put together from a word that a closed type allows.
ZERO = ("zero1", "zero2", "zero3")
COMPOSED = {
    "world.": ("gpu", "cpu", "gpu.nodes", "cpu.nodes"),
    "vllm_share.": ("colocate", "server"),
    "loader_workers.": ("none", "images"),
    "answer_tokens.called": (".room",),
    "answer_tokens.sampled": (".room",),
    "answer_tokens.reasoning": (".room",),
    "answer_tokens.prompts": (".room",),
    "answer_tokens.thinking": (".room",),
    "checkpointing.on": (".needs", ".slower"),
    "checkpointing.off": (".needs", ".slower"),
    "checkpointing.": tuple(
        f"{what}{end}"
        for what in ("every", "selective", "offload")
        for end in ("", ".needs", ".slower")
    ),
    "sharding.": tuple(f"{z}{e}" for z in ("ddp", *ZERO) for e in ("", ".needs", ".slower")),
    "offload.": tuple(
        f"{kept}{end}" for kept in ("none", "optimizer", "parameters") for end in ("", ".slower")
    ),
}


def _written() -> set[str]:
    """Every string of the planner that is, or composes, a key."""
    found: set[str] = set()
    for path in Path(next(iter(ftc.compiler.plan.__path__))).rglob("*.py"):
        if path.name == "reasons.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, f"{node.value}.estimate"}
                found |= {node.value + end for end in COMPOSED.get(node.value, ())}
    return found


def _keys_of_calls() -> set[str]:
    """Collect the literal keys given to `Because` and `derived`."""
    keys: set[str] = set()
    for path in Path(next(iter(ftc.compiler.plan.__path__))).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            given = [k.value for k in node.keywords if k.arg == "key"]
            if node.func.id == "derived" and len(node.args) > 1:
                given.append(node.args[1])
            keys |= {
                key.value
                for key in given
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
    return keys


def test_every_key_of_the_planner_has_a_sentence() -> None:
    """No decision is left without words."""
    keys = _keys_of_calls()
    assert len(keys) > 30
    assert keys <= set(CATALOGUE)
    for stem, ends in COMPOSED.items():
        assert {stem + end for end in ends} <= set(CATALOGUE)


def test_every_sentence_is_used() -> None:
    """The catalogue holds nothing that no decision says."""
    assert set(CATALOGUE) - _written() == set()


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        (
            "accumulation",
            {"batch": 1024, "micro": 4, "world": 2},
            "global batch 1,024 / (micro-batch 4",
        ),
        ("max_length.p99", {"p99": 400, "max": 9000, "cut_share": 0.0123}, "1.2% of rows"),
        (
            "micro_batch.only",
            {"device_bytes": 3 * 2**29, "capacity_bytes": None},
            "1.5 GiB of unknown",
        ),
        ("learning_rate.scratch", {"parameters": 3_712_000}, "3.71M parameters"),
        ("steps.epochs", {"epochs": 1, "per_epoch": 12}, "1 epoch of 12 steps"),
        ("steps.epochs", {"epochs": 3, "per_epoch": 1}, "3 epochs of 1 step"),
        ("rows.share", {"share": 0.1, "rows": 5000}, "10% of 5,000"),
    ],
)
def test_values_are_printed_readably(key: str, values: dict[str, object], expected: str) -> None:
    """Thousands separators, GiB with one decimal, shares in percent."""
    assert expected in sentence(Because(key=key, values=values))
