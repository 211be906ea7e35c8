"""Archives of a bundle: only the locked one is unpacked, and nothing of it lands elsewhere."""

import hashlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.spec.sections import Spec

INSIDE = "llama/vendor/llama.cpp/"
UNPACK = """
import pathlib, sys
import converter
sdist, folder, digest = sys.argv[1:]
converter.SDIST_SHA256 = digest or converter.SDIST_SHA256
converter.unpack(sdist, pathlib.Path(folder))
"""


@pytest.fixture
def bundle(
    build_known: Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]], tmp_path: Path
) -> Path:
    """Give a folder with the scripts of a bundle that converts."""
    pytest.importorskip("llama_cpp")
    spec, facts = build_known({})
    source = BundleSource(
        spec=spec,
        written={"name": spec.name},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path="../tickets.csv",
        model_path=None,
        chat_template=None,
    )
    folder = tmp_path / "bundle"
    folder.mkdir()
    for file in render_bundle(source):
        if file.name in ("converter.py", "guard.py", "journal.py"):
            (folder / file.name).write_text(file.text, encoding="utf-8")
    return folder


def pack(path: Path, members: list[tarfile.TarInfo]) -> str:
    """Write an archive of these members, each with a few bytes, and return its hash."""
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            content = b"planted" if member.isfile() else b""
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def unpack(bundle: Path, sdist: Path, digest: str) -> subprocess.CompletedProcess[str]:
    """Have the bundle's own code unpack an archive that it takes for the locked one."""
    command = [sys.executable, "-c", UNPACK, str(sdist), str(bundle / "tools"), digest]
    return subprocess.run(command, cwd=bundle, capture_output=True, text=True, check=False)


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    """Return a member that is a link."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_another_archive_is_refused(bundle: Path, tmp_path: Path) -> None:
    """A source package that is not the locked one is not even opened."""
    sdist = tmp_path / "sdist.tar.gz"
    pack(sdist, [tarfile.TarInfo(f"{INSIDE}convert_hf_to_gguf.py")])

    done = unpack(bundle, sdist, "")

    assert done.returncode == 1
    assert "is not the source that was locked" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (bundle / "tools").exists()


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
def test_nothing_lands_outside(bundle: Path, tmp_path: Path, member: tarfile.TarInfo) -> None:
    """Even of the locked archive, members that climb out or that are links are not unpacked."""
    sdist = tmp_path / "sdist.tar.gz"
    digest = pack(sdist, [tarfile.TarInfo(f"{INSIDE}gguf-py/whole"), member])
    before = set(tmp_path.iterdir())

    done = unpack(bundle, sdist, digest)

    assert "Traceback" not in done.stderr
    assert set(tmp_path.iterdir()) == before
    assert not list(tmp_path.rglob("planted"))
    assert done.returncode in (0, 1)
    assert (done.returncode == 0) == (bundle / "tools" / "gguf-py" / "whole").is_file()
