"""Make the weights of a miniature from its config: random, scaled so that all affect the output.

python build_model.py FOLDER [--trust] [--teacher] [--encoder]

Run in a separate process, by the interpreter that has transformers. FOLDER holds the config and
the tokenizer; the weights are written beside them. The same config gives the same bytes. --trust
lets the code run that the folder brings, as `model.trust_remote_code` of a spec does. --teacher
gives the same config other weights, from which a student can learn. --encoder makes the class that
the config names, which has no head over the vocabulary.
"""

import re
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
)

SEED = 20
# Wide enough for logits that differ by more than rounding: sqrt(1 / 256), not the usual 0.02.
SPREAD = 0.0625
# Tensors that start as zeros or ones (biases, norms) would not show that a converter dropped them.
OFFSET = 0.05
# An untrained model with tied embeddings ends its answer at once or repeats the last token. So
# tokens without text, and rows of the embedding without a token, are made unlikely.
UNLIKELY = 0.01
# Standard deviation of the logits, over tokens of the vocabulary: then a small part that a
# converter lost changes the next token's distribution by more than rounding does.
LOGIT_SPREAD = 1.0
HEARD_TOKENS = 64
# On saving, transformers undoes a renaming in every layer and in every part of the model. By model
# type, what it then calls a tensor that repositories name otherwise, and how they name it.
PUBLISHED = {
    "kimi_k25": (r"^(language_model\.model|model)\.blocks\.", r"language_model.model.layers."),
    "kimi_linear": (r"\.block_sparse_moe\.(\w+_proj\.)", r".mlp.\1"),
}

folder = Path(sys.argv[1])
trusted = "--trust" in sys.argv
written = (folder / "config.json").read_text(encoding="utf-8")
config = AutoConfig.from_pretrained(folder, trust_remote_code=trusted)
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trusted)
for section in (config, config.get_text_config()):
    section.initializer_range = SPREAD
wrapped = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
kind: Any = AutoModelForImageTextToText if wrapped else AutoModelForCausalLM
encodes = "--encoder" in sys.argv
torch.manual_seed(SEED + ("--teacher" in sys.argv))
if encodes:
    named = config.architectures
    model = getattr(transformers, named[0])(config) if named else AutoModel.from_config(config)
else:
    model = kind.from_config(config, trust_remote_code=trusted)
with torch.no_grad():
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.add_(torch.randn_like(parameter), alpha=OFFSET)
    # Where norms of queries and keys replace the scaling of the scores, weights of 1 make attention
    # pick one token, and rounding decides which.
    for module in model.modules():
        if getattr(module, "scaling", None) == 1.0 and hasattr(module, "k_norm"):
            module.k_norm.weight *= module.k_norm.weight.numel() ** -0.5


def balance_head() -> None:
    """Make tokens without text unlikely, and the logits as wide as LOGIT_SPREAD says."""
    markers = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    markers |= {
        number for number in range(len(tokenizer)) if not str(tokenizer.decode(number)).strip()
    }
    owners = (part for part in model.modules() if isinstance(part, transformers.PreTrainedModel))
    heads = (part.get_output_embeddings() for part in owners)  # a class around others may have none
    head = next(filter(None, heads)).weight
    head[sorted(number for number in markers if number < len(head))] *= UNLIKELY
    head[len(tokenizer) :] *= UNLIKELY
    # Embeddings and logits that a family multiplies would make every difference small or huge.
    words = [number for number in range(min(len(head), len(tokenizer))) if number not in markers]
    ids = torch.tensor([words[:: max(1, len(words) // HEARD_TOKENS)][:HEARD_TOKENS]])
    head *= LOGIT_SPREAD / model.eval()(ids).logits[..., words].std()


def copy_unread() -> dict[str, torch.Tensor]:
    """Return the tensors of published files for layers that reuse an earlier layer's keys.

    The class ignores these tensors, and llama.cpp does not load a model without them.
    """
    kinds = getattr(config.get_text_config(), "layer_types", None) or []
    written, unread = model.state_dict(), {}
    for path, module in model.named_modules():
        for name in vars(module).get("_keys_to_ignore_on_load_unexpected") or ():
            found = re.fullmatch(r"layers\.(\d+)\.(.+)", name)
            if found is None:
                continue
            number, part = int(found[1]), found[2]
            alike = [n for n in range(number) if kinds[n] == kinds[number]]
            named = f"{path}.layers.{{}}.{part}.weight"
            others = [named.format(n) for n in alike if named.format(n) in written]
            if others:
                unread[named.format(number)] = written[others[-1]].clone()
    return unread


def publish_names() -> None:
    """Rename the saved tensors to the names in repositories, if transformers uses others."""
    written, named = PUBLISHED[config.model_type]
    for path in sorted(folder.glob("*.safetensors")):
        tensors = {re.sub(written, named, name): each for name, each in load_file(path).items()}
        save_file(tensors, path, metadata={"format": "pt"})


if not encodes:
    with torch.no_grad():
        balance_head()
model.save_pretrained(folder, state_dict=model.state_dict() | copy_unread())
if config.model_type in PUBLISHED:
    publish_names()
(folder / "config.json").write_text(written, encoding="utf-8")  # as the real one is written
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
