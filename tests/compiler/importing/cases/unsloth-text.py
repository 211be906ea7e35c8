from datasets import load_dataset
from unsloth import FastLanguageModel, UnslothTrainer, UnslothTrainingArguments

model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/mistral-7b-v0.3", max_seq_length=2048)
model = FastLanguageModel.get_peft_model(
    model, r=128, lora_alpha=32, use_rslora=True, target_modules=["q_proj", "o_proj", "embed_tokens", "lm_head"]
)
dataset = load_dataset("wikimedia/wikipedia", "20231101.ko", split="train")
trainer = UnslothTrainer(model=model, train_dataset=dataset, args=UnslothTrainingArguments(
    per_device_train_batch_size=2, gradient_accumulation_steps=8, max_steps=120, warmup_steps=12,
    learning_rate=5e-5, embedding_learning_rate=1e-5, optim="adamw_8bit", weight_decay=0.00,
    lr_scheduler_type="cosine", seed=3407, output_dir="outputs"))
