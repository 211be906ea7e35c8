"""Shared by all tests: the guard against a stale install, goldens, and external resources."""

import gc
import os
import re
import signal
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import huggingface_hub.constants  # noqa: F401 - reads HF_HUB_OFFLINE once, before a test sets it
import pytest
from hypothesis import settings

import ftc
from ftc.compiler.knowledge.exports import rehearsed
from ftc.compiler.knowledge.exports.rehearsed import Rehearsed
from tests.end_to_end.process import QUICKSTART, run

# Read when torch is first imported: threads that wait sleep, so that two trainings share cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# On a busy machine one example may take long; pytest's timeout limits the whole test.
settings.register_profile("ftc", deadline=None)
settings.load_profile("ftc")

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "cli": "",
    "spec": "spec",
    "compiler": "compiler",
    "runtime": "runtime",
    "templates": "templates",
    "tui": "tui",
}
NEEDS_SHARED = "needs ../shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that rewrites goldens."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure() -> None:
    """Stop before the first import error that only says that an install is stale."""
    # a shell has what it starts in the background ignore Ctrl-C, and all that this starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stale = stale_links(ROOT, Path(ftc.__file__).parent)
    if stale:
        pytest.exit(f"{stale[0]} is not what is installed: run `make links`", returncode=3)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the real data, so that the summary can count them."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.user_properties.append(("shared", True))


def pytest_collection_finish() -> None:
    """Spare garbage collections what stays to the end, which is an eighth of the time."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests that need the real data ran; `.ci/run` reads this line."""
    counts = {
        outcome: sum(
            ("shared", True) in getattr(report, "user_properties", ())
            for report in terminalreporter.stats.get(outcome, ())
        )
        for outcome in ("passed", "failed", "error", "skipped")
    }
    skipped = counts.pop("skipped")
    if skipped or sum(counts.values()):
        terminalreporter.write_line(
            f"tests that need ../shared: {sum(counts.values())} ran, {skipped} skipped"
        )


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the quickstart's untrained model, built by its own script."""
    pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("model") / "model"
    built = run(sys.executable, QUICKSTART / "make_model.py", "--out", folder, cwd=folder.parent)
    assert built.code == 0, built.said
    return folder


@pytest.fixture(autouse=True, scope="session")
def _stopped_family() -> Iterator[None]:
    """Put a family that stops beside those on record, which all go the whole way, for FTC690."""
    stopped = Rehearsed(stage="convert", reason="a made-up family that shows what is said of one")
    table = {**rehearsed._table(), "StoppedForCausalLM": stopped}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rehearsed, "_table", lambda: table)
        yield


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep facts of data files apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FTC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _unsynced() -> Iterator[None]:
    """Write bundles without waiting for the disk: no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def stale_links(root: Path, installed: Path) -> list[str]:
    """Return the sources that have no link in the strict editable install, and links to nothing."""
    missing = []
    for folder, package in FOLDERS.items():
        for source in sorted((root / folder).rglob("*")):
            inside = source.relative_to(root / folder)
            if source.suffix not in {".py", ".json", ".j2"} or "__pycache__" in inside.parts:
                continue
            link = installed / package / inside
            if not link.exists() or not link.samefile(source):
                missing.append(source.relative_to(root).as_posix())
    links = (path for path in sorted(installed.rglob("*")) if path.is_symlink())
    gone = (link for link in links if not link.exists())
    return [*missing, *(link.readlink().name for link in gone)]


def llama_version(root: Path) -> str:
    """Return the version of llama-cpp-python that pyproject.toml pins."""
    found = re.search(r'"llama-cpp-python==([\d.]+)"', (root / "pyproject.toml").read_text())
    assert found is not None
    return found[1]


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether goldens are rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real data; FTC_SHARED names it, ../shared is looked at otherwise."""
    folder = Path(os.environ.get("FTC_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip(NEEDS_SHARED)
    return folder.resolve()


@pytest.fixture(scope="session")
def sdist() -> Path:
    """Return the sources of llama-cpp-python, for the converter that a wheel lacks."""
    named = os.environ.get("FTC_LLAMA_CPP_SDIST")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ftc" / "sdist"
    version = llama_version(ROOT)
    places = [Path(named)] if named else sorted(cache.glob(f"llama?cpp?python-{version}.tar.gz"))
    if not places or not places[0].is_file():
        pytest.skip("needs the sources of llama-cpp-python: `make install` keeps them")
    return places[0]


@pytest.fixture(scope="session")
def vision() -> Mapping[str, str]:
    """Return the variables of a process in which processors of images work on this machine."""
    folder = Path(os.environ.get("FTC_VISION") or ROOT / ".venv" / "vision")
    if not (folder / "torchvision").is_dir():
        pytest.skip("needs torchvision beside a CPU build of torch: `make install` puts it there")
    return {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def converter(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of llama.cpp's converter, unpacked from those sources."""
    folder = tmp_path_factory.mktemp("llama.cpp")
    inside = ("/conversion/", "/gguf-py/gguf/", "/convert_hf_to_gguf.py", "/models/templates/")
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = member.name.partition("/vendor/llama.cpp")[2]
            if member.isfile() and name.startswith(inside):
                member.name = name.lstrip("/")
                archive.extract(member, folder, filter="data")
    return folder
