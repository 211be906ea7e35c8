"""Derive `derived_encoders.json` from the encoders of transformers.

    .ci/encoders.py [CLASS ...]

An entry is like one of `.ci/architectures.py`, for the class without a head. It also lists the
classes that add a head to the same weights, the position of the first token, and the tensors
outside of the layers of the class that outputs one score.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from architectures import CASES_EACH, ROOT, check, study
from entries import record
from transformers.models.auto import modeling_auto

BASES = Path(__file__).with_name("encoder_bases.json")
TABLE = ROOT / "compiler/knowledge/architectures/derived_encoders.json"
CASES = ROOT / "tests/compiler/knowledge/encoder_cases.json"
_ONE: dict[str, Any] = {"num_labels": 1}
#: Sizes of a model that is small enough to run, under every key that a class may use.
_SMALL = {
    **dict.fromkeys(("num_hidden_layers", "n_layers"), 1),
    **dict.fromkeys(("num_attention_heads", "n_heads"), 2),
    **dict.fromkeys(
        ("hidden_size", "dim", "embedding_size", "intermediate_size", "hidden_dim"), 32
    ),
}


def derive(name: str, said: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any], list[str]]:
    """Return a class's entry, its counts with and without a score head, and any errors."""
    plain = {**said, "auto": "AutoModel"}
    entry = study(name, plain)
    scores = modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES[said["type"]]
    scored = {
        **said,
        "auto": "AutoModelForSequenceClassification",
        "base": {**said.get("base", {}), **_ONE},
        "fixed": [*said.get("fixed", ()), *_ONE],
    }
    other = study(scores, scored)
    prefix = other["embedding"].removesuffix(entry["embedding"])
    entry["also"] = list_headed(said["type"])
    entry["first_position"] = find_first_position(said["type"])
    entry["scoring"] = {
        "class": scores,
        "prefix": prefix,
        "model": other["model"],
    }
    done, wrong = check(name, plain, entry)
    more, faults = check(scores, scored, other)
    return entry, [*done, *more], [*wrong, *faults]


def list_headed(kind: str) -> list[str]:
    """Return the classes with a token-prediction head on the same weights."""
    mappings = (
        modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES,
    )
    return list(dict.fromkeys(mapping[kind] for mapping in mappings if kind in mapping))


def find_first_position(kind: str) -> int:
    """Return the position of the first token: some classes start after the padding index."""
    cls = transformers.CONFIG_MAPPING[kind]
    known = cls().to_dict()
    small = {key: size for key, size in _SMALL.items() if key in known}
    model = transformers.AutoModel.from_config(cls(**small)).eval()
    seen: list[int] = []

    def note(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        seen.append(int(inputs[0].min()))

    for path, module in model.named_modules():
        if path.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            module.register_forward_pre_hook(note)
    model(input_ids=torch.full((1, 4), 7))
    return min(seen, default=0)


def main(names: Sequence[str]) -> None:
    """Derive the named classes, or all classes, and write the table."""
    transformers.logging.set_verbosity_error()
    bases = json.loads(BASES.read_text(encoding="utf-8"))
    for name in names or bases:
        try:
            entry, done, wrong = derive(name, bases[name])
        except SystemExit as problem:
            print(problem, flush=True)
            continue
        print(f"{name}: {len(done)} counts, {len(wrong)} wrong", *wrong[:2], sep="\n  ", flush=True)
        if len(done) == 2 * CASES_EACH and not wrong:
            record(name, entry, done, (TABLE, CASES))


if __name__ == "__main__":
    main(sys.argv[1:])
