"""Writes the GGUF files of an embedding model, and compares their vectors with the model's.

Every row of the test split is read by llama.cpp as text, and the cosine of each vector to that of
the merged model must reach the bound of the file's type. A row that llama.cpp encodes to other
tokens has another vector. This happens, for example, with words of over 100 letters.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import llama_cpp
import numpy as np

from ..files import sync, write_json
from ..llama_cpp.converter import Converter
from ..llama_cpp.gguf_file import quantize
from ..run import Run
from ..stages import Identity

#: The least cosine of a vector by type: 16-bit rounding, and rounding to 8 bits in blocks of 32.
BOUNDS: Final[Mapping[str, float]] = {"F16": 0.999, "BF16": 0.999, "Q8_0": 0.99}
MOST_OTHER: Final = 0.01  # share of texts that may be read as other tokens
NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The GGUF files of a bundle, NAME-TYPE.gguf in run/quantize, judged by the texts of rows.

    `loading` are the arguments of `load` for the merged model, in vectors.py or relevance.py.
    """

    run: Run
    name: str
    types: Sequence[str]
    converter: Converter
    rows: Path
    max_length: int
    on_gpu: bool
    loading: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The merged model's vector and tokens of each text."""

    texts: Sequence[str]
    vectors: Any
    tokens: Sequence[Sequence[int]]


def write_files(job: Job, identity: Identity) -> None:
    """Write and verify every file, and quality.json; ends the stage if one is not sound."""
    from ..models import vectors  # noqa: PLC0415 - slow, and not needed to read a file

    merged = job.run.folder / "merged"
    model = vectors.load(merged, **job.loading)
    texts = list_texts(job.run.read_rows(job.rows), vectors.list_prompts(model))
    expected = Expected(
        texts=texts,
        vectors=vectors.encode(model, texts, ""),
        tokens=[list(model.tokenizer(text)["input_ids"]) for text in texts],
    )
    write_judged(
        job,
        identity,
        judge=lambda path, kind: judge(job, path, expected, BOUNDS[kind]),
        describe=lambda entry: f"cosine {entry['cosine']:.6f} or more on {entry['texts']:,} texts",
    )


def write_judged(
    job: Job,
    identity: Identity,
    *,
    judge: Callable[[Path, str], dict[str, Any]],
    describe: Callable[[dict[str, Any]], str],
) -> None:
    """Convert run/merged to every type, and write the results of `judge` for each file.

    A file with a `fault` is renamed, and the stage ends.
    """
    run, out = job.run, job.run.folder / "quantize"
    out.mkdir(parents=True, exist_ok=True)
    for earlier in (*out.glob("*.gguf"), *out.glob("*.failed")):  # of another model
        earlier.unlink()
    for leftover in out.glob("unfinished-*"):
        shutil.rmtree(leftover)
    files = []
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=out) as folder:
        source = Path(folder) / "source.gguf"
        how = "convert_hf_to_gguf.py", run.folder / "merged", "--outtype", "auto"
        job.converter.convert(run, *how, into=source)
        for kind in job.types:
            path = source.with_name(f"{job.name}-{kind}.gguf")
            began = time.monotonic()
            quantize(run, source, path, kind)
            entry: dict[str, Any] = {"type": kind, "bytes": path.stat().st_size}
            entry |= judge(path, kind)
            kept = out / (path.name if entry["fault"] is None else f"{path.stem}.failed")
            entry |= {"file": kept.name, "seconds": round(time.monotonic() - began, 1)}
            files.append(entry)
            sync(path)
            path.replace(kept)
    report = {"version": 1, "judged": job.rows.stem, "vectors": True, "files": files}
    write_json(out / "quality.json", report)
    for entry in files:
        run.say(f"{entry['file']}: {describe(entry)}")
    failed = next((entry for entry in files if entry["fault"] is not None), None)
    if failed is not None:
        run.stop(f"{failed['type']} differs too much from the trained model: {failed['fault']}")
    run.mark_done(identity, *(out / entry["file"] for entry in files), out / "quality.json")


