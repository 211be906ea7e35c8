"""How a stage ends whose disk is full, or whose files of the Hub are out of reach."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ftc.runtime import hub_trouble
from ftc.runtime.run import Run
from tests.runtime.stage_scripts import BEGIN, execute, read_stage

# -----------------------------------------------------------------------------
# Errors of the disk


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    """A stage ends with one sentence."""
    write = "from runtime import files\nfiles.write_rows(run.folder / 'rows', ['x' * 2**21])"

    ended = execute(tmp_path, BEGIN + write)

    assert ended.code == 1
    assert ended.err == (
        f"export.py: {small_disk}: the disk is full; fix it and run again: nothing is lost\n"
    )


def test_a_folder_that_can_only_be_read(tmp_path: Path, small_disk: Path) -> None:
    """A stage ends when it takes the lock, before any work."""
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    ended = execute(tmp_path, f"{BEGIN}print('works')")

    assert (ended.code, ended.out) == (1, "")
    assert "the folder can only be read; fix it and run again" in ended.err
    assert ended.err.count("\n") == 1


def test_errors_of_the_disk_are_recognized(tmp_path: Path, small_disk: Path) -> None:
    """By their number, or by their words if the disk really is full; no other error is."""
    run = Run(tmp_path, stage="merge")
    lost = RuntimeError("unexpected pos 64 vs 0")

    assert run.describe_disk_error(OSError(122, "quota", "/x")) == (
        "/x: the quota of disk space is used up"
    )
    assert run.describe_disk_error(OSError(2, "no such file")) is None
    assert run.describe_disk_error(ValueError("x")) is None
    (small_disk / "big").write_bytes(bytes(2**20 - 2**14))
    assert run.describe_disk_error(lost) == f"{small_disk}: the disk is full"
    assert Run(Path("/"), stage="merge").describe_disk_error(ValueError("x")) is None


def test_an_error_without_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words alone say nothing if there is space."""
    (tmp_path / "run").mkdir()
    usage = shutil._ntuple_diskusage(2**40, 2**39, 2**39)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    assert Run(tmp_path, stage="x").describe_disk_error(RuntimeError("iostream error")) is None


# As transformers tells it: without the repository.
UNNAMED = """
run.need_model('acme/base', 'acme/base')
try:
    raise hub.errors.LocalEntryNotFoundError('x')
except OSError as error:
    raise OSError("We couldn't connect to 'https://huggingface.co' to load") from error
"""


@pytest.mark.parametrize(
    ("code", "repository"),
    [
        ("hub.hf_hub_download('acme/rows', 'x.csv', repo_type='dataset')", "acme/rows"),
        ("hub.snapshot_download('acme/base')", "acme/base"),
        (UNNAMED, "acme/base"),
    ],
)
def test_files_out_of_reach_are_one_sentence(tmp_path: Path, code: str, repository: str) -> None:
    """With the repository, the server and what to do; `ftc watch` reads the same."""
    script = f"{BEGIN}import huggingface_hub as hub\nimport huggingface_hub.errors\n{code}\n"
    ended = execute(tmp_path, script, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "cache"))
    sentence = (
        f"{repository} could not be fetched from https://huggingface.co and is not in the cache:"
        " connect this machine to the network and run again, or set HF_HOME to a folder that has"
        " it in its cache"
    )
    assert (ended.code, ended.err) == (1, f"export.py: {sentence}\n")
    assert read_stage(tmp_path).sentence == sentence


def test_other_errors_are_not_of_the_hub() -> None:
    """They keep their traceback."""
    assert hub_trouble.describe(FileNotFoundError("https://huggingface.co/x")) is None
