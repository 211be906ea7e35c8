"""llama.cpp's converters, from the source package of the installed llama-cpp-python.

The converter and the runtime thus have the same version. FTC_LLAMA_CPP_SDIST names a copy of the
package for machines without a network. Standard library only.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..files import write_lines
from ..run import Run

_NAMES: Final = ("convert_hf_to_gguf.py", "convert_lora_to_gguf.py", "conversion", "gguf-py")
_WANTED = ("convert_hf_to_gguf.py", "convert_lora_to_gguf.py", "conversion/", "gguf-py/")


def find_version() -> str:
    """Return the version of the installed llama-cpp-python."""
    return importlib.metadata.version("llama-cpp-python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """The converters of a bundle, from a llama.cpp checkout or from a package downloaded once.

    `sha256` is the locked hash of the source package. `find_options` returns more arguments for the
    folder of a model, if its class needs any, and `start` runs the command of a converter.
    """

    sha256: str
    checkout: Path | None = None
    find_options: Callable[[Path], Sequence[str]] = lambda _: ()
    start: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run

    def list_sources(self, run: Run) -> list[Path]:
        """Return the converter's files in a checkout; none for the package, which has a version."""
        if self.checkout and not (self.checkout / _NAMES[0]).is_file():
            run.stop(f"{self.checkout} has no {_NAMES[0]}: give a llama.cpp checkout")
        return [self.checkout / name for name in _NAMES] if self.checkout else []

    def convert(self, run: Run, script: str, *arguments: str | Path, into: Path) -> None:
        """Run a converter with these arguments; ends the stage unless it writes the file `into`."""
        more = self.find_options(Path(arguments[0])) if script == _NAMES[0] else ()
        command = [sys.executable, self.find(run) / script, *arguments, *more, "--outfile", into]
        done = self.start(command, capture_output=True, text=True, check=False)
        if done.returncode or not into.is_file():
            with contextlib.suppress(OSError):
                (run.folder / "quantize" / "convert.log").write_text(done.stderr, encoding="utf-8")
            free = f"{shutil.disk_usage(into.parent).free / 2**20:,.0f} MiB of disk are free"
            where = f"more in run/quantize/convert.log; {free}"
            run.stop(f"llama.cpp's converter failed: {find_cause(done)} ({where})")
        run.say(f"converted: {into.stat().st_size / 2**20:,.1f} MiB")

    def find(self, run: Run) -> Path:
        """Return the folder that holds the converters, after fetching it if necessary."""
        if self.checkout:
            return self.checkout
        tools, version = run.folder / "tools", find_version()
        folder = tools / f"llama.cpp-{version}"
        if folder.is_dir():
            return folder
        if "FTC_LLAMA_CPP_SDIST" in os.environ:
            return self.unpack(run, Path(os.environ["FTC_LLAMA_CPP_SDIST"]), folder)
        run.say(f"downloading the source of llama-cpp-python {version}")
        wanted = tools / "sdist.txt"  # a hash makes pip reject any other file
        line = f"llama-cpp-python=={version} --hash=sha256:{self.sha256}\n"
        write_lines(wanted, [line.encode()])
        fetch: list[str | Path] = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:"]
        fetch += ["--no-deps", "--require-hashes", "--quiet", "--dest", tools]
        if subprocess.run([*fetch, "--requirement", wanted], check=False).returncode:
            run.stop("pip could not download the converter: give --llama-cpp a checkout")
        return self.unpack(run, tools / f"llama_cpp_python-{version}.tar.gz", folder)

    def unpack(self, run: Run, sdist: Path, folder: Path) -> Path:
        """Unpack the converters from the locked source package, whole or not at all."""
        with sdist.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            run.stop(f"{sdist} is not the source that was locked: give --llama-cpp a checkout")
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            with tarfile.open(sdist) as archive:
                for member in archive:
                    _, _, name = member.name.partition("/vendor/llama.cpp/")
                    if name.startswith(_WANTED) and member.isfile():
                        archive.extract(member.replace(name=name), partial, filter="data")
        except tarfile.TarError as error:  # cut off, or a member that points out of the folder
            run.stop(f"{sdist} cannot be unpacked: {error}")
        partial.replace(folder)
        return folder


def find_cause(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line of output in which a failed process states the cause."""
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name}: it crashed, or memory ran out"
    error = re.compile(r"([\w.]*(Error|Exception)|ERROR|[\w/]+\.py)\b")
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if error.match(line)]
    return re.sub(r"^[\w/]+\.py: ", "", (errors or lines or ["it printed nothing"])[-1])
