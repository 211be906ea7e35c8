"""Packs what an offline GPU machine lacks, small enough to be carried with the repository.

    python -m benchmarks.gpu.pack FOLDER [PYTHON_VERSION]

FOLDER has the wheels of the packages that train (`benchmarks/README.md` says which). Adds the wheel
of llama-cpp-python that `make install` has built, without the copies of its libraries; as
`llama.cpp` the converters of its source package, which FTC_LLAMA_CPP_SDIST names; and the wheels
that those in FOLDER require, apart from Textual and what comes with torch, pandas and pyarrow.
Exits 1 if FOLDER and the tracked files are more than 64 MiB together.
"""

import argparse
import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT: Final = Path(__file__).parents[2]
_WANTED: Final = ("convert_hf_to_gguf.py", "convert_lora_to_gguf.py", "conversion/", "gguf-py/")
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
_LIMIT_BYTES: Final = 64 * 2**20
#: What a machine with torch, pandas and pyarrow has, as far as the packages that train require it
#: (fsspec and Jinja are torch's), what only the assistant imports, and what only downloads.
_SPARED: Final = frozenset(
    {"torch", "numpy", "pandas", "pyarrow", "filelock", "fsspec", "jinja2", "setuptools"}
    | {"typing-extensions", "markupsafe", "sympy", "networkx", "triton", "textual"}
    | {"hf-xet"}
)
_EXPORTS: Final = frozenset({"gguf"})  # what a bundle that exports imports besides these wheels
_VERSIONED: Final = re.compile(r"\.so\.\d+\.\d+")  # a third copy of a library, which nothing loads


def main() -> None:
    """Pack all, and print the sizes."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.pack",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("python", nargs="?", default="3.12", help="the version there")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    copy_converter(folder / "llama.cpp")
    built = max((_CACHE / "ftc" / "wheels").glob("llama_cpp_python-*.whl"))
    slim_wheel(built, folder / built.name)
    while lacking := sorted(find_lacking(folder, python=arguments.python)):
        print("required:", ", ".join(lacking), flush=True)
        download(lacking, folder, python=arguments.python)
    for wheel in folder.glob("*.whl"):
        if canonicalize_name(wheel.name.partition("-")[0]) in _SPARED:
            wheel.unlink()
    packed = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    tracked = sum(path.stat().st_size for path in list_tracked())
    total = packed + tracked
    print(f"packed {packed / 2**20:.1f} MiB, tracked files {tracked / 2**20:.1f} MiB")
    print(f"together {total / 2**20:.1f} of {_LIMIT_BYTES / 2**20:.0f} MiB")
    sys.exit(0 if total <= _LIMIT_BYTES else 1)


def copy_converter(folder: Path) -> None:
    """Unpack the converters from llama-cpp-python's source package."""
    with tarfile.open(os.environ["FTC_LLAMA_CPP_SDIST"]) as package:
        for member in package:
            _, _, name = member.name.partition("/vendor/llama.cpp/")
            if name.startswith(_WANTED) and member.isfile():
                package.extract(member.replace(name=name), folder, filter="data")


def slim_wheel(built: Path, slim: Path) -> None:
    """Copy a wheel without headers, and with each library under the two names that are loaded."""
    with zipfile.ZipFile(built) as old, zipfile.ZipFile(slim, "w", zipfile.ZIP_DEFLATED) as new:
        for item in old.infolist():
            inside = item.filename.startswith(("llama_cpp/", "llama_cpp_python-"))
            if inside and not _VERSIONED.search(item.filename):
                new.writestr(item, old.read(item))


def find_lacking(folder: Path, *, python: str) -> set[str]:
    """Return what a folder's wheels and an export require and neither machine nor folder has."""
    wheels = sorted(folder.glob("*.whl"))
    present = {canonicalize_name(path.name.partition("-")[0]) for path in wheels}
    required = {name for path in wheels for name in read_requirements(path, python=python)}
    return (required | _EXPORTS) - present - _SPARED


def read_requirements(wheel: Path, *, python: str) -> Iterator[str]:
    """Yield the names that a wheel requires on Linux, without its extras."""
    there = {
        "extra": "",
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
    }
    with zipfile.ZipFile(wheel) as archive:
        [path] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(path))
    for line in metadata.get_all("Requires-Dist") or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(there):
            yield canonicalize_name(requirement.name)


def download(names: Iterable[str], folder: Path, *, python: str) -> None:
    """Download wheels of the pinned versions for that Python, without what they require."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in (28, 27, 24, 17, 12, 5)]
    platforms += ["manylinux2014_x86_64", "manylinux1_x86_64", "any"]
    abi = f"cp{python.replace('.', '')}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--python-version", python]
    command += ["--implementation", "cp", "--abi", abi, "--abi", "abi3", "--abi", "none"]
    command += [word for platform in platforms for word in ("--platform", platform)]
    command += ["-d", str(folder), "-c", str(_ROOT / ".ci" / "constraints.txt"), *names]
    subprocess.run(command, check=True)


def list_tracked() -> list[Path]:
    """Return the repository's tracked files that exist."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    paths = (_ROOT / name for name in done.stdout.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


if __name__ == "__main__":
    main()
