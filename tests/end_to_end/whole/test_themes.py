"""Common problems in eighteen themes: a realistic spec of each, and the finding.

The letters are those of the sections of the field's issues; `docs/site/checks.json` names the
threads.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.__main__ import run
from tests.tiny_models import TEMPLATE, add_to, write_model, write_rows
from tests.tiny_tokenizers import byte_level_tokenizer

Make = Callable[[Path], object]

QWEN: Final = "Qwen/Qwen2.5-7B-Instruct"
ROWS: Final[Make] = write_rows
CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def long_prompts(folder: Path) -> None:
    """Write prompts of some three hundred words, with answers of one."""
    write_rows(folder, words=300)


def few_long_rows(folder: Path) -> None:
    """Write short rows, and one in twenty-five of six thousand words."""
    write_rows(folder)
    with (folder / "tickets.csv").open("a", encoding="utf-8") as file:
        file.writelines(f"{n} {'where is my parcel ' * 1_500},refund\n" for n in range(12))


def quantized_base(folder: Path) -> None:
    """Write a model whose own config says that it is in eight bits already."""
    write_model(folder / "model")
    add_to(folder / "model/config.json", quantization_config={"quant_method": "fp8"})


def template_of_another_family(folder: Path) -> None:
    """Write a template of markers that the model's tokenizer does not have."""
    write_model(folder / "model")
    (folder / "chatml.jinja").write_text(CHATML, encoding="utf-8")


def never_ending_answers(folder: Path) -> None:
    """Write a model whose template does not close an answer."""
    write_model(folder / "model")
    open_end = TEMPLATE.replace("{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}", "")
    add_to(folder / "model/tokenizer_config.json", chat_template=open_end)


def tokenizer_of_its_own(folder: Path) -> None:
    """Write a model with a tokenizer that somebody trained, which no converter has ever seen."""
    write_model(folder / "model")
    (folder / "model/tokenizer.model").unlink()
    byte_level_tokenizer(folder / "model")
    add_to(folder / "model/tokenizer_config.json", chat_template=TEMPLATE)


def grown_vocabulary(folder: Path) -> None:
    """Write a model whose tokenizer got two markers for which the embedding has no rows."""
    write_model(folder / "model", added=("<user>", "<assistant>"), rows=-2)


