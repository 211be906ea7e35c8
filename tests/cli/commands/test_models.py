"""`ftc models`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Call = Callable[..., Any]


@pytest.fixture
def listed(call: Call, models_schema: dict[str, Any]) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that calls `ftc models` for JSON, and holds it against its schema."""

    def run(*arguments: str | Path) -> list[dict[str, Any]]:
        result = call("models", *arguments, "--format", "json")
        assert (result.code, result.err) == (0, "")
        data = json.loads(result.out)
        jsonschema.validate(data, models_schema)
        models: list[dict[str, Any]] = data["models"]
        return models

    return run


def test_text(call: Call) -> None:
    """A head, then a line for each model with what it takes."""
    result = call("models", "--hardware", "RTX 4090")
    assert result.code == 0, result.err
    head, *rows = result.out.splitlines()
    assert head.split() == ["model", "size", "context", "method", "memory", "time", "licence"]
    (row,) = [row for row in rows if row.startswith("Qwen/Qwen3-4B ")]
    assert " GiB " in row
    assert row.endswith("apache-2.0")
    assert "10,000 rows of 512 tokens" in rows[-1]


def test_a_slow_machine_is_not_said_to_have_no_model(call: Call) -> None:
    """The shortlist ends at a day of training, which nothing takes less than here."""
    result = call("models", "--objective", "embed", "--hardware", "cpu", "--short")
    assert result.out.splitlines() == [
        "none of these models trains within a day there; without --short all are listed"
    ]


def test_without_hardware_nothing_is_planned(listed: Callable[..., list[dict[str, Any]]]) -> None:
    """The table alone."""
    models = listed()
    assert models
    assert {each["method"] for each in models} == {None}
    assert {each["device_bytes"] for each in models} == {None}


def test_without_hardware_no_column_is_empty(call: Call) -> None:
    """The short list claims no time, and says which option shows it."""
    head, *rows, last = call("models", "--short").out.splitlines()
    assert head.split() == ["model", "size", "context", "licence"]
    assert rows[0].endswith("(the largest that one GPU of 48 GB can train)")
    assert not any("day" in row or "quickest" in row for row in rows)
    assert last.startswith("--hardware shows ")


def test_what_does_not_fit_is_left_out(listed: Callable[..., list[dict[str, Any]]]) -> None:
    """Unless --all asks for it, with what it lacks."""
    fitting = {each["id"] for each in listed("--hardware", "RTX 4090")}
    everything = {each["id"]: each for each in listed("--hardware", "RTX 4090", "--all")}
    large = "meta-llama/Llama-3.1-70B-Instruct"
    assert large not in fitting
    assert everything[large]["lacks"] == ["memory"]
    assert fitting == {name for name, each in everything.items() if not each["lacks"]}


def test_filters(listed: Callable[..., list[dict[str, Any]]]) -> None:
    """Languages, licence and GGUF each leave only what has them."""
    models = listed("--language", "ca", "--license", "apache-2.0", "--gguf")
    assert "BSC-LT/salamandra-7b-instruct" in {each["id"] for each in models}
    for each in models:
        assert "ca" in each["languages"]
        assert (each["licence"], each["gguf"]) == ("apache-2.0", True)


def test_nothing_has_all_of_it(call: Call) -> None:
    """It is said what would show more."""
    result = call("models", "--language", "cy", "--license", "gemma", "--gguf")
    assert result.code == 0
    assert result.out == "no model of the table has all of that; --all shows what each lacks\n"


@pytest.mark.parametrize(
    ("arguments", "told", "help_"),
    [
        (("--language", "xx"), "is said to know the language xx", "write one of ar, bg, bn, ca,"),
        (("--language", "Catalam"), "know the language Catalam", "did you mean catalan (ca)?"),
        (("--license", "apache"), "has the licence apache", "did you mean apache-2.0?"),
        (("--license", "foo"), "has the licence foo", "write one of apache-2.0, "),
    ],
)
def test_a_word_that_the_table_does_not_know(
    call: Call, arguments: tuple[str, ...], told: str, help_: str
) -> None:
    """A word that no model has is wrong usage, and not an empty table."""
    result = call("models", *arguments)
    assert (result.code, result.out) == (2, "")
    assert told in result.err
    assert help_ in result.err


def test_a_language_by_its_name(listed: Callable[..., list[dict[str, Any]]]) -> None:
    """A name in one of the three languages stands for its code, in any case."""
    expected = listed("--language", "ca")
    for word in ("Catalan", "catal\u00e1n", "CA"):
        assert listed("--language", word) == expected


