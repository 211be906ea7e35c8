"""What each model class of llama.cpp's converter does to a tokenizer, by running its `set_vocab`.

    python vocabulary_paths.py CONVERTER WORK

CONVERTER is the folder of `convert_hf_to_gguf.py`. Prints JSON: the name of each text architecture
with its `paths`, the outcomes for a sentencepiece tokenizer with its `tokenizer.model`, for one
without, for a byte-level one, and for one whose class is `GPT2Tokenizer`. An outcome is `scores`
(the pieces' own), `equal` (one score for all tokens), `bpe` (merges, under the name of a
pre-tokenizer), `words` (word pieces under such a name), `stop`, or `other`. Beside them, whether a
token that only `tokenizer.json` has is taken over (`reads_added`), whether ids that the embedding
lacks stop it (`refuses_beyond`), whether it leaves `lm_head` out (`drops_head`), and whether
llama.cpp puts a space before a text of sentencepiece (`adds_space`).
"""

import json
import logging
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

#: Tokens that some classes look up by name.
NAMED = ("<|endoftext|>", "<|user|>", "<|observation|>", "<|assistant|>", "<|system|>", "[gMASK]")
MARKER = "<|turn|>"
KNOWN = "known"
ROWS = 512  # of the embedding, more than any of the tokenizers has
FEW = 300  # fewer


class Writer:
    """Stands in for the GGUF writer, and remembers what tells vocabularies apart."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self.model = ""
        self.is_named = False
        self.scores: list[float] = []
        self.tokens: list[str | bytes] = []
        self.adds_space = True  # llama.cpp's own default

    def add_tokenizer_model(self, model: str) -> None:
        """Remember the name of the tokenizer."""
        self.model = model

    def add_tokenizer_pre(self, name: str) -> None:
        """Remember whether the pre-tokenizer was identified by its hash."""
        self.is_named = name == KNOWN

    def add_token_scores(self, scores: list[float]) -> None:
        """Remember the scores."""
        self.scores = list(scores)

    def add_token_list(self, tokens: list[str | bytes]) -> None:
        """Remember the tokens."""
        self.tokens = list(tokens)

    def add_add_space_prefix(self, value: bool) -> None:
        """Remember whether a space stands before a text."""
        self.adds_space = value

    def __getattr__(self, name: str) -> Any:
        """Take everything else and forget it."""
        if name.startswith("add_"):
            return lambda *_, **__: None
        raise AttributeError(name)


def main() -> None:
    """Print the outcomes of every class."""
    converter, work = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path[:0] = [str(converter), str(converter / "gguf-py")]
    logging.disable(logging.CRITICAL)
    conversion = import_module("conversion")
    tokenizers: Any = import_module("transformers").AutoTokenizer
    load = cache(tokenizers.from_pretrained)
    tokenizers.from_pretrained = lambda folder, **_: load(Path(folder))
    conversion.TextModel.get_vocab_base_pre = lambda *_: KNOWN
    folders = (
        sentencepiece_tokenizer(work / "sentencepiece"),
        sentencepiece_tokenizer(work / "without_model", model=False),
        byte_level_tokenizer(work / "byte_level", added=NAMED),
        byte_level_tokenizer(work / "gpt2", added=NAMED, tokenizer_class="GPT2Tokenizer"),
    )
    added = sentencepiece_tokenizer(work / "added", added=(MARKER,), listed=False)
    for folder in (*folders, added):
        (folder / "config.json").write_text('{"model_type": "llama"}')
    table = {}
    for name in sorted(conversion.TEXT_MODEL_MAP):
        try:
            model_class = conversion.get_model_class(name)
        except KeyError:  # some names have no class behind them
            model_class = None
        paths = [run(model_class, name, folder)[0] for folder in folders]
        table[name] = {
            "paths": paths,
            "reads_added": MARKER.encode() in run(model_class, name, added)[1].tokens,
            "refuses_beyond": run(model_class, name, folders[0], rows=FEW)[0] != paths[0],
            "drops_head": drops_head(model_class),
            "adds_space": run(model_class, name, folders[0])[1].adds_space,
        }
    print(json.dumps(table))  # noqa: T201 - a script


def run(model_class: Any, name: str, folder: Path, *, rows: int = ROWS) -> tuple[str, Writer]:
    """Run one class's `set_vocab` on one folder; return its outcome and what it wrote."""
    writer = Writer()
    if model_class is None:
        return "other", writer
    model_class = getattr(model_class, "Ministral3Model", model_class)  # what it hands on to
    model = model_class.__new__(model_class)
    model.dir_model = folder
    model.hparams = {"vocab_size": rows, "architectures": [name]}
    model.gguf_writer = writer
    model.is_mistral_format = False
    model.origin_hf_arch = model.hf_arch = name
    model.disable_mistral_community_chat_template = False
    try:
        model.set_vocab()
    except SystemExit:  # what some classes do where a file is missing
        return "stop", writer
    except (FileNotFoundError, TypeError, ValueError) as error:
        return "stop" if "tokenizer.model" in str(error) else "other", writer
    except Exception:  # noqa: BLE001 - a class that needs more than its tokenizer
        return "other", writer
    if writer.model == "gpt2":
        return "bpe", writer
    if writer.model == "bert" and writer.is_named:
        return "words", writer
    if writer.model != "llama" or not writer.scores:
        return "other", writer
    return "equal" if len(set(writer.scores)) == 1 else "scores", writer


def drops_head(model_class: Any) -> bool:
    """Whether the class leaves the output matrix out, be it tied or not."""
    try:
        return model_class.filter_tensors(("lm_head.weight", lambda: None)) is None
    except Exception:  # noqa: BLE001 - a class that asks itself for more
        return False


if __name__ == "__main__":
    main()
