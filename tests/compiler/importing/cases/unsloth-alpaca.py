from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
from unsloth import FastLanguageModel

max_seq_length = 2048
load_in_4bit = True
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Llama-3.1-8B", max_seq_length=max_seq_length, dtype=None, load_in_4bit=load_in_4bit
)
model = FastLanguageModel.get_peft_model(
    model, r=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], lora_alpha=16, lora_dropout=0,
    bias="none", use_gradient_checkpointing="unsloth", random_state=3407, use_rslora=False, loftq_config=None,
)
dataset = load_dataset("unsloth/alpaca-cleaned", split="train").map(lambda rows: rows, batched=True)
trainer = SFTTrainer(
    model=model, tokenizer=tokenizer, train_dataset=dataset, dataset_text_field="text",
    max_seq_length=max_seq_length, packing=False,
    args=SFTConfig(
        per_device_train_batch_size=2, gradient_accumulation_steps=4, warmup_steps=5, max_steps=60,
        learning_rate=2e-4, logging_steps=1, optim="adamw_8bit", weight_decay=0.001,
        lr_scheduler_type="linear", seed=3407, output_dir="outputs", report_to="none",
    ),
)
if False: model.save_pretrained_gguf("model", tokenizer, quantization_method="q8_0")
