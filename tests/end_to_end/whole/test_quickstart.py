"""The quickstart in miniature: one spec becomes GGUF files that answer, through real processes."""

import re
import shutil
import sys
from pathlib import Path

import llama_cpp
import pytest

from ftc.compiler.resolve.chat_template.go_template import render_go
from ftc.compiler.resolve.chat_template.ollama import collate
from ftc.compiler.verify.modelfile import read_modelfile
from ftc.runtime.read.rows import before_answer
from tests.end_to_end.conftest import INTENTS, STEPS, WholeRun
from tests.end_to_end.process import read_json, read_rows, run, train

STAGES = ("prepare", "train", "merge", "evaluate", "quantize")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def moved(whole_run: WholeRun, tmp_path: Path) -> Path:
    """Return a copy of the finished bundle from which its data and model are not found."""
    return Path(shutil.copytree(whole_run.bundle, tmp_path / "elsewhere" / "deeper" / "bundle"))


#: What each start writes anew: the lock's file, and what report.py says.
OF_EVERY_START = {
    ".lock",
    "stages.log",
    "report.html",
    "report.md",
    "curve.png",
    "digests.json",
    "exit_code.json",
    "stages.jsonl",
}


def outputs(bundle: Path) -> dict[str, tuple[int, int]]:
    """Return the time and the size of every file that the scripts wrote."""
    return {
        path.relative_to(bundle).as_posix(): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted((bundle / "run").rglob("*"))
        if path.is_file() and path.name not in OF_EVERY_START
    }


def test_the_run_ends_well(whole_run: WholeRun) -> None:
    """Every stage of `run.sh` is done, and the last one prints the table."""
    assert whole_run.ended.code == 0, whole_run.ended.said
    for stage in STAGES:
        assert f"{stage}: done in " in whole_run.ended.out
    assert "| in all" in whole_run.ended.out


def test_no_secret_of_the_environment_is_written(whole_run: WholeRun) -> None:
    """The run had tokens in its environment; they are in no log and no file, weights included."""
    told = [path for path in whole_run.bundle.rglob("*") if path.is_file()]

    assert len(told) > 40
    assert "PLANTED" not in whole_run.ended.out + whole_run.ended.err
    assert not [path for path in told if b"PLANTED" in path.read_bytes()]


def test_the_data_report_counts_every_change(whole_run: WholeRun) -> None:
    """What was blank, repeated or wrongly encoded is counted, listed, and adds up."""
    report = read_json(whole_run.bundle / "run/data/report.json")
    facts = read_json(whole_run.bundle / "ftc.lock.json")["facts"]["data"]
    changes = report["changes"]

    assert changes["blank"] == facts["blank_rows"] > 0
    assert changes["duplicate"] == facts["duplicate_rows"] > 0
    assert changes["repaired"] == facts["misencoded_rows"] > 0
    assert report["rows_used"] == facts["usable_rows"] == sum(report["splits"].values())
    assert report["rows_read"] == report["rows_used"] + changes["blank"] + changes["duplicate"]
    assert len(report["changed_rows"]) == sum(changes.values())


def test_no_prompt_is_in_two_splits(whole_run: WholeRun) -> None:
    """A row that the result is judged by was never trained on."""
    seen = [
        {row["messages"][0]["content"] for row in read_rows(path)}
        for path in sorted((whole_run.bundle / "run/data").glob("*.jsonl"))
    ]

    assert len(seen) == 3
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_the_loss_falls(whole_run: WholeRun) -> None:
    """The curve is written as numbers and as a picture, and it goes down."""
    curve = read_json(whole_run.bundle / "run/train/curve.json")
    losses = [loss for _, loss in curve["train"]]

    assert curve["train"][-1][0] == curve["validation"][-1][0] == STEPS
    assert losses[-1] < losses[0] / 10
    assert (whole_run.bundle / "run/curve.png").read_bytes().startswith(PNG)


def test_the_trained_model_is_far_above_chance(whole_run: WholeRun) -> None:
    """One of four intents by guessing, more than twice that by what was learned."""
    report = read_json(whole_run.bundle / "run/evaluate/report.json")

    assert report["chance"] == 1 / len(INTENTS)
    assert report["majority_class"] < 0.4
    assert report["accuracy"] > 2.2 / len(INTENTS)
    assert report["accuracy"] > 1.5 * report["majority_class"]


def test_the_base_is_judged_on_the_same_rows(whole_run: WholeRun) -> None:
    """Before and after stand side by side with a verdict, and the answers can be read."""
    report = read_json(whole_run.bundle / "run/evaluate/report.json")
    told = read_rows(whole_run.bundle / "run/evaluate/predictions.jsonl")
    page = (whole_run.bundle / "run/report.md").read_text(encoding="utf-8")
    low, high = report["intervals"]["accuracy"]

    assert report["base"]["loss"] > 10 * report["loss"]
    assert report["base"]["accuracy"] < low < report["accuracy"] < high
    assert report["changes"]["accuracy"]["verdict"] == "better"
    assert sum(row["score"] for row in told) == pytest.approx(report["accuracy"] * len(told))
    assert all(row["prompt"] and row["base_said"] is not None for row in told)
    assert "The trained model is better than the model before training" in page


