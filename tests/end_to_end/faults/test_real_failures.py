"""The failures behind ten findings are real: without the rule they happen, in miniature.

Where a spec can say it, the bundle is compiled with the rule taken out, and its own script, or its
own constants in the library's call, meet the failure. Where no spec can (padding that hides the
end, saves out of step with evaluations), the library is called as other trainers call it.
"""

import ast
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.__main__ import run as run_ftc
from ftc.compiler.checks import registry
from tests.end_to_end import process
from tests.end_to_end.whole.test_themes import CHATML, THEMES, write_spec
from tests.tiny_models import CONFIG, TEMPLATE, add_to, write_model

pytestmark = [
    pytest.mark.prove,
    # what the libraries say of their own settings, and of tied weights, is not what is looked at
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Model .*tie_word_embeddings:UserWarning"),
]

BUILD: Final = Path(__file__).parents[1] / "exports/convert_folders.py"


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here needs the Hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def compile_without(
    code: str, theme: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **edits: Any
) -> Path:
    """Compile the spec of a theme with one rule taken out; with the rule it does not compile."""
    path = write_spec(folder, THEMES[theme])
    add_to(path, **edits)
    assert run_ftc(["compile", str(path)]) == 1
    others = tuple(rule for rule in registry.RULES if rule.explanation.code != code)
    monkeypatch.setattr(registry, "RULES", others)
    assert run_ftc(["compile", str(path)]) == 0
    return folder / "triage"


def constant(script: Path, name: str) -> Any:
    """Return a constant of a generated script."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"{script.name} has no {name}")


def keyword(script: Path, call: str, name: str) -> Any:
    """Return the literal that a generated script passes to a call."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == call:
            found = {each.arg: each.value for each in node.keywords}
            return ast.literal_eval(found[name])
    raise AssertionError(f"{script.name} does not call {call}")


def prepare(bundle: Path) -> process.Ended:
    """Run the bundle's `prepare.py`."""
    return process.run(sys.executable, "prepare.py", cwd=bundle)


def test_every_label_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FTC221: cut at 128 tokens, no row keeps a token of its answer; the script stops.

    FTC145 and the mask of `prepare.py` stand for the other way there, which trainers take that ask
    a template without `{% generation %}` what the assistant said: it masks everything.
    """
    bundle = compile_without("FTC221", "H", tmp_path, monkeypatch)
    transformers: Any = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "no"}]

    ended = prepare(bundle)
    asked = tokenizer.apply_chat_template(messages, return_assistant_tokens_mask=True)

    assert ended.code == 1, ended.said
    assert "{'nothing to learn within max_length': 300}" in ended.err
    assert asked["input_ids"]
    assert set(asked["assistant_masks"]) == {0}


def test_a_prompt_fills_the_whole_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FTC221 and FTC224: where over-long rows are left out, none is left to train on."""
    data = {"source": "tickets.csv", "max_length": 128}
    path = write_spec(tmp_path, THEMES["H"])
    add_to(path, data=data)
    assert run_ftc(["compile", str(path)]) == 1
    others = tuple(r for r in registry.RULES if r.explanation.code not in {"FTC221", "FTC224"})
    monkeypatch.setattr(registry, "RULES", others)
    assert run_ftc(["compile", str(path)]) == 0

    ended = prepare(tmp_path / "triage")

    assert ended.code == 1, ended.said
    assert "no row is left of 300" in ended.err


def test_padding_hides_the_end(tmp_path: Path) -> None:
    """FTC140: padded with its own end token and masked by id, an answer never shows its end.

    That is the collator of many trainers; `prepare.py` masks by length, and keeps it.
    """
    transformers: Any = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(write_model(tmp_path / "model"))
    tokenizer.pad_token = tokenizer.eos_token
    end = tokenizer.eos_token_id
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)

    batch = collator([{"input_ids": [1, 7, 8, 9, end]}, {"input_ids": [1, 7, end]}])

    assert (batch["input_ids"] == end).sum() == 4
    assert end not in batch["labels"]
    assert batch["labels"][0, :-1].tolist() == [1, 7, 8, 9]


def test_a_template_of_another_family(tmp_path: Path) -> None:
    """FTC160: what should be one marker becomes a dozen pieces, and no answer ends with the end."""
    transformers: Any = import_module("transformers")
    folder = write_model(tmp_path / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "no"}]

    own = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
    tokenizer.chat_template = CHATML
    other = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)

    assert own[-1] == tokenizer.eos_token_id
    assert tokenizer.eos_token_id not in other
    for marker in ("<|im_start|>", "<|im_end|>"):
        assert len(tokenizer(marker, add_special_tokens=False)["input_ids"]) >= 5


