"""The seeds: valid inputs of every target, from which mutations start, and a folder."""

import functools
import json
import struct
from io import BytesIO
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from benchmarks.fuzz.targets import plain

ROOT = Path(__file__).parents[2]
HOSTILE = ROOT / "tests" / "hostile"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
NOVEL = {**CONFIG, "architectures": ["NovelForCausalLM"], "model_type": "novel", "auto_map": {}}
MOE = {**CONFIG, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral"}
MOE |= {"num_local_experts": 4, "num_experts_per_tok": 2}
GPTQ = {**CONFIG, "quantization_config": {"quant_method": "gptq"}, "rope_scaling": {"factor": 2.0}}
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content | trim }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
TOKENIZER_CONFIG = {
    "bos_token": "<s>",
    "eos_token": {"content": "</s>", "lstrip": False},
    "chat_template": TEMPLATE,
    "model_max_length": 256,
    "tokenizer_class": "PreTrainedTokenizerFast",
    "add_bos_token": True,
    "added_tokens_decoder": {"318": {"content": "<|user|>", "special": True}},
}
CHAT = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}
CALLS = {
    "messages": [
        {"role": "user", "content": "where is it?"},
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "track", "arguments": '{"id": 1}'}}],
        },
        {"role": "tool", "content": "here"},
        {"role": "assistant", "content": "there"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "track", "parameters": {"type": "object"}}}
    ],
}
SHARED = {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}
PAIR = {"prompt": "a", "chosen": "b", "rejected": "c"}
ROWS: list[dict[str, object]] = [
    {"prompt": f"question {i}", "completion": f"answer {i % 3}"} for i in range(12)
]
STARTING_POINT = "rows.csv, llama 3.2 1b with lora on a 4090, call it demo"
_FEW = 5
TABLE = "prompt,completion\n" + "".join(f'"question {i}, please",{i % 3}\n' for i in range(12))


def make_folder(folder: Path) -> None:
    """Write a complete model and a table of rows; each fuzz target then replaces one file."""
    (folder / "model").mkdir(parents=True, exist_ok=True)
    files = {
        "rows.csv": TABLE.encode(),
        "model/config.json": plain(CONFIG),
        "model/tokenizer.json": make_tokenizer(),
        "model/tokenizer_config.json": plain(TOKENIZER_CONFIG),
        "model/model.safetensors": make_weights(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


def find_seeds(name: str) -> list[bytes]:
    """Return valid inputs of a target, and inputs that once broke it."""
    found = _seeds()[name]
    kept = HOSTILE / name
    return [*found, *(path.read_bytes() for path in sorted(kept.glob("*")))]


@functools.cache
def _seeds() -> dict[str, list[bytes]]:
    specs = sorted((ROOT / "examples").glob("*/spec.json"))
    wrong = sorted((ROOT / "tests" / "bad_specs").glob("*.json"))
    wrong = [path for path in wrong if not path.name.endswith(".expected.json")]
    plain_spec = {"name": "x", "model": "./model", "data": "rows.csv", "hardware": "cpu"}
    families = ROOT / "tests" / "compiler" / "resolve" / "family_templates.json"
    templates = json.loads(families.read_text(encoding="utf-8"))
    rows: list[list[dict[str, Any]]] = [[*ROWS]]
    rows += [[CHAT] * 4, [CALLS] * 4, [SHARED] * 4, [PAIR] * 4, [{"text": "words"}] * 4]
    wrong_yaml = sorted((ROOT / "tests" / "bad_specs").glob("*.yaml"))
    return {
        "spec-json": [path.read_bytes() for path in (*specs, *wrong)],
        "spec-yaml": [
            (ROOT / "examples/chat/spec.yaml").read_bytes(),
            *(path.read_bytes() for path in wrong_yaml),
        ],
        "check": [
            plain(plain_spec),
            plain({**plain_spec, "method": {"type": "lora", "target_pattern": ".*_proj"}}),
            plain({**plain_spec, "export": ["Q4_K_M"], "data": {"source": "rows.csv"}}),
        ],
        "chat-template": [
            TEMPLATE.encode(),
            *(str(template).encode() for template in _texts(templates)),
        ],
        "data-csv": [TABLE.encode(), TABLE.encode("utf-16"), TABLE.replace(",", ";").encode()],
        "data-jsonl": [b"\n".join(plain(row) for row in table) for table in rows],
        "data-json": [plain(table) for table in rows] + [plain({"data": rows[0]})],
        "data-parquet": make_parquets(rows),
        "model-config": [plain(config) for config in (CONFIG, NOVEL, MOE, GPTQ)],
        "model-weights": [make_weights()],
        "model-index": [
            plain({"metadata": {"total_size": 8}, "weight_map": {"a": "model.safetensors"}})
        ],
        "tokenizer": [make_tokenizer()],
        "tokenizer-config": [
            plain(TOKENIZER_CONFIG),
            plain({"chat_template": [{"name": "default", "template": TEMPLATE}]}),
        ],
        "tokenizer-pieces": [b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02" * 3],
        "lock": [(ROOT / "tests/golden/quickstart/ftc.lock.json").read_bytes()],
        "conversation": make_conversations(),
    }


def make_conversations() -> list[bytes]:
    """Return conversations of a few messages each, pasted configs, and very long lines."""
    path = ROOT / "tests/tui/understanding/annotated.json"
    said = [entry["say"] for entry in json.loads(path.read_text(encoding="utf-8"))]
    start = f"{STARTING_POINT}\n"
    few = [start + "\n".join(said[at : at + _FEW]) for at in range(0, len(said), _FEW)]
    config = "base_model: Qwen/Qwen3-8B\nadapter: qlora\nlora_r: 8\ndatasets:\n  - path: rows.csv\n"
    flags = "--learning_rate 1e-4 --num_train_epochs 2 --lora_r 16 --packing\n"
    spec = json.dumps({"model": "Qwen/Qwen3-8B", "data": "rows.csv", "method": {"rank": 8}})
    pasted = [f"{text}\n\nundo\nyes\nredo\n2\n" for text in (config, flags, spec)]
    long = ["rank 8 " * 3000, "key: value\n" * 5000, "{" + '"a": 1,\n' * 5000]
    return [text.encode() for text in (*few, *pasted, *long)]


def _texts(value: object) -> list[str]:
    """Return every text of a JSON value that looks like a template."""
    if isinstance(value, str):
        return [value] if "{%" in value or "{{" in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in _texts(item)]


def make_parquets(tables: list[list[dict[str, object]]]) -> list[bytes]:
    """Return tables as parquet, if pyarrow is installed."""
    from pyarrow import Table, parquet  # noqa: PLC0415 - of an extra

    written = []
    for rows in tables:
        buffer = BytesIO()
        parquet.write_table(Table.from_pylist(rows), buffer)
        written.append(buffer.getvalue())
    return written


def make_weights() -> bytes:
    """Return a safetensors file of one tensor."""
    header = plain(
        {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "BF16", "shape": [10, 3], "data_offsets": [0, 60]},
        }
    )
    return struct.pack("<Q", len(header)) + header + bytes(60)


def make_tokenizer() -> bytes:
    """Train a byte-level BPE on a sentence, and return its file."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106 - a token, no password
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=310,
        special_tokens=["<s>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(["the quick brown fox jumps over the lazy dog"] * 3, trainer)
    return str(tokenizer.to_str()).encode()
