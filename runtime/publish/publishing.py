"""Publishes a result on the Hub: the model card, and the adapter, weights or quantized files.

The token is read by huggingface_hub and is never printed or written.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from ..files import write_lines
from ..reports.results import Results, read_results
from . import model_card
from .publication import Job

FIGURES = {"curve.png": "curve.png", "quality.png": "quantize/quality.png"}
LEFT_OUT = {"README.md", "training_args.bin"}  # a library's card, a pickle with local paths
PLACES = re.compile(r"^(# FROM|FROM|ADAPTER) \./run/(?:quantize|projector)/", re.MULTILINE)


def prepare(job: Job) -> dict[str, Path]:
    """Write the card, and return the files to upload by their names in the repository.

    Ends the stage unless every stage of plan.json is done and up to date, and every quantized file
    was found to be faithful.
    """
    results = read_results(job.run)
    _require(results)
    folder = job.run.folder / "publish"
    files = _list_files(job, results, folder)
    card = model_card.write_card(job, results, files)
    text = "\n".join([*model_card.write_front_matter(job.card), *card])
    write_lines(folder / "README.md", [text.encode()])
    files = {"README.md": folder / "README.md", **files}
    for name, path in files.items():
        job.run.say(f"{path.stat().st_size / 2**20:12,.1f} MiB  {name}")
    visible = "private" if job.private else "public"
    job.run.say(f"{len(files)} files for {job.repository}, {visible} if it is new")
    return files


def push(job: Job, files: Mapping[str, Path]) -> None:
    """Upload the files in one commit; the repository is created if it does not exist."""
    from httpx2 import HTTPError  # noqa: PLC0415 - what huggingface_hub raises
    from huggingface_hub import CommitOperationAdd, HfApi  # noqa: PLC0415 - slow
    from huggingface_hub.errors import (  # noqa: PLC0415
        HfHubHTTPError,
        LocalTokenNotFoundError,
    )

    api = HfApi()
    adds = [
        CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(path))
        for name, path in files.items()
    ]
    try:
        api.create_repo(job.repository, private=job.private, exist_ok=True)
        made = api.create_commit(
            job.repository, adds, commit_message=f"Upload {job.name}, made with ftc"
        )
    except LocalTokenNotFoundError:
        job.run.stop("there is no token: run `hf auth login`, or set HF_TOKEN")
    except HfHubHTTPError as error:
        code = error.response.status_code
        hint = ": the token may not write there" if code in {401, 403} else ""
        job.run.stop(f"the Hub refused the upload with status {code}{hint}; run again")
    except ValueError as error:  # of the card's metadata, or of the repository's name
        job.run.stop(" ".join(str(error).split()))
    except (HTTPError, OSError) as error:  # of the network
        job.run.stop(f"the upload failed: {type(error).__name__}; run again")
    job.run.say(f"uploaded: {made.commit_url}")


def _require(results: Results) -> None:
    """End the stage if a stage has not run, is of an earlier training, or found a fault."""
    run, train = results.run, results.records.get("train")
    for name in results.stages:
        record = results.records.get(name)
        if record is None or train is None:
            run.stop(f"stage `{name}` is not done: start ./run.sh first")
        if not set(train.read["trainings"]) <= set(record.read["trainings"]) and name != "prepare":
            run.stop(f"stage `{name}` is of an earlier training: start ./run.sh first")
    for stage in {"quantize", "vllm"} & results.records.keys():
        for entry in results.read(f"{stage}/quality.json")["files"]:
            if entry.get("fault"):
                run.stop(f"{entry['file']} is not faithful to the trained model: {entry['fault']}")


def _list_files(job: Job, results: Results, folder: Path) -> dict[str, Path]:
    """Return the files beside the card, by their names in the repository."""
    run, files = results.run, dict[str, Path]()
    if "merged" in job.what:
        files |= _list_folder(run.folder / "merged", "")
    if "adapter" in job.what:
        files |= _list_folder(
            run.folder / "train" / "model", "adapter/" if "merged" in job.what else ""
        )
    if "gguf" in job.what:
        base = f"{job.name}-base-F16.gguf"  # what the adapter is applied to in ask.py
        for stage in ("quantize", "projector", "adapter"):
            if stage in results.records:
                outputs = [run.bundle / name for name in results.records[stage].read["outputs"]]
                weights = [path for path in outputs if path.suffix == ".gguf"]
                files |= {path.name: path for path in weights if path.name != base}
        if (run.bundle / "Modelfile").is_file():
            said = (run.bundle / "Modelfile").read_text(encoding="utf-8")
            write_lines(folder / "Modelfile", [PLACES.sub(r"\1 ./", said).encode()])
            files["Modelfile"] = folder / "Modelfile"
    if "vllm" in job.what:
        for entry in results.read("vllm/quality.json")["files"]:
            files |= _list_folder(run.folder / "vllm" / entry["file"], f"{entry['file']}/")
    for name, place in FIGURES.items():
        if (run.folder / place).is_file():
            files[name] = run.folder / place
    return files


def _list_folder(folder: Path, prefix: str) -> dict[str, Path]:
    """Return the files of a model's folder, without unrelated files that libraries add."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in paths}
    return {f"{prefix}{name}": path for name, path in named.items() if name not in LEFT_OUT}
