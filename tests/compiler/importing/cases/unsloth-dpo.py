from datasets import load_dataset
from trl import DPOConfig, DPOTrainer
from unsloth import FastLanguageModel

model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/zephyr-sft", max_seq_length=4096)
model = FastLanguageModel.get_peft_model(model, r=64, lora_alpha=64, target_modules=["q_proj", "v_proj"])
pairs = load_dataset("HuggingFaceH4/ultrafeedback_binarized", split="train_prefs")
trainer = DPOTrainer(model=model, ref_model=None, train_dataset=pairs, beta=0.1, max_length=1024,
    max_prompt_length=512, args=DPOConfig(per_device_train_batch_size=2, gradient_accumulation_steps=4,
    warmup_ratio=0.1, num_train_epochs=3, learning_rate=5e-6, optim="adamw_8bit", lr_scheduler_type="linear"))
