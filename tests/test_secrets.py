"""No secret leaks: planted tokens are in no output, no finding and no file of a bundle."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ftc.spec.findings.finding import Position
from ftc.spec.load import load_document
from ftc.spec.text.excerpt import excerpt
from ftc.spec.text.secrets import find_secrets
from tests.compiler.resolve.local_hub import LocalHub, serve

PLANTED = "hf_PLANTEDPLANTEDPLANTEDPLANTEDPLANTED"
OTHER = "planted-secret-of-another-kind"
VARIABLES = {
    "HF_TOKEN": PLANTED,
    "HUGGING_FACE_HUB_TOKEN": PLANTED,
    "WANDB_API_KEY": OTHER,
    "MLFLOW_TRACKING_PASSWORD": OTHER,
    "AWS_SECRET_ACCESS_KEY": OTHER,
    "AWS_SESSION_TOKEN": OTHER,
    "GITHUB_TOKEN": OTHER,
}
SPEC = {"name": "quiet", "model": "Qwen/Qwen2.5-0.5B-Instruct", "data": "rows.csv"}
SECRETS = (
    f'"{PLANTED}"',
    '"https://me:planted-password@hub.example/x"',
    '"AKIAPLANTEDPLANTED12"',
    f'"ghp_{"P" * 36}"',
    f'"sk-planted{"P" * 40}"',
    '"-----BEGIN RSA PRIVATE KEY-----"',
    f'"", "api_key": "{"0PLANTED" * 5}"',
)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """Run a local hub."""
    with serve() as served:
        yield served


def ftc(folder: Path, hub: LocalHub, *arguments: str, offline: bool = False) -> str:
    """Run ftc in a process that holds all the secrets; return what it printed."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "HF_HOME": str(folder / "hf"),
        "HF_ENDPOINT": hub.endpoint,
        "NVIDIA_VISIBLE_DEVICES": "none",
        **({"HF_HUB_OFFLINE": "1"} if offline else {}),
        **VARIABLES,
    }
    done = subprocess.run(
        [sys.executable, "-m", "ftc", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert "defect" not in done.stderr
    return done.stdout + done.stderr


def hold_quiet(folder: Path, *said: str) -> None:
    """No planted word is in what was said or in any file below the folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "token")
    for text in (*said, *(path.read_bytes().decode("utf-8", "replace") for path in files)):
        assert "PLANTED" not in text
        assert "planted" not in text


def write_spec(folder: Path, **sections: object) -> None:
    """Write a spec and a small table beside it."""
    rows = [f"where is order {n}?,{n % 3}" for n in range(40)]
    (folder / "rows.csv").write_text("\n".join(["prompt,completion", *rows]) + "\n")
    (folder / "spec.json").write_text(json.dumps({**SPEC, **sections}), encoding="utf-8")


@pytest.mark.parametrize("status", [0, 401, 403, 429, 500])
def test_a_token_goes_to_the_hub_and_nowhere_else(
    hub: LocalHub, tmp_path: Path, status: int
) -> None:
    """The Hub is asked with it, whatever it answers; findings, plan, bundle and lock lack it."""
    hub.failing = status
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "token").write_text(PLANTED)
    write_spec(tmp_path)

    said = ftc(tmp_path, hub, "check", "spec.json", "--format", "json")
    said += ftc(tmp_path, hub, "compile", "spec.json")

    assert hub.tokens == {f"Bearer {PLANTED}"}
    hold_quiet(tmp_path, said)


def test_nothing_of_the_environment_is_told(hub: LocalHub, tmp_path: Path) -> None:
    """Plan, bundle, lock and the account of the machine say nothing of what is set."""
    write_spec(tmp_path, hardware="RTX 4090", method="lora")

    said = ftc(tmp_path, hub, "plan", "spec.json", "--format", "json", offline=True)
    said += ftc(tmp_path, hub, "compile", "spec.json", offline=True)
    said += ftc(tmp_path, hub, "doctor", "--format", "json", offline=True)
    said += ftc(tmp_path, hub, "doctor", offline=True)

    assert (tmp_path / "quiet" / "ftc.lock.json").is_file()
    hold_quiet(tmp_path, said)


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        *(("text", secret) for secret in SECRETS),
        *((kind, f'"{PLANTED}"') for kind in ("json", "sarif", "github")),
    ],
)
def test_a_secret_in_a_spec_is_refused_unsaid(
    hub: LocalHub, tmp_path: Path, kind: str, secret: str
) -> None:
    """FTC025 names its place; no format repeats it, and nothing is compiled."""
    (tmp_path / "spec.json").write_text(f'{{"name": "x",\n "modle": {secret}}}', encoding="utf-8")

    said = ftc(tmp_path, hub, "check", "spec.json", "--format", kind, offline=True)
    said += ftc(tmp_path, hub, "compile", "spec.json", offline=True)

    assert "FTC025" in said
    assert "PLANTED" not in said
    assert "planted" not in said
    assert "PRIVATE KEY" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["spec.json"]


def test_a_secret_on_the_command_line_is_refused_unsaid(hub: LocalHub, tmp_path: Path) -> None:
    """`--set` is read as the file is."""
    write_spec(tmp_path)

    said = ftc(tmp_path, hub, "plan", "spec.json", "--set", f"data.system={PLANTED}", offline=True)

    assert "FTC025" in said
    assert "PLANTED" not in said


@pytest.mark.parametrize(
    "text",
    [
        "a09a35458c702b33eeacc393d103063234e8bc28",
        "https://huggingface.co/Qwen/Qwen2.5-7B-Instruct",
        "https://example.org:8080/a@b",
        "ask-me: a-very-long-name-of-a-data-set-that-goes-on",
        "hf_model",
        '"revision": "a09a35458c702b33eeacc393d103063234e8bc28"',
        '"secret": "the-name-of-a-secret-in-kubernetes-1"',
        '"new_tokens": "onetokenofmanylettersandnodigitatall"',
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    """Commits, addresses and long names are none."""
    assert find_secrets(text) == ()


def test_an_excerpt_hides_a_secret_and_keeps_its_columns() -> None:
    """The caret still stands where it did."""
    shown = excerpt(f'"a": "{PLANTED}", "b": 1', Position(line=1, column=50))

    assert "PLANTED" not in shown
    assert "•" * len(PLANTED) in shown


def test_the_examples_hold_no_secret() -> None:
    """Every spec that ships can be read."""
    for path in Path("examples").glob("*/spec.*"):
        assert not isinstance(load_document(str(path)), tuple), path
