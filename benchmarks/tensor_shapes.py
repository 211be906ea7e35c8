"""How well a model that no table describes is planned from the names and sides of its tensors.

    python -m benchmarks.tensor_shapes     # every class of both tables, into tensor_shapes.md
    python -m benchmarks.tensor_shapes LlamaForCausalLM ...

Each class of transformers is built on the meta device from a recorded configuration, and its
tensors are read as those of a class that ftc has never seen. Its parameters must be exact; what a
layer keeps per token is compared with the plan of the known class, which traces hold
(`python -m benchmarks.trace`, `.ci/layer_margins.py`). Exits 1 where parameters differ, or where
the wide margins cover fewer than 85% of the classes.
"""

import argparse
import datetime as dt
import json
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
import transformers

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.plan.memory.activations import layer_bytes, wide_margin
from ftc.compiler.rehearse.scripts.trace_backbone import make_job
from ftc.compiler.resolve.model.config import Config
from ftc.compiler.resolve.model.weight_files.tensor_shape import read_tensors

__all__ = ["Comparison", "compare", "read_configs"]

ROOT: Final = Path(__file__).parents[1]
REPORT: Final = Path(__file__).with_name("tensor_shapes.md")
_CASES: Final = ("architecture_cases.json", "derived_cases.json")
_COVERED: Final = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One class: its shape in the table, the one read from tensors, and what a layer keeps.

    `full` and `frozen` are the bytes of the unknown class's plan over those of the known one's,
    with all weights trained and with a frozen base.
    """

    table: Shape
    tensors: Shape
    full: float
    frozen: float


def main() -> None:
    """Compare the classes that are named, or all, and write the report for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="*", metavar="CLASS")
    named = parser.parse_args().classes
    logging: Any = transformers.logging
    logging.set_verbosity_error()
    configs = read_configs()
    found = {name: compare(configs[name]) for name in named or sorted(configs)}
    lines = [
        "| class | parameters | linear modules | layer, trained | layer, frozen |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [_row(name, comparison) for name, comparison in found.items()]
    lines += ["", *_summary(found)]
    print("\n".join(lines))
    if not named:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        head = (
            "# Plans of models that no table describes\n\n"
            f"`python -m benchmarks.tensor_shapes`, {dt.datetime.now(dt.UTC):%Y-%m-%d}, on top of "
            f"{commit}, transformers {transformers.__version__}.\nShares of the known class's "
            "number; the layers with the wide margin.\n\n"
        )
        REPORT.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    exact = all(c.tensors.parameters == c.table.parameters for c in found.values())
    sys.exit(0 if exact and (named or _covered(found) >= _COVERED) else 1)


def read_configs() -> Mapping[str, Mapping[str, Any]]:
    """Return a recorded configuration of each class of both tables."""
    folder = ROOT / "tests/compiler/knowledge"
    return {
        name: rows[0]["config"]
        for file in _CASES
        for name, rows in json.loads((folder / file).read_text(encoding="utf-8")).items()
    }


def compare(config: Mapping[str, Any]) -> Comparison:
    """Build a class on the meta device, and read its tensors as those of an unknown one."""
    table = read_shape(config)
    if table is None:
        raise ValueError("the table does not read this configuration")
    facts = {k: v for k, v in config.items() if k not in {"architectures", "model_type"}}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        settings = transformers.AutoConfig.for_model(table.model_type, **facts)
        auto: Any = transformers.AutoModelForCausalLM
        model = auto.from_config(settings)
    unknown = Config(
        data=settings.to_dict(),
        sha256="",
        architecture="UnknownForCausalLM",
        model_type="unknown",
        shape=None,
        context_tokens=table.context_tokens,
        embedding_rows=table.vocab,
        dtype=None,
        quantized=None,
        custom_code=False,
    )
    tensors = {name: tuple(each.shape) for name, each in model.named_parameters()}
    shape = read_tensors(unknown, tensors)
    if shape is None:
        raise ValueError("the tensors give no shape")
    full, frozen = (
        layer_bytes(make_job(shape, weights)) / layer_bytes(make_job(table, weights))
        for weights in ("full", "frozen")
    )
    return Comparison(table=table, tensors=shape, full=full, frozen=frozen)


def _row(name: str, c: Comparison) -> str:
    parameters = c.tensors.parameters / c.table.parameters
    linears = c.tensors.linear_parameters / max(1, c.table.linear_parameters)
    return f"| {name} | {parameters:.4f} | {linears:.4f} | {c.full:.2f} | {c.frozen:.2f} |"


def _summary(found: Mapping[str, Comparison]) -> list[str]:
    lines = []
    for margin in sorted({wide_margin(c.tensors) for c in found.values()}):
        part = [c for c in found.values() if wide_margin(c.tensors) == margin]
        covered = sum(map(_is_covered, part))
        lines.append(
            f"* the margin of {margin} covers what a layer keeps in {covered} of {len(part)} "
            "classes that get it"
        )
    exact = sum(c.tensors.parameters == c.table.parameters for c in found.values())
    return [*lines, f"* parameters are exact in {exact} of {len(found)} classes"]


def _is_covered(comparison: Comparison) -> bool:
    return min(comparison.full, comparison.frozen) >= 1


def _covered(found: Mapping[str, Comparison]) -> float:
    return sum(map(_is_covered, found.values())) / len(found)


if __name__ == "__main__":
    main()
