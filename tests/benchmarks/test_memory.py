"""The memory benchmark: its bounds on published rows, and what it does with other rows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published import read_case
from benchmarks.rates import read_errors
from ftc.compiler.plan.memory.activations import layer_bytes

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).parent / "rows.json"  # one published row of each family and model


def run(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the benchmark on a file, as a user does."""
    command = [sys.executable, "-m", "benchmarks.memory", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def run_rows(folder: Path, *edits: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run the benchmark on the first row, once with each edit."""
    first = json.loads(ROWS.read_text(encoding="utf-8"))[0]
    path = folder / "rows.json"
    path.write_text(json.dumps([{**first, **edit} for edit in edits]), encoding="utf-8")
    return run(path)


def test_every_bound_holds_on_all_published_rows(shared: Path) -> None:
    """537 rows: each is predicted, listed, or counted under a reason."""
    cases = shared / "field" / "memory_cases.json"
    done = run(cases)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = done.stdout.splitlines()[-1]
    assert verdict.endswith("every bound holds")
    predicted = int(verdict.split()[0])
    listed = done.stdout.count("failed, not scored")
    refused = int(verdict.split(" predicted, ")[1].split()[0])
    assert predicted + listed + refused == len(json.loads(cases.read_text(encoding="utf-8")))
    assert predicted >= 134


def test_every_bound_holds_on_one_row_of_each_family() -> None:
    """Full, LoRA, QLoRA and GPTQ; one GPU and FSDP; plain, fused and Liger kernels."""
    done = run(ROWS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 not covered" in done.stdout


@pytest.mark.prove
def test_rows_that_no_formula_was_written_for_are_within_the_bounds() -> None:
    """160 rows of Llama-3-8B, PowerLM-3B and Mixtral; one bound has a known miss."""
    done = run(ROOT / "benchmarks" / "held_out.json")
    verdict = done.stdout.splitlines()[-1]
    assert verdict == (
        "110 of 160 rows predicted, 0 not covered: plain: maximum 5.311% is above 3.0%"
    ), "Mixtral in 4 bits after prepare_model_for_kbit_training; no bundle calls it"
    assert "predicted to fit, but did not" not in done.stdout


def test_only_mistral_and_mixtral_repeated_keys_for_flash_attention() -> None:
    """Transformers 4.45: `repeat_kv` is in their FlashAttention classes, not in Llama's."""
    rows = json.loads((ROOT / "benchmarks" / "held_out.json").read_text(encoding="utf-8"))
    row = next(row for row in rows if row["model"].endswith("Llama-3-8B") and row["gpus"] == 1)
    llama = read_case(row)
    mistral = read_case({**row, "model": "mistralai/Mistral-7B-v0.1"})
    assert not isinstance(llama, str)
    assert not isinstance(mistral, str)
    assert not llama.job.stack.repeated_keys
    # both have 32 heads and 8 of keys, of 128 wide: 2 tensors x 24 heads x 128 x 2 bytes
    assert layer_bytes(mistral.job) - layer_bytes(llama.job) == 2 * 24 * 128 * 2


def test_rates_are_compared_by_family() -> None:
    """The planned tokens per second of most held-out runs are within a quarter."""
    path = ROOT / "benchmarks" / "held_out.json"
    found = read_errors(json.loads(path.read_text(encoding="utf-8")))
    errors = sorted(abs(error) for family in found.values() for error in family)
    assert len(errors) == 110
    assert errors[len(errors) // 2] < 0.1
    assert errors[round(0.9 * len(errors))] < 0.25


def test_a_measurement_that_is_five_percent_higher_breaks_a_bound(tmp_path: Path) -> None:
    """The first row has a bound of 3 %."""
    exact = json.loads(ROWS.read_text(encoding="utf-8"))[0]["peak_bytes"]
    done = run_rows(tmp_path, {"peak_bytes": round(exact * 1.05)})
    assert done.returncode == 1
    assert "plain: median 4.7" in done.stdout.splitlines()[-1]


def test_what_is_said_to_fit_must_not_have_run_out_of_memory(tmp_path: Path) -> None:
    """A row that ran out of memory but fits by the model breaks a separate bound."""
    done = run_rows(tmp_path, {}, {"peak_bytes": None, "peak_as_printed": "OOM"})
    assert done.returncode == 1
    assert "1 runs predicted to fit did not" in done.stdout.splitlines()[-1]


def test_what_is_not_covered_is_counted_by_its_reason(tmp_path: Path) -> None:
    """No row is dropped silently, and a file with nothing to predict fails."""
    done = run_rows(tmp_path, {}, {"seq_len": None}, {"model": "nobody/knows"})
    assert done.returncode == 0, done.stdout
    assert "not covered,    1 rows: the lengths of the rows are not published" in done.stdout
    assert "not covered,    1 rows: the model's shape is not in the tables" in done.stdout
    assert run_rows(tmp_path, {"seq_len": None}).returncode == 1


def test_a_file_that_is_no_list_of_rows_is_a_usage_error(tmp_path: Path) -> None:
    """The error is one line, without a traceback."""
    path = tmp_path / "no.json"
    path.write_text('{"rows": []}', encoding="utf-8")
    done = run(path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("is not a list of objects")


def test_models_are_found_as_people_write_them(tmp_path: Path) -> None:
    """Copies and tuned versions have the shape of their base."""
    names = ("llama3-8b", "NousResearch/Meta-Llama-3-8B", "LLaMA2-7B", "Mixtral-8x7B-v0.1-GPTQ")
    done = run_rows(tmp_path, {}, *({"model": name, "peak_bytes": None} for name in names))
    assert "0 not covered" in done.stdout, done.stdout


def test_a_method_that_is_not_modelled_is_named(tmp_path: Path) -> None:
    """Other adapters are not LoRA."""
    done = run_rows(tmp_path, {}, {"method": "vera"})
    assert "not covered,    1 rows: the method is not modelled: vera" in done.stdout
