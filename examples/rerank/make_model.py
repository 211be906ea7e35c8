"""Build the small, untrained BERT of this example: tokenizer and weights.

    python make_model.py    # writes model/ beside this script

It needs torch, transformers and tokenizers. The tokenizer is trained on the questions and articles
of ../embed, and the same seed gives the same bytes.
"""

import json
from pathlib import Path

import torch
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel, BertTokenizer

HERE = Path(__file__).parent
QUESTIONS = HERE.parent / "embed" / "questions.jsonl"
SEED = 20
TOKENS = 2_000
NAMED = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST_TOKENS = 256


def main() -> None:
    """Write the folder of the model."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    texts = [text for line in lines for text in json.loads(line).values()]
    trained = BertWordPieceTokenizer()
    # The trainer numbers the inner characters in a random order, and ties follow the numbers.
    inner = sorted({char for text in texts for char in trained.normalizer.normalize_str(text)})
    trained.train_from_iterator(
        texts,
        vocab_size=TOKENS,
        min_frequency=1,
        show_progress=False,
        special_tokens=[*NAMED, *(f"##{char}" for char in inner if not char.isspace())],
    )
    vocabulary = trained.get_vocab()
    tokenizer = BertTokenizer(vocab=vocabulary, model_max_length=LONGEST_TOKENS)
    tokenizer.save_pretrained(HERE / "model")
    torch.manual_seed(SEED)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=LONGEST_TOKENS,
    )
    BertModel(config).save_pretrained(HERE / "model")


if __name__ == "__main__":
    main()
