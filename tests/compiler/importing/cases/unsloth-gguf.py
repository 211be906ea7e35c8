from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
from unsloth import FastLanguageModel
from unsloth.chat_templates import get_chat_template, train_on_responses_only

model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B-Instruct-2507", max_seq_length=4096, load_in_4bit=False)
model = FastLanguageModel.get_peft_model(model, r=32, lora_alpha=2 * 32, lora_dropout=0.1, use_rslora=True, random_state=7)
tokenizer = get_chat_template(tokenizer, chat_template="qwen3-instruct")
dataset = load_dataset("json", data_files="chats.jsonl", split="train[:500]")
trainer = SFTTrainer(model=model, train_dataset=dataset, args=SFTConfig(
    per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=2, learning_rate=1e-4,
    warmup_ratio=0.05, optim="paged_adamw_8bit", lr_scheduler_type="cosine", bf16=True, output_dir="out"))
trainer = train_on_responses_only(trainer, instruction_part="<|im_start|>user\n", response_part="<|im_start|>assistant\n")
trainer.train()
model.save_pretrained_gguf("model", tokenizer, quantization_method=["q4_k_m", "q8_0"])
