"""Uses a GGUF file through llama.cpp: quantizes it, reads tokens, and generates text.

It calls llama.cpp's own functions, so that only the requested logits are computed and kept, and a
limit in tokens is exact.
"""

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import llama_cpp
import numpy as np
from llama_cpp._internals import LlamaModel
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from ..run import Run

BATCH_TOKENS: Final = 512  # read at once


@contextmanager
def redirect_output(log: Path) -> Iterator[None]:
    """Append what this process prints, libraries in C included, to a file."""
    with log.open("ab") as file:
        sys.stdout.flush()
        sys.stderr.flush()
        kept = os.dup(1), os.dup(2)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in enumerate(kept, start=1):
                os.dup2(copy, number)
                os.close(copy)


def quantize(run: Run, source: Path, path: Path, kind: str, matrix: Any = None) -> None:
    """Write a 16-bit file as one type, such as "Q4_K_M"; ends the stage if llama.cpp cannot.

    `matrix` is an importance matrix as `importance.make_entries` returns it.
    """
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    if matrix is not None:
        settings.imatrix = matrix
    names = os.fsencode(source), os.fsencode(path)
    with redirect_output(run.folder / "quantize" / "llama.log"):
        failed = llama_cpp.llama_model_quantize(*names, ctypes.byref(settings))
    if failed:
        free = shutil.disk_usage(path.parent).free / 2**20
        run.stop(f"llama.cpp could not quantize to {kind}; {free:,.0f} MiB of disk are free")


def load(
    run: Run, path: Path, context_tokens: int, *, lora_path: Path | None = None, on_gpu: bool
) -> Any:
    """Open a GGUF file, with an adapter's file if there is one; `on_gpu` offloads all layers."""
    try:
        return llama_cpp.Llama(
            str(path),
            n_ctx=context_tokens,
            n_batch=BATCH_TOKENS,
            n_threads=len(os.sched_getaffinity(0)),  # the cores that this process may use
            n_gpu_layers=-1 if on_gpu else 0,
            lora_path=str(lora_path) if lora_path else None,
            verbose=False,
        )
    except (ValueError, RuntimeError) as error:
        run.stop(f"llama.cpp cannot open it: {error}")


def load_vocabulary(run: Run, path: Path) -> Any:
    """Open the vocabulary and metadata of a GGUF file without loading its weights."""
    settings = llama_cpp.llama_model_default_params()
    settings.vocab_only = True
    try:
        return LlamaModel(path_model=str(path), params=settings, verbose=False)
    except (ValueError, RuntimeError) as error:
        run.stop(f"llama.cpp cannot open {path.name}: {error}")


def read(run: Run, llm: Any, ids: Sequence[int], keep: int, begin: int = 0) -> Iterator[Any]:
    """Yield the logits that follow the last `keep` tokens, in parts: positions x vocabulary.

    Each part is valid until the next one. `begin` tokens were read before these; 0 forgets them.
    """
    if begin == 0:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(llm.ctx), True)
    first = len(ids) - keep
    batch = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
    for start in range(0, len(ids), BATCH_TOKENS):
        part = ids[start : start + BATCH_TOKENS]
        batch.n_tokens = len(part)
        for place, token in enumerate(part):
            batch.token[place], batch.pos[place] = token, begin + start + place
            batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
            batch.logits[place] = start + place >= first
        if llama_cpp.llama_decode(llm.ctx, batch):
            run.stop("llama.cpp could not read a row of the data")
        if start + len(part) > first:
            wanted = min(len(part), start + len(part) - first)
            logits: Any = llama_cpp.llama_get_logits(llm.ctx)
            yield np.ctypeslib.as_array(logits, shape=(wanted, llm.n_vocab()))
    llama_cpp.llama_batch_free(batch)


def write(run: Run, llm: Any, ids: Sequence[int], most: int) -> Iterator[int]:
    """Yield the most likely next tokens, `most` of them."""
    begin = 0
    for _ in range(most):
        (logits,) = read(run, llm, ids, 1, begin)
        begin, ids = begin + len(ids), [int(logits[0].argmax())]
        yield ids[0]


def write_turn(run: Run, llm: Any, ids: Sequence[int], most: int) -> list[int]:
    """Return the most likely tokens after a prompt, up to the one that ends them."""
    said = []
    for token in write(run, llm, ids, most):
        said.append(token)
        if is_end(llm, token):
            break
    return said


def is_end(llm: Any, token: int) -> bool:
    """Return whether a token ends an answer."""
    return bool(llama_cpp.llama_vocab_is_eog(llm._model.vocab, token))  # noqa: SLF001 - no public name


def answer(run: Run, llm: Any, ids: Sequence[int], most: int) -> str:
    """Return the most likely text after a prompt, up to the token that ends it."""
    said = write_turn(run, llm, ids, most)
    if said and is_end(llm, said[-1]):
        said.pop()
    text: bytes = llm.detokenize(said, prev_tokens=list(ids))
    return text.decode(errors="replace").strip()


def tokenize(llm: Any, prompt: str | list[Any]) -> list[int]:
    """Return the token ids of a text, or of messages for the chat template."""
    text = prompt if isinstance(prompt, str) else render(llm, prompt)
    return list(llm.tokenize(text.encode(), add_bos=text is prompt, special=True))


def render(llm: Any, messages: list[Any]) -> str:
    """Return messages as text, by the chat template of the file."""
    vocabulary = llama_cpp.llama_model_get_vocab(llm.model)
    begin, end = (
        llama_cpp.llama_vocab_get_text(vocabulary, token).decode() if token >= 0 else ""
        for token in (llm.token_bos(), llm.token_eos())
    )
    template = llm.metadata["tokenizer.chat_template"]
    formatter: Any = Jinja2ChatFormatter(template=template, eos_token=end, bos_token=begin)
    return str(formatter(messages=messages).prompt)