def tiny(**changes: Any) -> Any:
    """Return a small model with random weights."""
    transformers: Any = import_module("transformers")
    import_module("torch").manual_seed(0)
    known = {key: value for key, value in CONFIG.items() if key != "torch_dtype"}
    sizes = {"hidden_size": 64, "intermediate_size": 128, "vocab_size": 320}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**known, **sizes, **changes}))


def test_an_adapter_matches_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FTC127: PEFT refuses the targets that the script has, once the model is loaded."""
    peft: Any = import_module("peft")
    bundle = compile_without("FTC127", "M", tmp_path, monkeypatch)
    targets = constant(bundle / "train.py", "LORA_TARGETS")

    with pytest.raises(ValueError, match="not found in the base model"):
        peft.get_peft_model(tiny(), peft.LoraConfig(task_type="CAUSAL_LM", target_modules=targets))


def test_a_pre_tokenizer_is_unknown_and_a_vocabulary_too_large(
    tmp_path: Path, converter: Path
) -> None:
    """FTC641 and FTC126: the converter stops by name, and the model meets an id without a row."""
    folders = {}
    for name, theme in (("unknown", "J"), ("larger", "J, K")):
        (tmp_path / name).mkdir()
        write_spec(tmp_path / name, THEMES[theme])
        folders[name] = tmp_path / name / "model"
        process.write_json(folders[name] / "texts.json", [render(folders[name])])

    done = process.run(sys.executable, BUILD, converter, *folders.values(),
                       cwd=tmp_path)  # fmt: skip

    assert done.code == 0, done.said
    found = json.loads(done.out)
    assert "BPE pre-tokenizer was not recognized" in found[str(folders["unknown"])]["stopped"]
    assert found[str(folders["unknown"])]["trains"] is True
    assert found[str(folders["larger"])]["trains"] is False


def render(folder: Path) -> str:
    """Return a rendered conversation."""
    transformers: Any = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    messages = [{"role": "user", "content": "late"}, {"role": "assistant", "content": "yes"}]
    return str(tokenizer.apply_chat_template(messages, tokenize=False, chat_template=TEMPLATE))


def test_bf16_on_a_device_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FTC320: played by a device that says it has none; the trainer refuses the script's word."""
    trl: Any = import_module("trl")
    bundle = compile_without("FTC320", "N", tmp_path, monkeypatch)
    bf16 = keyword(bundle / "train.py", "SFTConfig", "bf16")
    assert bf16 is True
    arguments = import_module("transformers.training_args")
    monkeypatch.setattr(arguments, "is_torch_bf16_gpu_available", lambda: False)

    with pytest.raises(ValueError, match="doesn't support bf16"):
        trl.SFTConfig(output_dir=str(tmp_path / "out"), bf16=bf16)


def test_saves_out_of_step_with_evaluations(tmp_path: Path) -> None:
    """FTC032: `save_steps` is no key, since this is what the trainer says of another cadence."""
    trl: Any = import_module("trl")
    said = THEMES["L, best"].spec["training"]

    with pytest.raises(ValueError, match="round multiple"):
        trl.SFTConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            load_best_model_at_end=True,
            eval_strategy="steps",
            save_strategy="steps",
            save_steps=said["save_steps"],
            eval_steps=said["evaluation"]["every_steps"],
        )


def test_a_merged_model_with_tied_embeddings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FTC128: merged, saved and loaded, the model no longer says what the adapter had learned.

    The head's change lands in the embedding that is the same tensor, so that what the model reads
    is another text; the same adapter on attention alone comes through to the last decimals.
    """
    bundle = compile_without("FTC128", "K", tmp_path, monkeypatch)
    targets = constant(bundle / "train.py", "LORA_TARGETS")
    assert "lm_head" in targets

    lost = merge(targets, tmp_path / "lost")
    kept = merge([name for name in targets if name != "lm_head"], tmp_path / "kept")

    assert kept < 1e-5
    assert lost > 0.01


def merge(targets: list[str], folder: Path) -> float:
    """Return how far (mean KL, nats per token) a merged model is from the adapter it is made of."""
    torch: Any = import_module("torch")
    peft: Any = import_module("peft")
    transformers: Any = import_module("transformers")
    model = tiny(tie_word_embeddings=True)
    adapted = peft.get_peft_model(
        model, peft.LoraConfig(task_type="CAUSAL_LM", target_modules=targets, r=8, lora_alpha=16)
    )
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.05)
    ids = torch.randint(3, 300, (2, 32), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        before = torch.log_softmax(adapted(ids).logits, dim=-1)
        adapted.merge_and_unload().save_pretrained(folder)
        loaded = transformers.AutoModelForCausalLM.from_pretrained(folder)
        after = torch.log_softmax(loaded(ids).logits, dim=-1)
    return float((before.exp() * (before - after)).sum(dim=-1).mean())
