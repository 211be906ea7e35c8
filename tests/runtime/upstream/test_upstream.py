"""The private parts of libraries that `runtime/upstream` replaces are as they were.

If one of these tests fails after an upgrade, read the function there for what rests on that part.
"""

import inspect
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # read once, when ORPO is imported

import deepspeed
import peft
import peft.utils.transformers_weight_conversion
import trl.trainer.utils
from peft import PeftModel
from sacrebleu.metrics.chrf import CHRF
from torch.utils.data import DataLoader
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
)
from trl.experimental.cpo import CPOTrainer
from trl.experimental.orpo import ORPOTrainer
from trl.trainer.distillation_trainer import DistillationTrainer
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.kto_trainer import KTOTrainer
from trl.trainer.rloo_trainer import RLOOTrainer
from trl.trainer.utils import RepeatSampler

from ftc.runtime.upstream import (
    adapter_names,
    answer_pairs,
    chrf_counts,
    fused_head,
    offloaded_states,
    peft_parts,
    preference_rows,
    sampled_answers,
    towers,
    trainer_parts,
)
from tests.compiler.plan.trace_tower import make_config, make_images

CASES = Path(__file__).parents[2] / "end_to_end/methods/wrapped.json"
WRAPPED = json.loads(CASES.read_bytes())


def build_wrapped(kind: str) -> Any:
    """Return a miniature of a multimodal class."""
    config = json.loads(json.dumps(WRAPPED[kind]))
    config["text_config"]["vocab_size"] = 64
    settings = AutoConfig.for_model(config.pop("model_type"), **config)
    model: Any = AutoModelForImageTextToText.from_config(settings)  # type: ignore[no-untyped-call]
    return model.float()


def source(part: Any) -> str:
    """Return the source of a class or a function."""
    return inspect.getsource(part)


def names(function: Any) -> list[str]:
    """Return the names of a function's parameters."""
    return list(inspect.signature(function).parameters)


def test_an_epoch_is_one_method() -> None:
    """`train` calls `_run_epoch` with keywords only, once for each epoch."""
    loop = source(Trainer._inner_training_loop)

    assert "self._run_epoch(\n                model=model," in loop
    assert "if self.control.should_training_stop:\n                break" in loop


def test_no_step_is_taken_once_training_is_over() -> None:
    """The epoch is skipped."""
    taken: list[int] = []
    trainer = SimpleNamespace(
        args=SimpleNamespace(seed=0),
        control=SimpleNamespace(should_training_stop=False),
        _run_epoch=lambda epoch, **_: taken.append(epoch),
    )
    trainer_parts.begin_epochs(trainer)
    trainer._run_epoch(epoch=1, train_dataloader=None)
    trainer.control.should_training_stop = True
    trainer._run_epoch(epoch=2, train_dataloader=None)

    assert taken == [1]


def test_samplers_are_where_the_epoch_is_set() -> None:
    """An epoch gets its loader; the sampler that has no epoch has a generator of its own."""
    assert {"epoch", "train_dataloader"} <= set(names(Trainer._run_epoch))
    sampler = RepeatSampler(range(8), 1, batch_size=2, seed=5)
    assert not hasattr(sampler, "set_epoch")
    first = list(sampler)
    loader: Any = DataLoader(range(8), sampler=sampler, batch_size=2)  # type: ignore[arg-type]

    trainer_parts.set_epoch(loader, 0, 5)
    assert [row for batch in loader for row in batch] == first
    trainer_parts.set_epoch(loader, 1, 5)
    other = list(sampler)
    trainer_parts.set_epoch(loader, 1, 5)
    assert list(sampler) == other != first


def test_training_rows_come_from_one_sampler() -> None:
    """Of the method the DataLoader of training takes its order."""
    assert names(Trainer._get_train_sampler) == ["self", "train_dataset"]
    assert "sampler_fn=self._get_train_sampler" in source(Trainer.get_train_dataloader)


