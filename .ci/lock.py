"""Write compiler/knowledge/locked_packages.json anew: every file that a bundle may install.

    .venv/bin/python .ci/lock.py

Resolves the pins of compiler/render/pins.py under .ci/constraints.txt for one platform and several
Pythons, and keeps versions, hashes and who needs whom. It needs the package index, and half a
minute. To be run after a pin or a constraint has changed.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any

from ftc.compiler.render.pins import PINS

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "compiler" / "knowledge" / "locked_packages.json"
RESOLVER = "uv==0.13.9"
PLATFORM = "x86_64-manylinux_2_28"
# Sets with a package whose only wheels need a newer glibc; pip would build it from source.
NEWER = {"vllm": "x86_64-manylinux_2_31"}
PYTHONS = ("3.11", "3.12", "3.13")
# What the tested set has by way of torch's CPU build; the build of the index brings its own.
LEFT_OPEN = ("triton", "setuptools")
# What wants another version of something than the tested set has, and of what: a bundle that uses
# it is locked with that one in its place.
APART = {"trackio": ("pillow",), "vllm": ("numpy<2.4", "setuptools<81")}


def main() -> None:
    """Resolve for each Python, hold the answers to each other, and write the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        start(folder / "venv/bin/python", "-m", "pip", "install", "--quiet", RESOLVER)
        packages = lock(folder, PLATFORM, without=tuple(APART), open_to=())
        instead = {
            name: difference(
                lock(
                    folder,
                    NEWER.get(name, PLATFORM),
                    without=tuple({*APART} - {name}),
                    open_to=others,
                ),
                packages,
            )
            for name, others in APART.items()
        }
    data = {
        "platform": "linux x86_64",
        "pythons": list(PYTHONS),
        "packages": packages,
        "instead": instead,
    }
    TABLE.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(f"{len(packages)} packages, {sum(len(p['hashes']) for p in packages.values())} files")


def lock(
    folder: Path, platform: str, *, without: tuple[str, ...], open_to: tuple[str, ...]
) -> dict[str, Any]:
    """Return what the pins come to, but for some of them, with the constraints of others open."""
    pins = (f"{name}=={version}\n" for name, version in PINS.items() if name not in without)
    (folder / "pins.txt").write_text("".join(pins), encoding="utf-8")
    text = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8")
    names = (re.split(r"[<=>]", bound)[0] for bound in open_to)
    left_open = (*LEFT_OPEN, *(f"{name}==" for name in names))
    kept = [line for line in text.splitlines() if not line.startswith(left_open)]
    (folder / "constraints.txt").write_text("\n".join([*kept, *open_to]), encoding="utf-8")
    return merge([resolve(folder, platform, python) for python in PYTHONS])


def difference(packages: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Return the packages that are not as usual."""
    return {name: found for name, found in packages.items() if usual.get(name) != found}


def start(*command: str | Path) -> None:
    """Run a command; its failure ends this one."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


def resolve(folder: Path, platform: str, python: str) -> dict[str, Any]:
    """Return version, hashes and needs of every package, as one Python gets them."""
    command: list[str | Path] = [folder / "venv/bin/uv", "pip", "compile"]
    command += ["--no-config", "--quiet"]
    command += ["--python-version", python, "--python-platform", platform]
    command += ["-c", folder / "constraints.txt", folder / "pins.txt"]
    listed, locked = folder / "listed.txt", folder / "pylock.toml"
    listed.unlink(missing_ok=True)
    locked.unlink(missing_ok=True)
    start(*command, "--annotation-style", "line", "--no-header", "-o", listed)
    start(*command, "--format", "pylock.toml", "-o", locked)
    packages = {
        package["name"]: {
            "version": package["version"],
            "hashes": sorted(file["hashes"]["sha256"] for file in list_files(package)),
            "needs": [],
        }
        for package in tomllib.loads(locked.read_text(encoding="utf-8"))["packages"]
    }
    for line in listed.read_text(encoding="utf-8").splitlines():
        found = re.fullmatch(r"([\w.-]+)==\S+\s+# via (.*)", line)
        if found is None:
            sys.exit(f"not understood: {line}")
        for parent in found[2].split(", "):
            if not parent.startswith(("-c ", "-r ")):
                packages[parent]["needs"].append(found[1])
    return packages


def list_files(package: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the files that pip may choose from: wheels, and the source where there are none."""
    wheels: list[dict[str, Any]] = package.get("wheels", [])
    return wheels or [package["sdist"]]


def merge(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one table; the Pythons must agree in names and versions."""
    versions = [{name: package["version"] for name, package in table.items()} for table in tables]
    if any(found != versions[0] for found in versions):
        sys.exit(f"the Pythons {', '.join(PYTHONS)} get different packages: give each its table")
    return {
        name: {
            "version": versions[0][name],
            "hashes": sorted({digest for table in tables for digest in table[name]["hashes"]}),
            "needs": sorted({need for table in tables for need in table[name]["needs"]}),
        }
        for name in sorted(versions[0])
    }


if __name__ == "__main__":
    main()
