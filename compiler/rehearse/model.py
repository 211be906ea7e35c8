"""The miniature on disk: its config, the real tokenizer's files and random weights."""

import json
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.architectures.encoders import read_bare, read_encoder
from ftc.compiler.rehearse.miniature import measure, shrink
from ftc.compiler.rehearse.stage import StageFailed
from ftc.compiler.rehearse.text_modules import copy_modules
from ftc.compiler.resolve.facts import ModelFacts
from ftc.compiler.resolve.model.folder import located_folder
from ftc.compiler.resolve.model.tokenizer_files import SENTENCEPIECE_FILE, TOKENIZER_FILE
from ftc.spec.findings.finding import EnvironmentFailure

CONFIG_FILE: Final = "config.json"
_WEIGHTS: Final = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".h5", ".msgpack", ".onnx")
_LEFT_OUT: Final = frozenset({CONFIG_FILE, "adapter_config.json", "README.md"})
_LONGEST_CAUSE: Final = 6


def find_files(model: ModelFacts, *, folder: Path) -> Path:
    """Return the folder that holds the real config and tokenizer.

    Raises EnvironmentFailure if the model is only in the built-in table.
    """
    place = None if model.origin == "table" else located_folder(model, folder=folder)
    if place is not None and (place / CONFIG_FILE).is_file():
        for name in (TOKENIZER_FILE, SENTENCEPIECE_FILE):
            if (place / name).is_file():
                return place
    if model.origin == "bundle":
        raise EnvironmentFailure(
            message=f"`{model.id}` has not run, so there is no result to rehearse with",
            help="rehearse that bundle's own spec, or run it first",
        )
    raise EnvironmentFailure(
        message=f"a rehearsal needs the config and the tokenizer files of `{model.id}`, which are"
        " not on this machine",
        help=f'download them without the weights: `hf download {model.id} --include "*.json"'
        ' "*.model" "*.txt" "*.jinja"`',
    )


def make_miniature(
    place: Path, folder: Path, log: Path, *, trusted: bool, teaches: bool = False
) -> str:
    """Write the miniature of the model at `place` into a new folder; return its size in words.

    `trusted` allows the model's own code to run. A model that `teaches` has weights of its own.
    Raises StageFailed if the config cannot be shrunk or the weights cannot be created.
    """
    config = json.loads((place / CONFIG_FILE).read_bytes())
    small = shrink(config)
    shape = None if small is None else measure(small)
    if small is None or shape is None:
        name = next(iter(config.get("architectures") or ["this architecture"]))
        raise StageFailed(f"ftc has no formula for the sizes of `{name}`")
    folder.mkdir(parents=True)
    copy_small_files(place, folder)
    copy_modules(place, folder, width=shape.hidden)
    (folder / CONFIG_FILE).write_text(json.dumps(small, indent=2) + "\n", encoding="utf-8")
    chosen = {
        "--trust": trusted,
        "--teacher": teaches,
        "--encoder": (read_bare(config) or read_encoder(config, scores=True)) is not None,
    }
    options = [option for option, is_chosen in chosen.items() if is_chosen]
    said = run_script("build_model.py", [folder, *options], log).strip().rpartition("\n")[2]
    return f"{said}, {shape.layers} layers, {shape.hidden} wide"


def run_script(name: str, arguments: list[Path | str], log: Path) -> str:
    """Run one of the scripts beside this module; return its output.

    Raises StageFailed with the last lines of its error output.
    """
    with as_file(files("ftc.compiler.rehearse") / "scripts" / name) as script:
        done = subprocess.run(
            [sys.executable, script, *arguments],
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"--- {name}\n{done.stdout}{done.stderr}")
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise StageFailed("\n".join(lines[-_LONGEST_CAUSE:]) or f"exit code {done.returncode}")
    return done.stdout


def copy_small_files(place: Path, folder: Path) -> None:
    """Copy the tokenizer, the chat template and every other file that contains no weights."""
    for path in sorted(place.iterdir()):
        left_out = path.name in _LEFT_OUT or path.name.endswith((*_WEIGHTS, ".index.json"))
        if path.is_file() and not left_out:
            shutil.copyfile(path, folder / path.name)