def test_loaders_of_evaluations_are_kept() -> None:
    """By name, and only if the workers are persistent."""
    build = source(Trainer)

    assert "self._eval_dataloaders[dataloader_key] = dataloader" in build
    assert 'hasattr(self, "_eval_dataloaders")' in build
    trainer_parts.forget_loaders(SimpleNamespace())


def test_the_fused_head_asks_whether_it_is_compact() -> None:
    """It scores learned tokens only if `_use_triton` is true of the device."""
    text = Path(trl.trainer.utils.__file__).read_text(encoding="utf-8")

    assert "compact = _use_triton(hidden_states.device)" in text
    assert "hidden_states[mask] if compact else" in text


@pytest.mark.parametrize("trainer", [DPOTrainer, KTOTrainer])
def test_rows_are_prepared_by_one_method(trainer: Any) -> None:
    """Rows come first; the constructor calls it for both splits."""
    expected = ["self", "dataset", "processing_class", "args", "dataset_name"]

    assert names(trainer._prepare_dataset) == expected
    assert source(trainer).count("self._prepare_dataset(") >= 2


@pytest.mark.parametrize("trainer", [DistillationTrainer, GRPOTrainer, RLOOTrainer])
def test_prompts_are_tokenized_by_one_method(trainer: Any) -> None:
    """It returns tokens, images and more fields."""
    assert names(trainer._tokenize_prompts) == ["self", "prompts"]
    call = "prompt_ids, images, multimodal_fields = self._tokenize_prompts(prompts)"
    assert call in source(trainer)


def test_a_distillation_generates_in_one_method() -> None:
    """It gets the tokens of prompts and returns those of answers; evaluations get the data's."""
    text = source(DistillationTrainer)
    call = "completion_ids = self._generate_single_turn(prompt_ids, images, multimodal_fields)"
    assert call in text
    assert names(DistillationTrainer.prediction_step)[:3] == ["self", "model", "inputs"]
    assert "inputs = self._prepare_inputs(inputs)" in text
    assert 'prompts = [x["prompt"] for x in inputs]' in text

    def predict(trainer: Any, _model: Any, inputs: Any) -> Any:
        prompt_ids, _, _ = trainer._tokenize_prompts([row["prompt"] for row in inputs])
        return trainer._generate_single_turn(prompt_ids, None, {})

    made = type("Made", (), {"_generate_single_turn": lambda *_: "sampled"})
    made.prediction_step = predict  # type: ignore[attr-defined]
    rows = [
        {"prompt": "two?", "prompt_ids": [1, 2], "input_ids": [1, 2, *answer]}
        for answer in ([3, 4], [5])  # to one prompt
    ]
    sampled_answers.set_prompts_and_answers(made, [], rows)
    trainer: Any = made()
    trainer.model = SimpleNamespace(training=True)
    assert trainer._generate_single_turn([[1, 2]], None, {}) == "sampled"
    trainer.model.training = False
    assert trainer.prediction_step(None, rows) == [[3, 4], [5]]
    assert trainer.prediction_step(None, rows[1:]) == [[5]]
    assert trainer._tokenize_prompts(["two?"]) == ([[1, 2]], None, {})


def test_evaluations_sample_with_the_same_numbers() -> None:
    """Training goes on with its own: what it draws does not depend on an evaluation."""
    made = type("Made", (), {"_generate_single_turn": lambda *_: torch.rand(3).tolist()})
    sampled_answers.set_prompts_and_seed(made, [])
    trainer = made()
    trainer.args, trainer.model = SimpleNamespace(seed=7), SimpleNamespace(training=False)
    torch.manual_seed(1)
    first = trainer._generate_single_turn([[1]])
    trained = torch.rand(1).item()
    assert trainer._generate_single_turn([[1]]) == first
    torch.manual_seed(1)
    assert torch.rand(1).item() == trained
    trainer.model.training = True
    assert trainer._generate_single_turn([[1]]) != first


