"""A GGUF file opened in this process: reading tokens with it, and writing what it finds likely.

Straight on llama.cpp's own calls: only the logits that are asked for are computed and kept, and
a limit in tokens is one.
"""

import os

import llama_cpp
import numpy as np

import guard

BATCH_TOKENS = 512  # read at once


def load(path, context_tokens, lora_path=None):
    """Open a GGUF, with an adapter's on top where one is given."""
    try:
        return llama_cpp.Llama(
            str(path),
            n_ctx=context_tokens,
            n_batch=BATCH_TOKENS,
            n_threads=len(os.sched_getaffinity(0)),  # the cores that this process may use
            n_gpu_layers=-1,
            lora_path=lora_path and str(lora_path),
            verbose=False,
        )
    except (ValueError, RuntimeError) as error:
        guard.stop(f"llama.cpp cannot open it: {error}")


def read(llm, ids, keep, begin=0):
    """Yield the logits that follow the last `keep` tokens, in parts that hold until the next one.

    `begin` tokens were read before these; at 0 whatever was read is forgotten.
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
            guard.stop("llama.cpp could not read a row of the data")
        if start + len(part) > first:
            wanted = min(len(part), start + len(part) - first)
            logits = llama_cpp.llama_get_logits(llm.ctx)
            yield np.ctypeslib.as_array(logits, shape=(wanted, llm.n_vocab()))
    llama_cpp.llama_batch_free(batch)


def write(llm, ids, most):
    """Yield the most likely next tokens, at most so many, whatever they are."""
    begin = 0
    for _ in range(most):
        (logits,) = read(llm, ids, 1, begin)
        begin, ids = begin + len(ids), [int(logits[0].argmax())]
        yield ids[0]


def answer(llm, ids, most):
    """Return what the file finds most likely after a prompt, up to the token that ends it."""
    said = []
    for token in write(llm, ids, most):
        if llama_cpp.llama_vocab_is_eog(llm._model.vocab, token):
            break
        said.append(token)
    return llm.detokenize(said, prev_tokens=ids).decode(errors="replace").strip()
