"""Pasted configs: which keys are used, which are left, and which texts are not configs."""

import pytest

from ftc.tui.understanding.reader import read

AXOLOTL = """base_model: Qwen/Qwen3-8B
adapter: qlora
load_in_4bit: true
datasets:
  - path: rows.jsonl
    type: alpaca
sequence_len: 4096
sample_packing: true
lora_r: 32
lora_target_linear: true
optimizer: paged_adamw_8bit
bf16: true
special_tokens:
  pad_token: x"""


def test_a_config_of_axolotl_is_taken_over() -> None:
    """Keys without a field are named."""
    reading = read(AXOLOTL, {})
    assert {change.pointer: change.value for change in reading.changes} == {
        "/model/id": "Qwen/Qwen3-8B",
        "/method/type": "qlora",
        "/data/source": "rows.jsonl",
        "/data/form": "instruction",
        "/data/max_length": 4096,
        "/data/packing": "best-fit",
        "/method/rank": 32,
        "/method/targets": "all-linear",
        "/training/optimizer": "paged_adamw_8bit",
        "/training/precision": "bf16",
    }
    assert reading.paste is not None
    assert reading.paste.left == ("special_tokens.pad_token",)


@pytest.mark.parametrize(
    "text",
    [
        "--learning_rate 1e-5 --num_train_epochs 2 --bf16 True",
        "SFTConfig(learning_rate=1e-5, num_train_epochs=2, bf16=True)",
        '{"learning_rate": 1e-5, "num_train_epochs": 2, "bf16": true}',
        '{"training": {"learning_rate": 1e-5, "epochs": 2, "precision": "bf16"}}',
    ],
)
def test_the_forms_mean_the_same(text: str) -> None:
    """Arguments, a call, JSON and a spec."""
    assert {change.pointer: change.value for change in read(text, {}).changes} == {
        "/training/learning_rate": 1e-5,
        "/training/epochs": 2,
        "/training/precision": "bf16",
    }


def test_five_thousand_lines_are_counted() -> None:
    """Lines that are no config change nothing."""
    reading = read("ERROR something failed at step 3 epochs\n" * 5000, {})
    assert reading.paste is not None
    assert reading.paste.lines == 5000
    assert reading.changes == ()


def test_an_accumulation_asks_about_the_batch() -> None:
    """The micro-batch times the steps, times the GPUs, is offered as the global batch."""
    draft = {"hardware": {"gpu": "L4", "count": 2}}
    reading = read("micro_batch_size: 4\ngradient_accumulation_steps: 8", draft)
    assert reading.asked is not None
    assert (reading.asked.pointer, reading.asked.values) == ("/training/global_batch", (64,))


@pytest.mark.parametrize("value", ["4", "0.5", "x", "true"])
def test_no_flag_breaks_the_reading(value: str) -> None:
    """Each abbreviation of experts may be a flag; accumulation, which no field holds, too."""
    short = ["ga", "gacc", "grad-acc", "accum", "acc_steps", "bs", "mbs", "lr", "wu", "ctx", "nw"]
    short += ["b2", "wd", "pat", "val", "test", "nef", "ls", "clip", "r", "a", "g", "t", "mnt"]
    for name in short:
        for beside in ("--lr 1e-4", "--mbs 2", "--packing"):
            found = read(f"--{name} {value} {beside}", {}).changes
            assert all(each.pointer.startswith("/") for each in found)


def test_accumulation_in_flags_gives_the_global_batch() -> None:
    """It multiplies the micro-batch and the GPUs, as it does in a line of prose."""
    found = {each.pointer: each.value for each in read("--ga 8 --mbs 3 --lr 1e-4", {}).changes}
    assert found["/training/global_batch"] == 24
    assert read("--ga 8 --lr 1e-4", {}).choices[0].pointer == "/training/global_batch"


def test_prose_beside_flags_is_read_too() -> None:
    """What stands before and behind the flags is a message of its own."""
    text = "phi-4 sft --lr 2e-5 --optim adafactor --bf16, rank 8, on two 3090s"
    found = {each.pointer: each.value for each in read(text, {}).changes}
    assert (
        found.items()
        >= {
            "/model/id": "microsoft/phi-4",
            "/training/learning_rate": 2e-5,
            "/training/precision": "bf16",
            "/method/rank": 8,
            "/hardware/count": 2,
        }.items()
    )


def test_an_unknown_flag_is_read_as_a_message() -> None:
    """A value that no tool would take is read as people write it."""
    found = {each.pointer: each.value for each in read("--quants q4,q8 --lr 1e-4", {}).changes}
    assert found["/export/types"] == ["Q4_K_M", "Q8_0"]