@pytest.mark.parametrize("trainer", [ORPOTrainer, CPOTrainer])
def test_pairs_are_tokenized_by_one_method(trainer: Any) -> None:
    """It gets a row, and returns both conversations with the names that the collator reads."""
    assert names(trainer.tokenize_row) == ["self", "feature", "model"]
    text = source(trainer)
    assert "self.tokenize_row" in text

    made = type("Made", (), {})
    answer_pairs.set_pairs(made)
    row = {"prompt_ids": [1, 2], "chosen_ids": [3], "rejected_ids": [4, 5]}
    pair = made().tokenize_row(row)
    assert pair["chosen_input_ids"] == [1, 2, 3]
    assert pair["rejected_labels"] == [-100, -100, 4, 5]
    assert pair["rejected_attention_mask"] == [1, 1, 1, 1]


@pytest.mark.parametrize("trainer", [GRPOTrainer, RLOOTrainer])
def test_metrics_of_an_evaluation_are_collected(trainer: Any) -> None:
    """Batch by batch, until they are logged."""
    text = source(trainer)

    assert 'self._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}' in text
    assert 'self._metrics[mode]["reward_std"]' in text
    assert "self._metrics[mode].clear()" in text


def test_an_adapter_is_loaded_in_fp32_by_default() -> None:
    """The parameter that keeps its type is there, and the Trainer does not set it."""
    parameters = inspect.signature(PeftModel.load_adapter).parameters

    assert parameters["autocast_adapter_dtype"].default is True
    assert "autocast_adapter_dtype" not in source(Trainer)


