"""The notebook of a bundle: its stages as cells, for Colab or any Jupyter.

https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from typing import Any, Final

from ftc.compiler.render.output.values import Markdown
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses
from ftc.spec.findings.finding import EnvironmentFailure

_FORMAT: Final = {"nbformat": 4, "nbformat_minor": 5}

_PLACE: Final = """\
# Colab opens this notebook without the bundle's other files: name the repository that has them.
REPOSITORY = ""  # its https address; empty where this notebook is in the bundle's folder
FOLDER = "."  # the bundle's folder in it

from pathlib import Path

if REPOSITORY and not Path("run.sh").is_file():
    !git clone --quiet --depth 1 "$REPOSITORY" repository
    %cd repository/$FOLDER
assert Path("run.sh").is_file(), "set REPOSITORY and FOLDER to the place of this bundle\""""

_SETTINGS: Final = """\
%env TOKENIZERS_PARALLELISM=false
%env HF_HUB_DISABLE_PROGRESS_BARS=1"""

_SIGN_IN: Final = """\
# The model is gated: this asks for a token of an account that accepted its terms.
import os
from getpass import getpass

os.environ["HF_TOKEN"] = os.environ.get("HF_TOKEN") or getpass("Token of the Hub: ")"""

_REPORT: Final = """\
from IPython.display import Markdown, display

display(Markdown(Path("run/report.md").read_text(encoding="utf-8")))"""


def notebook_data(source: BundleSource) -> dict[str, Any]:
    """Return the notebook as data; the code of its cells is fixed, whatever the spec says.

    Raises EnvironmentFailure for a run of several nodes, or of a cluster's launcher.
    """
    uses = Uses(source)
    if uses.facts.hardware.nodes > 1 or uses.spec.launch.type != "local":
        raise EnvironmentFailure(
            message="a notebook runs on one machine, and this spec is for a cluster",
            help='leave out `--notebook`, or set `launch` to "local" and `hardware.nodes` to 1',
        )
    cells = [
        _text(_introduction(source)),
        _code(_PLACE),
        _text("## Install\n\nPackages that were imported before need a restart of the runtime."),
        _code(_install(uses)),
        _code(_settings(uses)),
        *([_code(_SIGN_IN)] if uses.gated else []),
    ]
    for title, command in list_stages(uses):
        cells += [_text(f"## {title}"), _code(_stage(command))]
    if uses.decisions.splits.test_rows.value > 0:
        cells += [_text("## The report"), _code(_REPORT)]
    return {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)],
        "metadata": {
            **({"accelerator": "GPU"} if uses.facts.hardware.kind == "gpu" else {}),
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        **_FORMAT,
    }


def list_stages(uses: Uses) -> list[tuple[str, str]]:
    """Return the title and the command of each stage of a run on one machine, as in run.sh."""
    engine = "python -m runtime.vllm_engine " if uses.vllm_server else ""
    stages = [
        ("Prepare the data", "python prepare.py"),
        ("Train", f"{engine}accelerate launch --quiet --config_file accelerate.yaml train.py"),
    ]
    if uses.decisions.splits.test_rows.value > 0:
        stages += [
            ("Merge", "python export.py --merge"),
            ("Evaluate", "python evaluate.py"),
        ]
    if uses.verified or uses.decisions.splits.test_rows.value == 0:
        stages.append(("Export", "python export.py"))
    return stages


def _introduction(source: BundleSource) -> str:
    model, hardware = source.facts.model, source.facts.hardware
    machine = "a CPU" if hardware.kind == "cpu" else f"{hardware.count} x {hardware.name}"
    return (
        f"# {Markdown(source.spec.name)}\n\n"
        f"The stages of this bundle, with `{Markdown(model.id)}` as the base. The plan is for "
        f"{Markdown(machine)}: choose a runtime with as much memory, or change `hardware` in "
        "`spec.json` and compile again. A stage that is done is skipped, so that all cells can be "
        "run again after an interruption. `README.md` explains the scripts."
    )


def _install(uses: Uses) -> str:
    """Return the cell that installs the packages, built for any processor."""
    build = "%env CMAKE_ARGS=-DGGML_NATIVE=OFF\n" if uses.converted else ""
    return f"{build}%pip install --quiet -r requirements.txt"


def _settings(uses: Uses) -> str:
    """Return the cell with the variables that run.sh sets."""
    # vLLM, whose own memory pool needs other segments, turns these off by the older name only
    name = "PYTORCH_CUDA_ALLOC_CONF" if uses.decisions.engine.vllm_share else "PYTORCH_ALLOC_CONF"
    on_gpu = uses.facts.hardware.kind == "gpu"
    memory = f"\n%env {name}=expandable_segments:True" if on_gpu else ""
    device = (
        "\n%env DS_ACCELERATOR=cpu" if uses.facts.hardware.kind == "cpu" and uses.deepspeed else ""
    )
    return f"{_SETTINGS}{memory}{device}"


def _stage(command: str) -> str:
    return f'!{command}\nassert _exit_code == 0, "the last lines above say why this stage stopped"'


def _text(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }
