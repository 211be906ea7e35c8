"""Compare vectors of models with those of their F16 GGUF: ... CONVERTER TEXTS.json KIND=DIR...

Prints an object with the least cosine of each kind over the texts of a JSON list and a few more, as
the bundle's own modules save, convert and read the model; and, for a tokenizer with a chat
template, what it would be if texts were wrapped in it. `KIND tokens` is the share of texts that
llama.cpp reads as the same tokens.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ftc.runtime.export import vector_files
from ftc.runtime.merge import vector_merging
from ftc.runtime.models import vectors

TEXTS = (
    "where is my card?",
    "The card has not arrived after two weeks: please send another one to Calle Mayor 5.",
    "naïve café 北京 12,345.67 — ¿cuándo llega?",
    "two  spaces, and\na line break",
)
POOLING = {"qwen3": "lasttoken"}


def main() -> None:
    """Compare the models that the arguments name."""
    converter, listed, *asked = sys.argv[1:]
    texts = [*TEXTS, *json.loads(Path(listed).read_text(encoding="utf-8"))]
    found: dict[str, Any] = {}
    for each in asked:
        kind, _, name = each.partition("=")
        model = vectors.load(name, pooling=POOLING.get(kind, "mean"), dtype="float32")
        merged = Path(f"{name}-merged")
        vector_merging.save(model, Path(name), merged)
        expected = vectors.encode(model, texts, vectors.QUERY)
        path = Path(f"{name}.gguf")
        script = Path(converter) / "convert_hf_to_gguf.py"
        command: list[str | Path] = [
            sys.executable,
            script,
            merged,
            "--outtype",
            "f16",
            "--outfile",
            path,
        ]
        subprocess.run(command, check=True, capture_output=True)
        llm = vector_files.open_file(None, path, 128, on_gpu=False)  # type: ignore[arg-type]
        read = np.array([vector_files.embed(llm, text, 128) for text in texts])
        found[kind] = float((read * expected).sum(1).min())
        same = [
            llm.tokenize(text.encode(), special=True) == list(model.tokenizer(text).input_ids)
            for text in texts
        ]
        found[f"{kind} tokens"] = sum(same) / len(same)
        if model.tokenizer.chat_template:
            again = vectors.load(merged, pooling="mean", dtype="float32")
            found[f"{kind} reloaded"] = float(
                (vectors.encode(again, texts, vectors.QUERY) * expected).sum(1).min()
            )
            again[0].modality_config["message"] = dict(
                again[0].modality_config["text"], format="auto"
            )
            wrapped = vectors.encode(again, texts, vectors.QUERY)
            found[f"{kind} wrapped"] = float((wrapped * expected).sum(1).min())
    print(json.dumps(found))  # noqa: T201 - its result


if __name__ == "__main__":
    main()