def test_the_head_scores_learned_tokens_only(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer tokens than TRL scores on a CPU, and the same loss and gradients."""
    utils: Any = trl.trainer.utils
    scored: list[int] = []
    apply = utils._ChunkedLogProbFunction.apply

    def count(hidden: torch.Tensor, *rest: Any) -> Any:
        scored.append(len(hidden))
        return apply(hidden, *rest)

    monkeypatch.setattr(utils._ChunkedLogProbFunction, "apply", count)
    monkeypatch.setattr(utils, "_use_triton", utils._use_triton)
    ids = torch.arange(3, 63).reshape(3, 20)
    labels = ids.clone()
    labels[:, :15] = -100
    labels[0, 18:] = -100

    def learn() -> tuple[float, Any]:
        loaded: Any = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
        utils.add_fused_lm_head(loaded)
        loss = loaded(input_ids=ids, labels=labels, fused_lm_head=True).loss
        loss.backward()
        return loss.item(), loaded.get_input_embeddings().weight.grad

    loss, gradient = learn()
    fused_head.score_learned_tokens(utils)
    less, same = learn()

    assert scored == [3 * 19, 5 + 5 + 3]
    assert less == pytest.approx(loss, rel=1e-6)
    assert torch.allclose(same, gradient, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kept", [False, True])
def test_a_frozen_tower_gets_no_backward_pass(*, kept: bool) -> None:
    """With recomputing, transformers gives it one, and the text's embedding keeps its own."""
    config = make_config("gemma3", layers=1)
    model: Any = AutoModelForImageTextToText.from_config(config)  # type: ignore[no-untyped-call]
    model.requires_grad_(requires_grad=False)
    if kept:
        towers.pass_gradients_to_text(model)
    model.train().activation_checkpointing_enable({"use_reentrant": False})
    images, _, _ = make_images("gemma3", 4)

    seen = model.model.get_image_features(**images).pooler_output
    embedded = model.get_input_embeddings()(torch.tensor([[1, 2]]))

    assert seen.requires_grad is not kept
    assert embedded.requires_grad


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_an_adapter_is_loaded_by_its_names_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, PEFT finds no module for a tensor of this class, and warns at most."""
    replaced = peft.utils.transformers_weight_conversion
    name = "convert_peft_adapter_state_dict_for_transformers"
    monkeypatch.setattr(replaced, name, getattr(replaced, name))
    model = build_wrapped("unlimited_ocr")
    settings = peft.LoraConfig(task_type="CAUSAL_LM", target_modules=r".*language_model.*\.q_proj")
    adapted: Any = peft.get_peft_model(model, settings)
    saved = peft.get_peft_model_state_dict(adapted)

    load: Any = peft.set_peft_model_state_dict
    lost = load(adapted, saved).unexpected_keys
    adapter_names.load_by_names_in_memory()
    found = load(adapted, saved).unexpected_keys

    assert (len(lost), found) == (len(saved), [])


def test_a_model_that_asks_for_types_is_given_those_of_text() -> None:
    """In training it stops without them, and with them it computes what it does in evaluation."""
    model = build_wrapped("molmo2")
    ids = torch.tensor([[3, 4, 5, 6]])

    with pytest.raises(ValueError, match="mm_token_type_ids"):
        model.train()(input_ids=ids)
    towers.mark_as_text(model)

    expected = model.eval()(input_ids=ids).logits
    assert torch.allclose(model.train()(input_ids=ids).logits, expected, atol=1e-6)
    assert torch.allclose(model.train()(ids).logits, expected, atol=1e-6)


def test_a_pass_is_one_method() -> None:
    """It gets the model and the batch first, and returns the loss."""
    assert names(Trainer.training_step)[:3] == ["self", "model", "inputs"]
    assert "tr_loss_step = self.training_step(model, inputs, num_items_in_batch)" in source(
        Trainer._run_epoch
    )

    noted: list[tuple[Any, Any]] = []
    trainer = SimpleNamespace(training_step=lambda model, inputs, count: model * inputs * count)
    trainer_parts.note_passes(trainer, lambda inputs, loss: noted.append((inputs, loss)))

    assert trainer.training_step(2, 3, 4) == 24
    assert noted == [(3, 24)]


def test_a_batch_of_an_evaluation_is_one_method() -> None:
    """The loop calls it for each batch, and has the loss among its metrics."""
    assert names(Trainer.prediction_step)[:3] == ["self", "model", "inputs"]
    assert "metric_key_prefix" in names(Trainer.evaluation_loop)
    loop = source(Trainer.evaluation_loop)
    assert "self.prediction_step(model, inputs, prediction_loss_only" in loop
    assert 'metrics[f"{metric_key_prefix}_loss"]' in loop


def test_tensors_are_saved_by_their_names_in_memory(tmp_path: Path) -> None:
    """Without that, transformers gives them the names that their publisher gave them."""
    from safetensors import safe_open  # noqa: PLC0415

    def save(*, kept: bool) -> set[str]:
        model = build_wrapped("unlimited_ocr")
        model.save_pretrained(tmp_path / "published")
        loaded: Any = AutoModelForImageTextToText.from_pretrained(tmp_path / "published")
        if kept:
            towers.save_as_loaded(loaded)
        loaded.save_pretrained(tmp_path / "saved")
        with safe_open(tmp_path / "saved/model.safetensors", "pt") as file:
            return set(file.keys())

    names_in_memory = set(build_wrapped("unlimited_ocr").state_dict())

    assert not save(kept=False) <= names_in_memory
    assert save(kept=True) <= names_in_memory


def test_the_states_of_deepspeed_are_where_they_are_restored() -> None:
    """Each private name that is called exists, and moments are swapped by these names."""
    engine, stage3, swapper = (
        (Path(deepspeed.__file__).parent / "runtime" / name).read_text(encoding="utf-8")
        for name in ("engine.py", "zero/stage3.py", "swap_tensor/optimizer_utils.py")
    )
    assert "def _get_zero_ckpt_name(self, checkpoints_path, tag)" in engine
    for name in (
        "_set_fp32_optimizer_param_groups(self)",
        "_clear_fp32_optimizer_param_groups(self)",
        "_swappable_optimizer_subgroup(self, sub_group_id)",
        "_reassign_or_swap_out_partitioned_parameters(self, sub_group_id)",
        "checkpoint_event_prologue(self)",
        "checkpoint_event_epilogue(self)",
    ):
        assert f"def {name}" in stage3
    assert "self.fp32_partitioned_groups_flat" in stage3
    assert "swap_params_info" in swapper
    assert "def add_state_tensors(self, tensor_list)" in swapper


def test_the_counts_of_a_sentence_give_its_score() -> None:
    """Added up, those of several sentences give the score of all."""
    said, right = ["a good day", "no"], ["a fine day", "not now"]
    counts = chrf_counts.count(said, right)

    each = [CHRF().sentence_score(a, [b]).score for a, b in zip(said, right, strict=True)]
    assert [chrf_counts.total(row) for row in counts] == pytest.approx(each)
    sums = [sum(column) for column in zip(*counts, strict=True)]
    assert chrf_counts.total(sums) == pytest.approx(CHRF().corpus_score(said, [right]).score)


# -----------------------------------------------------------------------------
# What the replacements do


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_an_adapter_keeps_its_type(tmp_path: Path, dtype: torch.dtype) -> None:
    """As the Trainer loads it, when a run is resumed and at its end."""
    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2,
    )  # fmt: skip
    base: Any = LlamaForCausalLM(config)
    adapted: Any = peft.get_peft_model(
        base.to(torch.bfloat16), peft.LoraConfig(r=2), autocast_adapter_dtype=False
    )
    adapted.to(dtype).save_pretrained(tmp_path)
    peft_parts.keep_adapter_dtype(adapted)
    adapted.load_adapter(str(tmp_path), "default", is_trainable=True)

    kinds = {weight.dtype for name, weight in adapted.named_parameters() if "lora" in name}
    assert kinds == {dtype}


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_the_wrapped_head_of_new_tokens_has_a_bias() -> None:
    """TRL's loss asks for it; the wrapper has no such name."""
    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    settings = peft.LoraConfig(r=2, trainable_token_indices=[30, 31])
    model: Any = peft.get_peft_model(LlamaForCausalLM(config), settings)
    with pytest.raises(AttributeError):
        _ = model.get_output_embeddings().bias
    peft_parts.remove_head_bias(model)

    assert model.get_output_embeddings().bias is None


@pytest.mark.parametrize("parent", [DPOTrainer, KTOTrainer])
def test_a_trainer_of_preferences_reads_tokens(parent: Any) -> None:
    """Rows stay as they are, or as what is given turns them; other trainers are left alone."""
    plain: Any = type("Plain", (parent,), {})
    other: Any = type("Other", (parent,), {})
    preference_rows.keep_tokens(plain)
    preference_rows.keep_tokens(other, lambda rows: [*rows, "more"])

    given = (["row"], None, SimpleNamespace(), "train")
    assert plain._prepare_dataset(SimpleNamespace(), *given) == ["row"]
    assert other._prepare_dataset(SimpleNamespace(), *given) == ["row", "more"]
    assert parent._prepare_dataset is not plain._prepare_dataset


@pytest.mark.parametrize("path", [None, "checkpoints/checkpoint-8/global_step8"])
def test_states_on_a_disk_are_restored_when_a_checkpoint_is_loaded(
    monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    """From the file of this process; nothing is restored where DeepSpeed found no checkpoint."""
    monkeypatch.setattr(
        deepspeed.DeepSpeedEngine, "load_checkpoint", lambda *_, **__: (path, {"step": 8})
    )
    restored: list[Any] = []
    monkeypatch.setattr(offloaded_states, "restore", lambda *given: restored.append(given))
    offloaded_states.restore_on_load()
    engine: Any = SimpleNamespace(
        optimizer="optimizer",
        _get_zero_ckpt_name=lambda folder, tag: f"{folder}/{tag}/rank_0",
        checkpoint_engine=SimpleNamespace(load=lambda file, map_location: (file, map_location)),
    )
    found = deepspeed.DeepSpeedEngine.load_checkpoint(engine, "checkpoints")

    assert found == (path, {"step": 8})
    read = ("checkpoints/checkpoint-8/rank_0", "cpu")
    assert restored == ([] if path is None else [("optimizer", read)])
