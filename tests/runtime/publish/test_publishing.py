"""Publishing: refused unless all is done, listed without a network, uploaded as LFS does it."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ftc.runtime.files import write_json
from ftc.runtime.publish import publishing
from ftc.runtime.publish.publication import Job
from ftc.runtime.run import Run
from tests.compiler.resolve.local_hub import serve
from tests.runtime.reports.test_report import finish, report_of, write_bundle

CARD = {"license": "mit", "pipeline_tag": "text-generation", "library_name": "transformers"}
PUSH = """
import sys
from pathlib import Path
from ftc.runtime.publish import publishing
from tests.runtime.publish.test_publishing import job_of
job = job_of(Path(sys.argv[1]))
publishing.push(job, publishing.prepare(job))
"""


def job_of(folder: Path) -> Job:
    """Return what publishes the merged weights and the GGUF files of a bundle."""
    return Job(
        run=Run(folder, stage="publish"),
        repository="acme/tickets",
        private=True,
        what=("merged", "gguf"),
        name="tickets",
        card=CARD,
        licence="mit",
        base=None,
        base_licence="apache-2.0",
        data_names=("tickets.csv",),
        data_licence=None,
        objective="sft",
    )


def test_a_name_with_base_is_published(bundle: Path) -> None:
    """Only the file that the adapter is applied to is left out."""
    job = replace(job_of(bundle), name="tickets-base-v2")
    note = bundle / "run/done/quantize.json"
    record = json.loads(note.read_text(encoding="utf-8"))
    for kind in ("tickets-base-v2-Q8_0.gguf", "tickets-base-v2-base-F16.gguf"):
        path = bundle / "run/quantize" / kind
        path.write_bytes(b"GGUF")
        name = f"run/quantize/{kind}"
        record["outputs"][name] = hashlib.sha256(b"GGUF").hexdigest()
    note.write_text(json.dumps(record), encoding="utf-8")
    assert "tickets-base-v2-Q8_0.gguf" in publishing.prepare(job)
    assert "tickets-base-v2-base-F16.gguf" not in publishing.prepare(job)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle whose stages are done, with a report and a Modelfile."""
    folder = write_bundle(tmp_path / "bundle")
    report_of(folder, "quantize")
    text = "FROM ./run/quantize/model-Q8_0.gguf\nPARAMETER num_ctx 64\n"
    (folder / "Modelfile").write_text(text, encoding="utf-8")
    return folder


def test_the_card_has_metadata_numbers_and_no_row(bundle: Path) -> None:
    """YAML as the Hub reads it, the metric with its interval, and nothing of a test row."""
    files = publishing.prepare(job_of(bundle))
    text = files["README.md"].read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)

    assert yaml.safe_load(front) == CARD
    assert "The trained model is better than the model before training" in body
    assert "95% interval" in body
    assert "ollama create tickets -f Modelfile" in body
    assert "not stated" in body
    assert "alert" not in body
    assert "model.safetensors" in files
    assert files["Modelfile"].read_text(encoding="utf-8").startswith("FROM ./model-Q8_0.gguf\n")


@pytest.mark.parametrize("stage", ["evaluate", "quantize"])
def test_a_stage_that_is_not_done_is_refused(bundle: Path, stage: str) -> None:
    """A stage that failed has no record."""
    (bundle / "run" / "done" / f"{stage}.json").unlink()

    with pytest.raises(SystemExit, match=f"stage `{stage}` is not done"):
        publishing.prepare(job_of(bundle))


def test_a_stale_stage_is_refused(bundle: Path) -> None:
    """After another training, what was measured is not of this model."""
    finish(bundle, "train")

    with pytest.raises(SystemExit, match="stage"):
        publishing.prepare(job_of(bundle))


def test_a_changed_result_is_refused(bundle: Path) -> None:
    """No number is published that a stage did not write."""
    write_json(bundle / "run" / "evaluate" / "report.json", {"verdict": "perfect"})

    with pytest.raises(SystemExit, match="has changed"):
        publishing.prepare(job_of(bundle))


def upload(bundle: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Upload in a process of its own: huggingface_hub reads the environment once."""
    home = str(bundle.parent / "home")
    kept = {name: value for name, value in os.environ.items() if name != "HF_TOKEN"}
    own = {"HF_HOME": home, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0", **more}
    return subprocess.run(
        [sys.executable, "-c", PUSH, bundle],
        env={**kept, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_uploaded_by_lfs(bundle: Path) -> None:
    """Every file arrives unchanged in a private repository; the token is written nowhere."""
    with serve() as hub:
        done = upload(bundle, HF_ENDPOINT=hub.endpoint, HF_TOKEN="hf_planted")

    assert done.returncode == 0, done.stderr
    stored = hub.files["models/acme/tickets"]
    weights = (bundle / "run" / "merged" / "model.safetensors").read_bytes()
    assert stored["model.safetensors"] == weights
    assert stored["README.md"] == (bundle / "run" / "publish" / "README.md").read_bytes()
    assert hub.info["models/acme/tickets"] == {"visibility": "private"}
    assert sum(request.startswith("PUT lfs/") for request in hub.requests) >= 2
    assert "hf_planted" not in done.stdout + done.stderr
    written = [path for path in bundle.rglob("*") if path.is_file()]
    assert not [path for path in written if b"hf_planted" in path.read_bytes()]


def test_a_refusal_is_one_sentence(bundle: Path) -> None:
    """Without a token, and where the token may not write."""
    with serve() as hub:
        alone = upload(bundle, HF_ENDPOINT=hub.endpoint)
        hub.failing = 403
        refused = upload(bundle, HF_ENDPOINT=hub.endpoint, HF_TOKEN="hf_planted")

    for done in (alone, refused):
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert json.dumps(done.stderr).count("publish.py: ") == 1
    assert "the token may not write there" in refused.stderr
