"""Builds small models beside their tokenizers, and takes them all the way to llama.cpp.

    python convert_folders.py CONVERTER FOLDER...

CONVERTER is the folder of `convert_hf_to_gguf.py`. Each FOLDER holds a config, a tokenizer and
`texts.json`, a list. Prints one JSON object: for each folder, whether the model `trains` on the
tokens that transformers makes of the texts, what `stopped` the conversion, whether llama.cpp
`loads` the file, whether it has a `head`, and the texts that it reads `otherwise`.
"""

import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from llama_cpp import Llama

transformers: Any = import_module("transformers")


def main() -> None:
    """Print what became of every folder."""
    converter = Path(sys.argv[1])
    sys.path[:0] = [str(converter), str(converter / "gguf-py")]
    transformers.logging.set_verbosity_error()
    logging.disable(logging.CRITICAL)
    convert = import_module("convert_hf_to_gguf").main
    out = sys.stdout
    sys.stdout = sys.stderr  # where libraries may write
    found = {folder: take(Path(folder), convert) for folder in sys.argv[2:]}
    out.write(json.dumps(found))


def take(folder: Path, convert: Any) -> dict[str, Any]:
    """Build, convert and load one folder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = json.loads((folder / "texts.json").read_bytes())
    ids = {text: tokenizer(text, add_special_tokens=False).input_ids for text in texts}
    file = folder / "model.gguf"
    result: dict[str, Any] = {"trains": build(folder, ids), "stopped": None, "loads": False}
    sys.argv = ["convert_hf_to_gguf.py", str(folder), "--outfile", str(file), "--outtype", "f32"]
    try:
        convert()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the converter ends with
        result["stopped"] = f"{type(error).__name__}: {error}"
        return result
    reader = import_module("gguf").GGUFReader  # the converter's own
    result["head"] = any(tensor.name == "output.weight" for tensor in reader(file).tensors)
    try:
        model = Llama(str(file), n_ctx=64, verbose=False)
    except ValueError:
        return result
    read = {text: model.tokenize(text.encode(), add_bos=False, special=True) for text in ids}
    return result | {"loads": True, "otherwise": [t for t in ids if read[t] != ids[t]]}


def build(folder: Path, ids: dict[str, list[int]]) -> bool:
    """Write weights for the config, and tell whether the model computes on the tokens."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(config)
    weights = folder / "weights"
    model.save_pretrained(weights)
    (weights / "model.safetensors").rename(folder / "model.safetensors")
    try:
        for tokens in ids.values():
            model(torch.tensor([tokens]))
    except IndexError:
        return False
    return True


if __name__ == "__main__":
    main()
