"""What a model answers, and how good that is: for the stages that judge one."""

# -----------------------------------------------------------------------------
# What was decided, and why

METRIC = "accuracy"  # the answers are 12 labels, so an answer is right or wrong
ANSWER_TOKENS = 15  # the longest label has 15 characters
BATCH_ROWS = 16

# -----------------------------------------------------------------------------
# Write


def write(model, tokenizer, rows):
    """Return the answer that the model finds most likely, for each row's prompt."""
    import torch  # here alone: the process that judges a GGUF file stays small

    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    ends = model.generation_config.eos_token_id
    ends = set(ends if isinstance(ends, list) else [ends]) | {tokenizer.eos_token_id}
    ends |= {row["labels"][-1] for row in rows if row["labels"][-1] in tokenizer.all_special_ids}
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]["prompt_ids"]))
    said = {}
    for start in range(0, len(rows), BATCH_ROWS):
        batch = by_length[start : start + BATCH_ROWS]
        prompts = [rows[i]["prompt_ids"] for i in batch]
        width = len(prompts[-1])
        ids = [[pad] * (width - len(prompt)) + prompt for prompt in prompts]
        reads = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        written = model.generate(
            input_ids=torch.tensor(ids, device=model.device),
            attention_mask=torch.tensor(reads, device=model.device),
            max_new_tokens=ANSWER_TOKENS,
            do_sample=False,
            eos_token_id=sorted(ends - {None}),
            pad_token_id=pad,
        )[:, width:]
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        said |= {i: text.strip() for i, text in zip(batch, texts, strict=True)}
    return [said[i] for i in range(len(rows))]


# -----------------------------------------------------------------------------
# Measure


def macro_f1(said, right):
    """Return the mean over labels of the harmonic mean of precision and recall."""
    pairs = list(zip(said, right, strict=True))

    def f1(label):
        hits = pairs.count((label, label))
        return 2 * hits / (said.count(label) + right.count(label))

    labels = set(right)
    return sum(map(f1, labels)) / len(labels)


def measure(said, right):
    """Return the share of answers that are right, to the letter."""
    return sum(map(str.__eq__, said, right)) / len(right)
