"""llama.cpp's converters, as every stage that writes a GGUF calls them.

They come from the source package of the llama-cpp-python that is installed, so that converter and
runtime are of one version; FTC_LLAMA_CPP_SDIST names a copy of it for machines without a network.
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
from pathlib import Path

import guard

TOOLS = Path(__file__).resolve().parent / "run" / "tools"
LOG = TOOLS.parent / "quantize" / "convert.log"
VERSION = importlib.metadata.version("llama-cpp-python")
SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"  # as locked
WANTED = ("convert_hf_to_gguf.py", "convert_lora_to_gguf.py", "conversion/", "gguf-py/")


def convert(script, *arguments, into, checkout=None):
    """Run a converter with these arguments; ends this stage unless it writes the file `into`."""
    command = [sys.executable, find(checkout) / script, *arguments, "--outfile", into]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not into.is_file():
        with contextlib.suppress(OSError):
            LOG.write_text(done.stderr, encoding="utf-8")
        free = f"{shutil.disk_usage(into.parent).free / 2**20:,.0f} MiB of disk are free"
        where = f"more in run/quantize/convert.log; {free}"
        guard.stop(f"llama.cpp's converter failed: {find_cause(done)} ({where})")
    guard.say(f"converted: {into.stat().st_size / 2**20:,.1f} MiB")


def find_cause(done):
    """Return the line in which a process that failed said why."""
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name}: it crashed, or memory ran out"
    error = re.compile(r"([\w.]*(Error|Exception)|ERROR|\w+\.py)\b")
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if error.match(line)]
    return (errors or lines or ["it said nothing"])[-1].removeprefix("fidelity.py: ")


def find(checkout=None):
    """Return the folder that holds the converters, fetching it if need be.

    `checkout` is a folder of llama.cpp that is used in its place.
    """
    if checkout:
        return checkout
    folder = TOOLS / f"llama.cpp-{VERSION}"
    if folder.is_dir():
        return folder
    if "FTC_LLAMA_CPP_SDIST" in os.environ:
        return unpack(os.environ["FTC_LLAMA_CPP_SDIST"], folder)
    guard.say(f"fetching the source of llama-cpp-python {VERSION}")
    wanted = TOOLS / "sdist.txt"  # with its hash, so that pip builds nothing else out of it
    line = f"llama-cpp-python=={VERSION} --hash=sha256:{SDIST_SHA256}\n"
    guard.write_lines(wanted, [line.encode()])
    fetch = [sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps"]
    fetch += ["--require-hashes", "--quiet", "--dest", TOOLS, "--requirement", wanted]
    if subprocess.run(fetch, check=False).returncode:
        guard.stop("the converter could not be fetched: give --llama-cpp a llama.cpp checkout")
    return unpack(TOOLS / f"llama_cpp_python-{VERSION}.tar.gz", folder)


def unpack(sdist, folder):
    """Unpack the converters from the locked source package, whole or not at all."""
    with open(sdist, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SDIST_SHA256:
        guard.stop(f"{sdist} is not the source that was locked: give --llama-cpp a checkout")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with tarfile.open(sdist) as archive:
            for member in archive:
                _, _, name = member.name.partition("/vendor/llama.cpp/")
                if name.startswith(WANTED) and member.isfile():
                    archive.extract(member.replace(name=name), partial, filter="data")
    except tarfile.TarError as error:  # cut off, or a member that points out of the folder
        guard.stop(f"{sdist} cannot be unpacked: {error}")
    os.replace(partial, folder)
    return folder
