"""Scripts of TRL: which adapter they train, and on which base."""

from pathlib import Path
from typing import Final

import pytest

from ftc.compiler.importing.importer import Import, import_file

LINES: Final = {
    "plain": "model = AutoModelForCausalLM.from_pretrained('a/b')",
    "bf16": "model = AutoModelForCausalLM.from_pretrained('a/b', dtype=torch.bfloat16)",
    "bits": (
        "quantized = BitsAndBytesConfig(load_in_4bit=True)\n"
        "model = AutoModelForCausalLM.from_pretrained('a/b', quantization_config=quantized)"
    ),
}
END: Final = "trainer = SFTTrainer(model, train_dataset=load_dataset('c/d'){})\n"


def read(folder: Path, code: str) -> Import:
    """Import a script."""
    path = folder / "train.py"
    path.write_text(f"from trl import SFTTrainer\n{code}\n", encoding="utf-8")
    return import_file(str(path))


@pytest.mark.parametrize(
    ("base", "adapter", "expected"),
    [
        ("plain", ", peft_config=LoraConfig(r=4)", "lora"),
        ("bf16", ", peft_config=LoraConfig()", "lora"),
        ("bits", ", peft_config=peft.LoraConfig(r=4)", "qlora"),
        ("plain", ", peft_config=LoraConfig(r=4) if adapts else None", "lora"),
        ("plain", ", peft_config=None", "full"),
        ("plain", "", "full"),
        ("bf16", "", "full"),
    ],
)
def test_the_adapter_of_the_trainer(tmp_path: Path, base: str, adapter: str, expected: str) -> None:
    """It is that of `peft_config`; the base is quantized only where the script says so."""
    result = read(tmp_path, f"{LINES[base]}\n{END.format(adapter)}")
    assert result.findings == ()
    assert result.imported is not None
    assert result.imported.fields["/method/type"] == expected
    assert result.imported.tool == "trl"


@pytest.mark.parametrize(
    "code",
    [
        "config = LoraConfig(r=4)\nmodel = get_peft_model(model, config)",
        "model = get_peft_model(model, LoraConfig(r=4))",
        "model.add_adapter(LoraConfig(r=4))",
    ],
)
@pytest.mark.parametrize(("base", "expected"), [("bf16", "lora"), ("bits", "qlora")])
def test_an_adapter_that_is_added_before(
    tmp_path: Path, code: str, base: str, expected: str
) -> None:
    """It is the same training as with `peft_config`, and no key of it is called superseded."""
    result = read(tmp_path, f"{LINES[base]}\n{code}\n{END.format('')}")
    assert result.imported is not None
    assert result.imported.fields["/method/type"] == expected
    assert result.imported.fields["/method/rank"] == 4
    assert not [each for each in result.imported.keys if each.reason == "repeated"]


@pytest.mark.parametrize("name", ["PromptTuningConfig", "IA3Config", "peft.OFTConfig"])
def test_another_adapter_is_refused(tmp_path: Path, name: str) -> None:
    """It would be a training of all weights otherwise."""
    code = f"config = {name}(x=1)\n{LINES['plain']}\n{END.format(', peft_config=config')}"
    assert [each.code for each in read(tmp_path, code).findings] == ["FTC091"]