def test_the_short_list_says_why(call: Call, listed: Callable[..., list[dict[str, Any]]]) -> None:
    """At most four, each with its own reason, in both forms."""
    models = listed("--hardware", "RTX 4090", "--short")
    reasons = [each["reason"] for each in models]
    assert 2 <= len(models) <= 4
    assert len(set(reasons)) == len(reasons)
    assert reasons[0] == "largest"
    assert (
        "(the largest that trains within a day and leaves 10% of the memory free)"
        in call("models", "--hardware", "RTX 4090", "--short").out
    )


def test_the_languages_of_the_data_count(
    listed: Callable[..., list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Rows in Catalan leave the models that were trained for it."""
    line = (
        "El paquet no ha arribat i no sé on és, què puc fer amb la comanda que vaig demanar ahir?"
    )
    rows = "".join(
        json.dumps({"prompt": f"{line} {n}", "completion": "resposta"}) + "\n" for n in range(60)
    )
    path = tmp_path / "dades.jsonl"
    path.write_text(rows, encoding="utf-8")
    models = listed("--data", path)
    assert models
    assert all("ca" in each["languages"] for each in models)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--hardware", "Foo 9000"), 2, "there is no known GPU named `Foo 9000`"),
        (("--hardware", "V100-16GB"), 2, "the locked torch has no kernels for V100-SXM2-16GB"),
        (
            ("--hardware", "MI300X"),
            2,
            "AMD GPUs are not supported: `MI300X` has no CUDA, which the locked torch needs",
        ),
        (("--data", "nowhere.csv"), 3, "there is no file `nowhere.csv`"),
    ],
)
def test_what_cannot_be_known_is_one_sentence(
    call: Call,
    arguments: tuple[str, ...],
    *,
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An unknown GPU and a missing file: what is wrong, and what to write instead."""
    monkeypatch.chdir(tmp_path)
    result = call("models", *arguments)
    assert result.code == code
    assert result.out == ""
    first, second = result.err.splitlines()
    assert first == f"ftc: {told}"
    assert second.startswith("help: ")


def test_a_named_model_shows_each_method_and_the_longest_rows(
    listed: Callable[..., list[dict[str, Any]]], call: Call
) -> None:
    """A model that trains with QLoRA alone, and longer rows on more memory."""
    (small,) = listed("Qwen3-14B-Base", "--hardware", "RTX 4090")
    (large,) = listed("qwen3-14b-base", "--hardware", "A100-80GB")
    assert [each["method"] for each in small["methods"]] == ["full", "lora", "qlora"]
    assert [each["fits"] for each in small["methods"]] == [False, False, True]
    assert [each["longest_tokens"] > 0 for each in small["methods"]] == [False, False, True]
    assert small["methods"][2]["longest_tokens"] < large["methods"][2]["longest_tokens"]
    assert large["methods"][2]["longest_tokens"] <= large["context_tokens"]
    text = call("models", "Qwen3-14B-Base", "--hardware", "RTX 4090").out
    assert "longest rows" in text
    for each in (*small["methods"], *large["methods"]):
        assert each["least_bytes"] <= each["device_bytes"]
    full, lora, qlora = large["methods"]
    assert qlora["least_bytes"] < lora["least_bytes"] < full["least_bytes"]
    assert (
        f"{qlora['least_bytes'] / 2**30:.1f} GiB"
        in call("models", "Qwen3-14B-Base", "--hardware", "A100-80GB").out
    )
    assert listed("Qwen3-14B-Base")[0]["methods"] == []


def test_a_name_that_no_model_has(call: Call) -> None:
    """One sentence, and no table."""
    result = call("models", "no-such-model", "--hardware", "RTX 4090")
    assert (result.code, result.out) == (2, "")
    assert "no model whose id contains no-such-model" in result.err


def test_a_named_model_is_planned_as_ftc_plan_does(
    listed: Callable[..., list[dict[str, Any]]], call: Call, tmp_path: Path
) -> None:
    """Its rows are counted in its own tokens, with what its chat template writes."""
    data = tmp_path / "rows.jsonl"
    row = json.dumps({"prompt": "where is my parcel? " * 9, "completion": "it is late " * 9})
    data.write_text(f"{row}\n" * 200, encoding="utf-8")
    spec = tmp_path / "spec.json"
    (model,) = listed("Qwen2.5-32B-Instruct", "--hardware", "A100-80GB", "--data", data)
    for each in model["methods"]:
        said = {"name": "x", "model": model["id"], "data": "rows.jsonl", "hardware": "A100-80GB"}
        spec.write_text(json.dumps({**said, "method": each["method"]}), encoding="utf-8")
        plan = json.loads(call("plan", spec, "--format", "json").out)
        assert plan["memory"]["per_gpu"]["device_bytes"] == each["device_bytes"]
    text = call("models", "Qwen2.5-32B-Instruct", "--hardware", "A100-80GB", "--data", data).out
    assert "counted alike" not in text
    assert "counted alike" in call("models", "--hardware", "A100-80GB", "--data", data).out