def test_each_gguf_answers_as_the_trained_model(whole_run: WholeRun) -> None:
    """Q8_0 is all but the trained model, Q4_K_M close to it, on the same tokens."""
    files = read_json(whole_run.bundle / "run/quantize/quality.json")["files"]
    rows = read_json(whole_run.bundle / "run/evaluate/report.json")["rows"]
    agreement = {entry["type"]: entry["same_answers"] for entry in files}

    assert f"all {rows:,} rows are the same tokens" in whole_run.ended.out
    assert agreement.keys() == {"Q8_0", "Q4_K_M"}
    assert agreement["Q8_0"] >= 0.95
    assert agreement["Q4_K_M"] >= 0.85
    for entry in files:
        assert entry["fault"] is None
        assert abs(entry["accuracy"] - entry["trained_accuracy"]) <= 0.1
        file = whole_run.bundle / "run/quantize" / entry["file"]
        assert file.stat().st_size == entry["bytes"]
        assert file.read_bytes()[:4] == b"GGUF"


def test_a_question_gets_an_intent(whole_run: WholeRun) -> None:
    """`ask.py` prints one intent and nothing else."""
    asked = run(sys.executable, "ask.py", "please cancel my order", cwd=whole_run.bundle)

    assert asked.code == 0, asked.said
    assert asked.out.strip() in INTENTS


def test_a_second_start_repeats_nothing(whole_run: WholeRun) -> None:
    """Every stage says that it is done, and no file is written again."""
    before = outputs(whole_run.bundle)
    again = run("./run.sh", cwd=whole_run.bundle)

    assert again.code == 0, again.said
    done = re.findall(r"^(\w+): already done", again.out, re.MULTILINE)
    assert list(dict.fromkeys(done)) == list(STAGES)
    assert outputs(whole_run.bundle) == before


def test_a_moved_bundle_goes_on(whole_run: WholeRun, moved: Path) -> None:
    """Elsewhere it says what is not there, and with the paths given it knows what is done."""
    model, data = whole_run.bundle.parent / "model", whole_run.bundle.parent / "tickets.csv"
    before = outputs(moved)

    lost = run(sys.executable, "prepare.py", cwd=moved)
    prepared = run(sys.executable, "prepare.py", "--data", data, "--model", model, cwd=moved)
    merged = run(sys.executable, "export.py", "--merge", "--model", model, cwd=moved)

    assert lost.code == 1
    assert "give its path with --data" in lost.err
    assert "Traceback" not in lost.err
    assert "prepare: already done" in prepared.out, prepared.said
    assert "merge: already done" in merged.out, merged.said
    assert outputs(moved) == before


def test_a_bundle_without_results_runs_elsewhere(whole_run: WholeRun, moved: Path) -> None:
    """What is committed is enough: the same rows come out of it in another folder."""
    shutil.rmtree(moved / "run")
    model, data = whole_run.bundle.parent / "model", whole_run.bundle.parent / "tickets.csv"

    prepared = run(
        sys.executable, moved / "prepare.py", "--data", data, "--model", model, cwd=moved.parent
    )

    assert prepared.code == 0, prepared.said
    for name in ("train", "validation", "test"):
        split = f"run/data/{name}.jsonl"
        assert (moved / split).read_bytes() == (whole_run.bundle / split).read_bytes()


def test_a_changed_constant_repeats_what_depends_on_it(whole_run: WholeRun, moved: Path) -> None:
    """With fewer steps training runs again, the data stay, and nothing later counts as done.

    Until then the old training is not merged.
    """
    folder = whole_run.bundle.parent
    script = moved / "train.py"
    text = script.read_text(encoding="utf-8")
    changed = text.replace(f"MAX_STEPS = {STEPS} ", "MAX_STEPS = 5 ")
    assert changed != text
    script.write_text(changed, encoding="utf-8")

    model = ("--model", folder / "model")
    prepared = run(
        sys.executable, "prepare.py", "--data", folder / "tickets.csv", *model, cwd=moved
    )
    early = run(sys.executable, "export.py", "--merge", *model, cwd=moved)
    trained = train(moved, *model)
    merged = run(sys.executable, "export.py", "--merge", *model, cwd=moved)

    assert "prepare: already done" in prepared.out, prepared.said
    assert early.code == 1, early.said
    assert "train.py has changed since stage `train` ran" in early.err
    assert "is in train-1" in trained.out, trained.said
    assert read_json(moved / "run/train/curve.json")["train"][-1][0] == 5
    assert "merge: done in" in merged.out, merged.said
    assert (moved / "run/train-1/model/model.safetensors").is_file()


def test_ollama_reads_the_rows_as_training_did(whole_run: WholeRun) -> None:
    """By the Modelfile's template and the tokens of the GGUF, each prompt of the test split."""
    said = read_modelfile((whole_run.bundle / "Modelfile").read_text(encoding="utf-8"))
    rows = read_rows(whole_run.bundle / "run/data/test.jsonl")
    words = llama_cpp.Llama(str(whole_run.bundle / said["from"]), vocab_only=True, verbose=False)
    for row in rows:
        text = render_go(said["template"], collate(before_answer(row["messages"])))
        ids = words.tokenize(text.encode(), add_bos=True, special=True)
        assert ids == row["prompt_ids"], text
        ending = words.detokenize(row["input_ids"][-1:], special=True).decode()
        assert ending in said["stop"]
    words.close()
    assert len(rows) > 5


def test_a_changed_modelfile_is_found(whole_run: WholeRun) -> None:
    """`ftc compile --check` holds it to the spec without a tokenizer or a model."""
    path, folder = whole_run.bundle / "Modelfile", whole_run.bundle.parent
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<|", "<||"), encoding="utf-8")
    ended = run("ftc", "compile", "spec.json", "-o", whole_run.bundle, "--check", cwd=folder)
    path.write_text(text, encoding="utf-8")
    assert ended.code == 1, ended.said
    assert "Modelfile" in ended.said
