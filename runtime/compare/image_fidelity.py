"""Measures how faithfully GGUF files read images, compared with the trained model.

    python -m runtime.compare.image_fidelity    # prints JSON

Run it in the bundle's folder, after export.py has written run/projector/job.json. It runs in a
separate process, because llama.cpp ends the process if it cannot read a projector.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..files import read_json
from ..llama_cpp import gguf_file
from ..llama_cpp.gguf_images import Projector
from ..run import Run
from ..vision.image_store import find_images

IMAGES: Final = 8  # whose projector output is compared
ROWS: Final = 40  # whose answers are compared

Numbers = Any  # an array, one row for each token of an image
Job = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


def measure(run: Run, job: Job) -> dict[str, Any]:
    """Return what was measured of the projector, and of each file of the language model.

    cosine           the smallest cosine of a token's features, the tower's against the projector's
    same_answers     share of the rows that a file answers as the trained model does
    metric_drop      metric of the trained model's answers, less that of the file's
    changed_answers  sum of the squared changes of the rows' scores
    """
    rows = _choose_rows(run, job)
    features, said = _ask_trained(run, job, rows)
    found: dict[str, Any] = {"rows": len(rows), "images": len(features), "files": {}}
    for kind, name in job["files"].items():
        llm = gguf_file.load(run, run.folder / name, job["context_tokens"], on_gpu=job["on_gpu"])
        projector = _open(run, job, llm)
        if "cosine" not in found:
            found["cosine"] = min(_compare(projector, *pair) for pair in features)
        seen = [_open_all(run, row) for row in rows]
        pairs = zip(rows, seen, strict=True)
        most = job["answer_tokens"]
        theirs = [projector.answer(row["prompt_ids"], images, most) for row, images in pairs]
        found["files"][kind] = _judge(job, rows, theirs, said)
        projector.close()
        llm.close()
    return found


def _choose_rows(run: Run, job: Job) -> list[Any]:
    """Return evenly spaced judged rows that have images."""
    rows = [row for row in run.read_rows(run.bundle / job["rows"]) if json.loads(row["images"])]
    if not rows:
        run.stop("no judged row has an image")
    return rows[:: math.ceil(len(rows) / ROWS)]


def _ask_trained(run: Run, job: Job, rows: Rows) -> tuple[list[tuple[Any, Numbers]], list[str]]:
    """Return images with the trained model's features, and its answers; frees the model."""
    import torch

    from ..evaluate import answers
    from ..vision.image_batches import ImageReader

    merged, trust = run.folder / "merged", {"trust_remote_code": True} if job["custom_code"] else {}
    reader = ImageReader(merged, run.folder / "data", rule=job["rule"], **trust)
    kind: Any = reader.model_class
    model = kind.from_pretrained(
        merged,
        dtype="auto" if job["on_gpu"] else "float32",
        device_map="auto" if job["on_gpu"] else "cpu",
        attn_implementation=job["attention"],
        use_safetensors=True,
        **trust,
    ).eval()
    said = answers.write(
        model, reader.processor.tokenizer, rows, job["answer_tokens"], images=reader
    )
    features = []
    for row in rows[:IMAGES]:
        image = reader.open(json.loads(row["images"])[0])
        image = image.resize(_find_size(reader, image))  # so that neither side resizes it
        seen = reader.compute([[image]])
        with torch.inference_mode():
            found = model.get_image_features(
                **{name: value.to(model.device) for name, value in seen.items()}, return_dict=True
            )
        features.append((np.asarray(image), join_features(found)))
    return features, said


def _find_size(reader: Any, image: Any) -> tuple[int, int]:
    """Return the width and height to which the processor resizes an image."""
    seen = reader.compute([[image]])
    if "spatial_shapes" in seen:
        rows, columns = seen["spatial_shapes"][-1].tolist()
        return columns * reader.rule.patch, rows * reader.rule.patch
    if "image_grid_thw" not in seen:
        height, width = seen["pixel_values"].shape[-2:]
        return width, height
    _, rows, columns = seen["image_grid_thw"][0].tolist()
    return columns * reader.rule.patch, rows * reader.rule.patch


def join_features(found: Any) -> Numbers:
    """Return the features that a tower computed for an image, with those of its deeper layers."""
    whole = found.pooler_output
    whole = whole[0] if isinstance(whole, (list, tuple)) else whole
    parts = [whole.reshape(-1, whole.shape[-1])]
    parts += list(getattr(found, "deepstack_features", None) or ())
    return np.concatenate([part.float().cpu().numpy() for part in parts], axis=-1)


def _open(run: Run, job: Job, llm: Any) -> Any:
    path = run.folder / job["projector"]
    return Projector(run, llm, path, token=job["token"], on_gpu=job["on_gpu"], rule=job["rule"])


def _open_all(run: Run, row: Mapping[str, Any]) -> list[Any]:
    read = find_images(run.folder / "data")
    return [np.asarray(read(reference)) for reference in json.loads(row["images"])]


def _compare(projector: Any, image: Any, features: Numbers) -> float:
    """Return the smallest cosine of a token's features in transformers and in llama.cpp."""
    found = projector.embed(image)
    return smallest_cosine(found, features) if found.shape == features.shape else 0.0


def smallest_cosine(found: Numbers, features: Numbers) -> float:
    """Return the smallest cosine of two rows of numbers; rows of zeros agree with each other."""
    sizes = np.linalg.norm(found, axis=1) * np.linalg.norm(features, axis=1)
    products = (found * features).sum(axis=1)
    equal = (found == features).all(axis=1)
    cosines = np.where(sizes > 0, products / np.where(sizes > 0, sizes, 1), equal)
    return float(cosines.min())


def _judge(job: Job, rows: Rows, theirs: Sequence[str], said: Sequence[str]) -> dict[str, Any]:
    same = sum(map(str.__eq__, theirs, said)) / len(rows)
    found: dict[str, Any] = {"answers": any(theirs) or not any(said), "same_answers": same}
    if job["scorer"] is None:
        return found
    scorer: Any = import_module(job["scorer"])
    right = [row["answer"] for row in rows]
    changes = (
        (scorer.measure([a], [c]) - scorer.measure([b], [c])) ** 2
        for a, b, c in zip(theirs, said, right, strict=True)
    )
    metric, trained = scorer.measure(theirs, right), scorer.measure(said, right)
    return found | {
        "metric": metric,
        "trained_metric": trained,
        "metric_drop": trained - metric,
        "changed_answers": sum(changes),
    }


def main() -> None:
    """Measure in the bundle's folder."""
    run = Run(Path.cwd(), stage="projector", script="runtime/compare/image_fidelity.py")
    job = read_json(run.folder / "projector" / "job.json")
    out = os.dup(1)
    os.dup2(2, 1)  # what llama.cpp prints must not mix with the result
    os.write(out, json.dumps(measure(run, job), indent=2).encode() + b"\n")


if __name__ == "__main__":
    main()