def tied(folder: Path) -> None:
    """Write a model whose head is its embedding."""
    write_model(folder / "model")
    add_to(folder / "model/config.json", tie_word_embeddings=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """A spec of one theme: what stands beside it, and the code that it must raise."""

    what: str
    code: str
    says: str
    spec: Mapping[str, Any]
    beside: Make = field(default=lambda folder: write_model(folder / "model"))
    rows: Make = ROWS


THEMES: Final[Mapping[str, Theme]] = {
    "A": Theme(what="typos and ignored options", code="FTC032", says="`max_len`",
               spec={"model": QWEN, "data": {"source": "tickets.csv", "max_len": 512}}),
    "B": Theme(what="ZeRO-3 over a quantized base", code="FTC120", says="fp8",
               spec={"hardware": "2x A100-80GB", "distribution": "zero3"}, beside=quantized_base),
    "C": Theme(what="broken adapters after ZeRO-3", code="FTC427", says="ZeRO-3",
               spec={"model": QWEN, "method": "qlora", "hardware": "2x RTX 4090",
                     "distribution": "zero3"}),
    "D": Theme(what="out of memory in training", code="FTC420", says="are needed at the peak",
               spec={"model": QWEN, "method": "full", "hardware": "RTX 4090"}),
    "D, long rows": Theme(what="rows that set the peak", code="FTC250", says="planned for rows",
               spec={"model": QWEN, "hardware": "RTX 4090"}, rows=few_long_rows),
    "E": Theme(what="out of memory in evaluation", code="FTC032", says="eval_batch",
               spec={"model": QWEN, "hardware": "RTX 4090",
                     "training": {"eval_batch": 64, "eval_accumulation_steps": 4}}),
    "F": Theme(what="an answer that never ends", code="FTC143", says="end",
               spec={}, beside=never_ending_answers),
    "G": Theme(what="a template of another family", code="FTC160", says="`<|im_end|>`",
               spec={"model": {"id": "./model", "chat_template": "chatml.jinja"}},
               beside=template_of_another_family),
    "H": Theme(what="every label masked", code="FTC221", says="no room is left for the answers",
               spec={"data": {"source": "tickets.csv", "max_length": 128,
                              "cleaning": {"overlong": "truncate"}}}, rows=long_prompts),
    "I": Theme(what="packed rows, grouped as well", code="FTC533", says="packed",
               spec={"model": QWEN, "data": {"source": "tickets.csv", "packing": "best-fit"},
                     "training": {"group_by_length": True}}),
    "J": Theme(what="a pre-tokenizer unknown to llama.cpp", code="FTC641", says="llama.cpp",
               spec={"export": ["Q4_K_M"]}, beside=tokenizer_of_its_own),
    "J, K": Theme(what="more tokens than rows", code="FTC126", says="rows",
               spec={"export": ["Q4_K_M"]}, beside=grown_vocabulary),
    "K": Theme(what="an adapter on tied embeddings", code="FTC128", says="lm_head",
               spec={"method": {"type": "lora", "targets": ["q_proj", "lm_head"]}}, beside=tied),
    "L": Theme(what="a disk full of checkpoints", code="FTC423", says="of disk",
               spec={"model": QWEN, "method": "full", "training": {"keep_checkpoints": 10},
                     "hardware": {"gpu": "H100-80GB", "count": 8, "disk_gib": 200}}),
    "L, best": Theme(what="saves out of step with evaluations", code="FTC032", says="save_steps",
               spec={"training": {"save_steps": 50, "evaluation": {"every_steps": 30}}}),
    "M": Theme(what="targets that match nothing", code="FTC127", says="query_key_value",
               spec={"method": {"type": "lora", "targets": ["query_key_value"]}}),
    "N": Theme(what="bf16 on a GPU without it", code="FTC320", says="bf16",
               spec={"model": "Qwen/Qwen2.5-0.5B-Instruct", "hardware": "T4",
                     "training": {"precision": "bf16"}}),
    "N, attention": Theme(what="FlashAttention-2 on a T4", code="FTC322", says="T4",
               spec={"model": {"id": "Qwen/Qwen2.5-0.5B-Instruct",
                               "attention": "flash_attention_2"}, "hardware": "T4"}),
    "O": Theme(what="a batch that processes do not divide", code="FTC430", says="4 processes",
               spec={"model": QWEN, "hardware": "4x A100-80GB", "training": {"global_batch": 30}}),
    "P": Theme(what="a trainer's argument that was renamed", code="FTC032", says="max_seq_length",
               spec={"model": QWEN, "training": {"max_seq_length": 1024}}),
    "R": Theme(what="a Modelfile for a template of one's own", code="FTC670", says="Ollama",
               spec={"export": ["Q4_K_M"]}),
}  # fmt: skip


def write_spec(folder: Path, theme: Theme) -> Path:
    """Write the spec of a theme, its data and its model."""
    theme.beside(folder)
    theme.rows(folder)
    base = {"name": "triage", "model": "./model", "data": "tickets.csv", "hardware": "cpu"}
    path = folder / "spec.json"
    path.write_text(json.dumps({**base, "method": "lora", **theme.spec}), encoding="utf-8")
    return path


def findings(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return what `ftc check` says of a spec."""
    run(["check", str(path), "--format", "json"])
    said: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return said


@pytest.fixture(autouse=True)
def _out_of_reach(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave the built-in table of models alone to answer for what is not a folder."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


@pytest.mark.parametrize("letter", THEMES)
def test_the_finding_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], letter: str
) -> None:
    """`ftc check` says it before anything runs, points at it, and says what to do."""
    theme = THEMES[letter]
    path = write_spec(tmp_path, theme)
    found = [one for one in findings(path, capsys) if one["code"] == theme.code]
    assert found, theme.what
    assert any(theme.says in one["message"] for one in found), found
    assert all(one["help"] and one["line"] is not None for one in found)


def test_a_lock_of_other_data_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Theme Q: a cache of other data. What changed since the compile is said, not used."""
    path = write_spec(tmp_path, THEMES["R"])
    add_to(path, export=[])
    assert run(["compile", str(path)]) == 0, capsys.readouterr().err
    capsys.readouterr()
    shutil.copy(tmp_path / "tickets.csv", tmp_path / "before.csv")
    write_rows(tmp_path, words=9)
    (found,) = [one for one in findings(path, capsys) if one["code"] == "FTC917"]
    assert "`tickets.csv` changed since the lock was written" in found["message"]


def test_every_theme_is_here() -> None:
    """A to R; Q is the test above."""
    letters = {letter for name in THEMES for letter in name.split(",")[0]}
    assert letters | {"Q"} == set("ABCDEFGHIJKLMNOPQR")
