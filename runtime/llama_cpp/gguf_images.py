"""Uses a GGUF file and its projector through llama.cpp: reads images, and answers questions.

The tokens of a row are read as they are. At the placeholders of an image, llama.cpp reads the
projector's output for that image instead, as libmtmd does in llama-server and Ollama.
"""

import ctypes
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp import mtmd_cpp as mtmd

from ..run import Run
from ..vision.image_tokens import Grid, Sheets, make_rule
from . import gguf_file

Pixels = Any  # height x width x 3, of type uint8


class Projector:
    """A projector's file, opened for a model that `gguf_file.load` has opened.

    `token` is the id of the placeholder, and `rule` has the settings of `image_tokens`.
    """

    def __init__(
        self, run: Run, llm: Any, path: Path, *, token: int, rule: Mapping[str, Any], on_gpu: bool
    ) -> None:
        self.run, self.llm, self.token = run, llm, token
        settings = mtmd.mtmd_context_params_default()
        settings.use_gpu, settings.print_timings = on_gpu, False
        settings.warmup = False
        settings.n_threads = len(os.sched_getaffinity(0))
        known = make_rule(rule)
        if isinstance(known, Grid):  # for other kinds, the file has the limit
            area = (known.patch * known.merge) ** 2
            settings.image_min_tokens = max(1, known.min_pixels // area)
            settings.image_max_tokens = max(1, known.max_pixels // area)
        elif isinstance(known, Sheets):
            settings.image_min_tokens = known.min_tokens
            settings.image_max_tokens = known.max_tokens
        self.context: Any = mtmd.mtmd_init_from_file(os.fsencode(path), llm.model, settings)
        if self.context is None:
            run.stop(f"llama.cpp cannot open {path.name} beside the model")

    def embed(self, image: Pixels) -> Any:
        """Return what the language model reads of a picture: tokens x numbers."""
        with _Chunks(self, image) as chunks:
            if len(chunks) != 1:
                self.run.stop(f"llama.cpp divides a picture into {len(chunks)} parts")
            (chunk,) = chunks
            if mtmd.mtmd_encode_chunk(self.context, chunk):
                self.run.stop("llama.cpp could not read a picture")
            tokens = mtmd.mtmd_input_chunk_get_n_tokens(chunk)
            numbers = llama_cpp.llama_model_n_embd_inp(self.llm.model)
            found: Any = mtmd.mtmd_get_output_embd(self.context)
            return np.ctypeslib.as_array(found, shape=(tokens, numbers)).copy()

    def answer(self, ids: Sequence[int], images: Sequence[Pixels], most: int) -> str:
        """Return the most likely text after a prompt with pictures, at most `most` tokens."""
        begin, last = self._read(ids, images)
        said: list[int] = []
        while len(said) < most:
            token = int(last.argmax())
            if llama_cpp.llama_vocab_is_eog(self.llm._model.vocab, token):  # noqa: SLF001 - no public name
                break
            said.append(token)
            (logits,) = gguf_file.read(self.run, self.llm, [token], 1, begin)
            begin, last = begin + 1, logits[0]
        text: bytes = self.llm.detokenize(said, prev_tokens=list(ids))
        return text.decode(errors="replace").strip()

    def _read(self, ids: Sequence[int], images: Sequence[Pixels]) -> tuple[int, Any]:
        """Read a prompt; return the position after it, and the logits that follow it."""
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.llm.ctx), True)
        begin, logits = 0, None
        parts = [(key, list(part)) for key, part in groupby(ids, self.token.__eq__)]
        with ExitStack() as stack:
            opened = [stack.enter_context(_Chunks(self, image)) for image in images]
            left = [chunk for chunks in opened for chunk in chunks]
            for is_image, part in parts:
                if is_image:
                    begin = self._read_image(left, len(part), begin)
                else:
                    begin, logits = self._read_text(part, begin)
            if left:
                self.run.stop(f"llama.cpp makes {len(left)} parts more of a row's pictures")
        return begin, logits

    def _read_text(self, ids: list[int], begin: int) -> tuple[int, Any]:
        if begin == 0:  # `read` would start a new row at 0
            (found,) = gguf_file.read(self.run, self.llm, ids, 1)
        else:
            (found,) = gguf_file.read(self.run, self.llm, ids, 1, begin)
        return begin + len(ids), found[0].copy()

    def _read_image(self, left: list[Any], tokens: int, begin: int) -> int:
        """Read the parts of pictures that have these tokens; return the position after them.

        The position is not one for each token. The parts are taken out of `left`.
        """
        found = 0
        while found < tokens and left:
            chunk, after = left.pop(0), llama_cpp.llama_pos(0)
            found += mtmd.mtmd_input_chunk_get_n_tokens(chunk)
            failed = mtmd.mtmd_helper_eval_chunk_single(
                self.context, self.llm.ctx, chunk, begin, 0, gguf_file.BATCH_TOKENS, False,
                ctypes.byref(after),
            )  # fmt: skip
            if failed:
                self.run.stop("llama.cpp could not read a picture")
            begin = int(after.value)
        if found != tokens:
            self.run.stop(f"llama.cpp makes {found} tokens of a picture, training {tokens}")
        return begin

    def close(self) -> None:
        """Free its memory."""
        mtmd.mtmd_free(self.context)


class _Chunks:
    """A picture as libmtmd divides it; gives the parts that have pixels: all of it, and tiles."""

    def __init__(self, projector: Projector, image: Pixels) -> None:
        self.projector = projector
        height, width, _ = image.shape
        data = np.ascontiguousarray(image).ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        self.bitmap = mtmd.mtmd_bitmap_init(width, height, data)
        self.chunks: Any = mtmd.mtmd_input_chunks_init()

    def __enter__(self) -> list[Any]:
        text = mtmd.mtmd_input_text()
        marker = mtmd.mtmd_default_marker()
        text.text, text.text_len = marker, len(marker)
        text.add_special, text.parse_special = False, True
        bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(self.bitmap)
        context = self.projector.context
        if mtmd.mtmd_tokenize(context, self.chunks, ctypes.byref(text), bitmaps, 1):
            self.projector.run.stop("llama.cpp could not prepare a picture")
        count = mtmd.mtmd_input_chunks_size(self.chunks)
        parts = [mtmd.mtmd_input_chunks_get(self.chunks, place) for place in range(count)]
        image = mtmd.MTMD_INPUT_CHUNK_TYPE_IMAGE
        return [part for part in parts if mtmd.mtmd_input_chunk_get_type(part) == image]

    def __exit__(self, *_: object) -> None:
        mtmd.mtmd_input_chunks_free(self.chunks)
        mtmd.mtmd_bitmap_free(self.bitmap)