def list_texts(rows: Sequence[Mapping[str, Any]], prompts: Mapping[str, str]) -> list[str]:
    """Return every text of the rows once, with the prompt of its column."""
    found = (
        prompts.get(name, "") + row[name]
        for row in rows
        for name in ("anchor", "positive", "negative")
        if name in row
    )
    return list(dict.fromkeys(found))


def judge(job: Job, path: Path, expected: Expected, bound: float) -> dict[str, Any]:
    """Return the least and the mean cosine of a file's vectors, and what is wrong with it."""
    llm, texts = open_file(job.run, path, job.max_length, on_gpu=job.on_gpu), expected.texts
    pairs = zip(texts, expected.tokens, strict=True)
    same = [llm.tokenize(text.encode(), special=True) == ids for text, ids in pairs]
    found = np.array([embed(llm, text, job.max_length) for text in texts], dtype="float32")
    llm.close()
    cosines = (found * expected.vectors).sum(1)
    others = [place for place, is_same in enumerate(same, 1) if not is_same]
    least = float(cosines[np.array(same)].min()) if any(same) else 0.0
    fault = None
    if len(others) > MOST_OTHER * len(texts):
        fault = (
            f"llama.cpp reads {len(others):,} of {len(texts):,} texts as other tokens than the"
            f" model was trained on; the first are texts {others[:NAMED]}"
        )
    elif not least >= bound:
        fault = f"a vector has a cosine of {least:.6f} to the model's, and {bound} is needed"
    elif others:
        job.run.say(
            f"warning: llama.cpp reads {len(others):,} texts as other tokens, the first is text"
            f" {others[0]}; their vectors differ"
        )
    return {
        "texts": len(texts),
        "other_texts": len(others),
        "cosine": least,
        "mean_cosine": float(cosines.mean()),
        "bounds": {"min_cosine": bound},
        "fault": fault,
    }


def open_file(run: Run, path: Path, max_length: int, *, on_gpu: bool, ranks: bool = False) -> Any:
    """Open a GGUF file to read vectors; a text is read at once, as an encoder needs it.

    With `ranks` its head gives the score of a pair.
    """
    pooling = "RANK" if ranks else "UNSPECIFIED"
    try:
        return llama_cpp.Llama(
            str(path),
            embedding=True,
            pooling_type=getattr(llama_cpp, f"LLAMA_POOLING_TYPE_{pooling}"),
            n_ctx=max_length,
            n_batch=max_length,
            n_ubatch=max_length,
            n_threads=len(os.sched_getaffinity(0)),
            n_gpu_layers=-1 if on_gpu else 0,
            verbose=False,
        )
    except (ValueError, RuntimeError) as error:
        run.stop(f"llama.cpp cannot open it: {error}")


def embed(llm: Any, text: str, max_length: int) -> Any:
    """Return the unit vector of a text, which is cut to `max_length` tokens as in training."""
    ids = llm.tokenize(text.encode(), special=True)
    if len(ids) > max_length:  # the last token of an encoder is a marker, which stays
        ids = [*ids[: max_length - 1], ids[-1]]
    found = read_tokens(llm, ids, llm.n_embd())
    return found / max(float(np.linalg.norm(found)), 1e-12)


def read_tokens(llm: Any, ids: Sequence[int], numbers: int) -> Any:
    """Return the numbers that the file's own pooling gives these tokens."""
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(llm.ctx), True)
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for place, token in enumerate(ids):
        batch.token[place], batch.pos[place] = token, place
        batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
        batch.logits[place] = True
    failed = llama_cpp.llama_decode(llm.ctx, batch)
    llama_cpp.llama_batch_free(batch)
    if failed:
        raise RuntimeError("llama.cpp could not read a text of the data")
    found: Any = llama_cpp.llama_get_embeddings_seq(llm.ctx, 0)
    return np.ctypeslib.as_array(found, shape=(numbers,)).astype("float32")
