"""What llama.cpp's own converter and quantizer make of small models of many architectures.

python quantize_shapes.py LLAMA_CPP CONFIGS RESULT

CONFIGS maps a name to a `config.json`. RESULT gets for each either its `failure`, or the `tensors`
of the 16-bit file ({name: [columns, weights, type]}), the `types` that a dry run gives them in each
kind of file ({kind: {name: type}}) and the `bytes` of files that are really written. Vocabularies
are left out: the converter reads them elsewhere. Run in a process of its own: it imports the
converter's modules.
"""

import ctypes
import json
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

LLAMA_CPP, CONFIGS, RESULT = (Path(argument) for argument in sys.argv[1:4])
sys.path[:0] = [str(LLAMA_CPP), str(LLAMA_CPP / "gguf-py")]

import gguf  # noqa: E402 - the converter's own, of the same version
import llama_cpp  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from conversion import get_model_class  # type: ignore[import-not-found]  # noqa: E402

WRITTEN = ("Q8_0", "Q4_K_M", "Q4_0")
# What transformers' own configurations no longer write and the converter reads.
RESTORED = {"gpt2": {"n_ctx": 128}}
LINE = re.compile(r"^\[ *\d+/ *\d+\] (\S+) +- \[[^]]*\], type = +(\w+), size = .*?(?:\((\w+)\))?$")

said: list[str] = []


def listen(_level: int, text: bytes, _data: Any) -> None:
    """Keep what llama.cpp logs."""
    said.append(text.decode(errors="replace"))


def save(config: dict[str, Any], folder: Path) -> None:
    """Save a random model in 16 bits, as export.py does."""
    sizes = {k: v for k, v in config.items() if k not in {"architectures", "model_type"}}
    library: Any = transformers
    settings = library.AutoConfig.for_model(config["model_type"], **sizes)
    model = library.AutoModelForCausalLM.from_config(settings, dtype=torch.float16)
    model.save_pretrained(folder)
    path = folder / "config.json"
    written = json.loads(path.read_text()) | RESTORED.get(config["model_type"], {})
    path.write_text(json.dumps(written))
    words = {str(number): number for number in range(settings.vocab_size)}  # Gemma 3's are counted
    (folder / "tokenizer.json").write_text(
        json.dumps({"model": {"vocab": words}, "added_tokens": []})
    )


def convert(config: dict[str, Any], folder: Path) -> Path:
    """Convert the saved model, without a vocabulary."""
    path = folder / "model.gguf"
    converter = get_model_class(config["architectures"][0])(
        folder, gguf.LlamaFileType.MOSTLY_F16, path
    )
    converter.set_vocab = lambda: None
    converter.write()
    return path


def quantize(path: Path, kind: str, out: Path | None) -> dict[str, str]:
    """Return the type of each tensor; without `out` nothing is written.

    A type that wants an importance matrix is told that there is one.
    """
    one = (ctypes.c_float * 1)(1.0)
    matrix = (llama_cpp.llama_cpp.llama_model_imatrix_data * 2)()
    matrix[0].name, matrix[0].size = b"none", 1
    matrix[0].data = ctypes.cast(one, ctypes.POINTER(ctypes.c_float))
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    settings.nthread, settings.dry_run = 1, out is None
    if kind.startswith("IQ") or kind[:2] in {"Q2", "Q3"}:
        settings.imatrix = matrix
    said.clear()
    names = os.fsencode(path), os.fsencode(out or path.with_name("none"))
    if llama_cpp.llama_model_quantize(*names, ctypes.byref(settings)):
        raise RuntimeError("".join(said)[-300:])
    lines = (LINE.match(line) for line in "".join(said).splitlines())
    return {line[1]: (line[3] or line[2]).upper() for line in lines if line}


def examine(config: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """Return what is known of one architecture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(config, folder)
        path = convert(config, folder)
        tensors = {
            tensor.name: [
                int(tensor.shape[0]), int(tensor.n_elements), tensor.tensor_type.name
            ]
            for tensor in gguf.GGUFReader(path).tensors
        }  # fmt: skip
        types = {kind: quantize(path, kind, None) for kind in kinds}
        sizes = {}
        for kind in WRITTEN:
            out = folder / f"{kind}.gguf"
            quantize(path, kind, out)
            sizes[kind] = out.stat().st_size
        return {"tensors": tensors, "types": types, "bytes": sizes}


def main() -> None:
    """Examine every configuration."""
    heard = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(listen)
    llama_cpp.llama_log_set(heard, ctypes.c_void_p(0))
    library: Any = transformers
    library.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    asked = json.loads(CONFIGS.read_text())
    results = {}
    for name, config in asked["configs"].items():
        try:
            results[name] = examine(config, asked["kinds"])
        except Exception as error:  # noqa: BLE001 - the test says which may fail
            results[name] = {"failure": f"{type(error).__name__}: {error}"[:300]}
    RESULT.write_text(json.dumps(results))


main()
