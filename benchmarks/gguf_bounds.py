"""Compares the bounds of GGUF files with the divergence of sound and damaged files.

    python benchmarks/gguf_bounds.py BUNDLE...

Each BUNDLE was exported before, and has the modules of today in runtime/. For
each type it quantizes the model twice: as it is, and from weights to which noise was added until
the divergence should be so many times as large. Appends a table to benchmarks/gguf_bounds.md.
"""

import argparse
import ctypes
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import gguf
import llama_cpp
import numpy as np

KINDS = ("Q8_0", "Q5_K_M", "Q4_K_M", "IQ3_S", "Q2_K", "Q6_K", "Q4_0", "IQ4_XS")
WEIGHED = frozenset({"IQ4_XS", "IQ3_S", "Q2_K"})
IMPORTANCE_TOKENS = 2048
SABOTAGE = (8,)
OUT = Path(__file__).with_name("gguf_bounds.md")


def main() -> None:
    """Measure one bundle in this process, or several bundles in one process each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundles", nargs="+", type=Path, metavar="BUNDLE")
    bundles: list[Path] = parser.parse_args().bundles
    if len(bundles) > 1:
        for one in bundles:
            subprocess.run([sys.executable, __file__, str(one)], check=True)
        return
    bundle = bundles[0].resolve()
    os.chdir(bundle)
    sys.path.insert(0, str(bundle))
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    heading = f"\n## {bundle.parent.name}\n\n"
    titles = "| type | measured | expected | ratio | bound | worst matrix |"
    titles += "".join(
        f" x{times}: measured, over the bound, by its weights |" for times in SABOTAGE
    )
    lines = [titles, "|" + " --- |" * (titles.count("|") - 1), *rows]
    with OUT.open("a", encoding="utf-8") as file:
        file.write(heading + "\n".join(lines) + "\n")


def measure(folder: Path) -> list[str]:
    """Return one row of the table for each type."""
    converter, fidelity, weighed_rounding, response, rounding, reference, stages = map(
        import_module,
        (
            "runtime.llama_cpp.converter",
            "runtime.compare.fidelity",
            "runtime.compare.weighed_rounding",
            "runtime.compare.noise_response",
            "runtime.compare.rounding",
            "runtime.compare.reference",
            "runtime.run",
        ),
    )
    run = stages.Run(Path.cwd(), stage="quantize", script="export.py")
    job = reference.Job(**json.loads((run.folder / "fidelity.json").read_text()))
    source = folder / "source.gguf"
    how = "convert_hf_to_gguf.py", run.folder / "merged", "--outtype", "auto"
    converter.Converter(sha256="").convert(run, *how, into=source)
    noise, most = reference.read_response(run, job)
    floor = min(fidelity.measure(run, job, source, tokens_only=True)["divergence"], most)
    weighed, entries = weighed_rounding.prepare(run, source, tokens=IMPORTANCE_TOKENS)
    print(f"floor {floor:.3g}, at most {most:.3g}", flush=True)
    rows = []
    for kind in KINDS:
        is_weighed = kind in WEIGHED
        round_again = weighed if is_weighed else rounding.round_alike
        path = quantize(source, kind, entries if is_weighed else None)
        rounded = rounding.measure(source, path, round_again)
        found = fidelity.measure(run, job, path, tokens_only=True)
        expected, bounds = response.derive(noise, rounding.sum_parts(rounded), floor, found)
        worst = max(one["error"] / (one["expected"] or 1) for one in rounded)
        bound, seen = bounds["max_divergence"], found["divergence"]
        fault = fidelity.find_fault(found | {"answers": True}, bounds)
        row = f"| {kind} | {seen:.3g} | {expected:.3g} | {seen / expected:.2f} | {bound:.3g} |"
        row += f" {worst:.3f}{' FALSE ALARM: ' + fault if fault else ''} |"
        for times in SABOTAGE:
            spoilt = spoil(source, rounded, times)
            path = quantize(spoilt, kind, entries if is_weighed else None)
            found = fidelity.measure(run, job, path, tokens_only=True)
            named = rounding.find_fault(rounding.measure(source, path, round_again))
            over = fidelity.find_fault(found | {"answers": True}, bounds)
            row += f" {found['divergence'] / seen:.1f}, {'yes' if over else 'NO'},"
            row += f" {'yes' if named else 'NO'} |"
        print(row, flush=True)
        rows.append(row)
    return rows


def quantize(source: Path, kind: str, entries: Any) -> Path:
    """Write a file of one type."""
    path = source.with_name("file.gguf")
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    if entries is not None:
        settings.imatrix = entries
    names = os.fsencode(source), os.fsencode(path)
    if llama_cpp.llama_model_quantize(*names, ctypes.byref(settings)):
        raise SystemExit(f"{kind} could not be written")
    return path


def spoil(source: Path, rounded: list[dict[str, Any]], times: int) -> Path:
    """Return a copy of the 16-bit file with noise that multiplies the divergence by `times`."""
    path = source.with_name("spoilt.gguf")
    shutil.copyfile(source, path)
    errors = {one["name"]: math.sqrt(times - 1) * one["expected"] for one in rounded}
    draw = np.random.default_rng(times)
    reader = gguf.GGUFReader(path, "r+")
    for tensor in reader.tensors:
        if tensor.name in errors:
            values = gguf.dequantize(tensor.data, tensor.tensor_type)
            size = np.sqrt(np.square(values).mean(axis=-1, keepdims=True))
            values += errors[tensor.name] * size * draw.standard_normal(values.shape)
            tensor.data[:] = gguf.quantize(values, tensor.tensor_type)
    reader.data.flush()
    return path


if __name__ == "__main__":
    main()
