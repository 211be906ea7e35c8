"""The container image of a bundle's packages, and the settings of editors that work in it."""

from typing import Any, Final

from ftc.compiler.knowledge.locked_packages import find_closure, list_pythons
from ftc.compiler.render.pins import PINS
from ftc.compiler.render.source import BundleSource, list_outside
from ftc.compiler.render.uses import Uses

#: The image of each CUDA release, with its compiler: DeepSpeed builds its kernels when it starts.
_CUDA_IMAGES: Final = {"13.0": "nvidia/cuda:13.0.1-devel-ubuntu24.04"}
_PLAIN_IMAGE: Final = "ubuntu:24.04"
_PYTHON: Final = "3.12"  # of Ubuntu 24.04
_TOOLKIT: Final = "cuda-toolkit"


def write_dockerfile(source: BundleSource, uses: Uses) -> str:
    """Return the Dockerfile: packages alone, with the bundle mounted beside its data.

    Raises KeyError for a CUDA release without an image, and ValueError where Ubuntu's Python has no
    locked packages.
    """
    if _PYTHON not in list_pythons():
        raise ValueError(f"nothing is locked for Python {_PYTHON}")
    levels = "/".join([".."] * _find_levels(source))
    gpus = "--gpus all " if uses.facts.hardware.kind == "gpu" else ""
    build = 'CMAKE_ARGS="-DGGML_NATIVE=OFF" ' if uses.converted else ""
    lines = [
        "# The packages of this bundle. The bundle itself is mounted, with its data and results:",
        "#",
        "#   docker build --tag fine-tune .",
        f'#   top=$(realpath {levels}) && docker run --rm {gpus}--ipc=host -v "$top:/work" \\',
        '#     -w "/work/${PWD#"$top"}" fine-tune ./run.sh',
        f"FROM {_base_image(uses)}",
        "",
        "# DL3008: versions of Ubuntu's packages leave its mirrors when the next ones come",
        "# hadolint ignore=DL3008",
        "RUN apt-get update \\",
        "    && apt-get install --no-install-recommends --yes \\",
        "       ca-certificates g++ git python3 python3-dev python3-venv \\",
        "    && rm -rf /var/lib/apt/lists/*",
        "RUN python3 -m venv /opt/venv",
        "ENV PATH=/opt/venv/bin:$PATH",
        "WORKDIR /tmp/packages",
        "COPY requirements.txt requirements.lock ./",
    ]
    if uses.facts.hardware.kind == "cpu":
        lines += [
            "# The index with torch's CPU builds, as README.md says; else CUDA's come along.",
            "ARG TORCH_INDEX",
            "# DL3013: the option is taken for a package without a version",
            "# hadolint ignore=DL3013",
            'RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} \\',
            f"       torch=={PINS['torch']} \\",
            f"    && {build}pip install --no-cache-dir --require-hashes -r requirements.lock",
        ]
    else:
        lines.append(f"RUN {build}pip install --no-cache-dir --require-hashes -r requirements.lock")
    lines.append("WORKDIR /work")
    return "\n".join(lines) + "\n"


def devcontainer(source: BundleSource) -> dict[str, Any]:
    """Return devcontainer.json, which VS Code and others open the bundle with."""
    gpu = source.facts.hardware.kind == "gpu"
    return {
        "name": source.spec.name,
        "build": {"dockerfile": "../Dockerfile", "context": ".."},
        "runArgs": ["--ipc=host", *(["--gpus", "all"] if gpu else [])],
        "hostRequirements": {"gpu": "optional"} if gpu else {},
    }


def dockerignore() -> str:
    """Return the patterns of what the build does not need: everything but the requirements."""
    return "*\n!requirements.txt\n!requirements.lock\n"


def _base_image(uses: Uses) -> str:
    if uses.facts.hardware.kind != "gpu":
        return _PLAIN_IMAGE
    toolkit = next(each for each in find_closure(["torch"], cpu=False) if each.name == _TOOLKIT)
    return _CUDA_IMAGES[".".join(toolkit.version.split(".")[:2])]


def _find_levels(source: BundleSource) -> int:
    """Return how many folders above the bundle its data and models begin, at least one."""
    return max([1, *(path.split("/").count("..") for path in list_outside(source))])
