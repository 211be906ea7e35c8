"""The order of the stages: each runs once and only if needed, and facts are reused."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler import compilation as stages
from ftc.compiler.compilation import Compilation
from ftc.compiler.resolve import resolver as facts_of
from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.resolver import NOT_SAID, Resolver
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.load import load_document
from ftc.spec.validate import validate

SPEC: Mapping[str, Any] = {
    "name": "triage",
    "model": "Qwen/Qwen2.5-0.5B-Instruct",
    "data": {"source": "tickets.csv", "columns": {"prompt": "text", "completion": "label"}},
    "hardware": "RTX 4090",
    "method": "lora",
}
Begin = Callable[..., Compilation]


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Return a function that begins the compilation of the spec, with edits to it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    rows = [f"parcel {n} is late,{('refund', 'delivery')[n % 2]}" for n in range(100)]
    (tmp_path / "tickets.csv").write_text("\n".join(["text,label", *rows]) + "\n")

    def run(edits: Mapping[str, Any] | None = None, **options: Any) -> Compilation:
        path = tmp_path / "spec.json"
        path.write_text(json.dumps({**SPEC, **(edits or {})}))
        document = load_document(str(path))
        assert not isinstance(document, tuple)
        spec = validate(document)
        assert not isinstance(spec, tuple), spec
        return Compilation(document, spec, **options)

    return run


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often each stage ran."""
    counted: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        real = getattr(module, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, counting)

    for kind in ("model", "tokenizer", "data", "hardware"):
        count(facts_of, f"resolve_{kind}")
    for name in ("make_plan", "run_checks", "read_lock", "make_lock"):
        count(stages, name)
    return counted


def test_each_stage_runs_once(begin: Begin, calls: Counter[str]) -> None:
    """Whatever is asked for, in whatever order, no stage runs twice."""
    compilation = begin()
    assert not calls, "nothing runs before it is asked for"
    assert compilation.lock.files
    assert not compilation.failed
    assert not compilation.broken
    assert compilation.moved == ()
    assert compilation.plan is not None
    assert set(calls.values()) == {1}, calls


def test_a_plan_alone_runs_no_checks(begin: Begin, calls: Counter[str]) -> None:
    """A later stage does not run for an earlier one."""
    assert begin(update=True).plan is not None
    assert calls["make_plan"] == 1
    assert calls["run_checks"] == calls["make_lock"] == calls["read_lock"] == 0


@pytest.mark.parametrize(
    ("edits", "looked_up"),
    [
        ({"training": {"seed": 7}}, set()),
        ({"method": "qlora"}, set()),
        ({"model": {"id": SPEC["model"], "attention": "eager"}}, set()),
        ({"data": {**SPEC["data"], "max_length": 64}}, set()),
        ({"hardware": "H100"}, {"hardware"}),
        ({"objective": "cpt"}, {"data"}),
        ({"data": {**SPEC["data"], "max_rows": 50}}, {"data"}),
        ({"model": "Qwen/Qwen2.5-1.5B-Instruct"}, {"model", "tokenizer", "data"}),
    ],
)
def test_only_what_changed_is_looked_up(
    begin: Begin, calls: Counter[str], edits: Mapping[str, Any], looked_up: set[str]
) -> None:
    """A resolver keeps the facts whose part of the spec is the same."""
    resolver = Resolver()
    first = begin(resolver=resolver).facts
    calls.clear()
    second = begin(edits, resolver=resolver).facts
    assert set(calls) - {"read_lock"} == {f"resolve_{kind}" for kind in looked_up}
    for kind in {"model", "tokenizer", "data", "hardware"} - looked_up:
        assert getattr(first, kind) == getattr(second, kind)


def test_a_data_file_that_changed_is_read_again(
    begin: Begin, calls: Counter[str], tmp_path: Path
) -> None:
    """The file's size and time are a part of what was looked up."""
    resolver = Resolver()
    before = begin(resolver=resolver).facts.data
    with (tmp_path / "tickets.csv").open("a") as file:
        file.write("one more,refund\n")
    after = begin(resolver=resolver).facts.data
    assert not isinstance(before, Unknown)
    assert not isinstance(after, Unknown)
    assert (before.rows, after.rows) == (100, 101)
    assert calls["resolve_data"] == 2


def test_what_is_doubtful_is_looked_up_again(begin: Begin, calls: Counter[str]) -> None:
    """Unknown facts and models of the built-in table; the hardware stays known."""
    resolver = Resolver()
    assert begin(resolver=resolver).facts
    calls.clear()
    resolver.forget_doubtful()
    assert begin(resolver=resolver).facts
    assert calls["resolve_model"] == 1
    assert calls["resolve_hardware"] == 0


def test_what_nobody_wrote_is_not_looked_up(begin: Begin, calls: Counter[str]) -> None:
    """There are no facts, no plan and no findings about a stand-in."""
    compilation = begin(update=True, unsaid=["model", "tokenizer"])
    assert compilation.facts.model is compilation.facts.tokenizer is NOT_SAID
    assert not isinstance(compilation.facts.data, Unknown)
    assert compilation.plan is None
    assert compilation.judged == ()
    assert set(calls) == {"resolve_data", "resolve_hardware"}


def test_locked_needs_a_lock(begin: Begin) -> None:
    """Without a lock beside the bundle nothing is looked up."""
    with pytest.raises(EnvironmentFailure, match=r"no `ftc\.lock\.json`"):
        begin(locked=True).facts  # noqa: B018 - it is computed when it is read
